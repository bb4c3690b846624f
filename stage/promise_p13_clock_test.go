package stage_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/stage"
)

// P13: all time goes through the runtime's clock, so times are exact here.

func TestP13NWorkersTakeTheirExactShareOfTheTime(t *testing.T) {
	const items, cost = 100, 10 * time.Millisecond
	for _, r := range share.Rows(t, engineRuns()) {
		for _, n := range []int{stage.Inline, 1, 2, 3, 7, 100, 150} {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				err := r.run(t.Context(), stage.FromSlice(upTo(items)), n, func(context.Context, int) error { time.Sleep(cost); return nil })
				par := max(n, 1)
				if want := time.Duration((items+par-1)/par) * cost; err != nil || time.Since(began) != want {
					t.Errorf("%s n=%d: %v, want %v, %v", r.name, n, time.Since(began), want, err)
				}
			})
		}
	}
}

// Stages overlap, also of one worker each.
func TestP13StagesOfAChainOverlap(t *testing.T) {
	const items, cost = 50, 10 * time.Millisecond
	for _, op := range engineOps {
		synctest.Test(t, func(t *testing.T) {
			slow := func(context.Context, int) error { time.Sleep(cost); return nil }
			in := stage.FromSlice(upTo(items))
			for range 3 {
				in = op.over(in, 1, slow)
			}
			began := time.Now()
			err := stage.ForEach(t.Context(), in, 1, slow)
			if want := (items + 3) * cost; err != nil || time.Since(began) != want {
				t.Errorf("%s: %v, want %v, %v", op.name, time.Since(began), want, err)
			}
		})
	}
}

// shapes are the times that the calls of a test take, by their number.
var shapes = map[string]func(i int) time.Duration{
	"longer":  func(i int) time.Duration { return time.Duration(i+1) * time.Second },
	"shorter": func(i int) time.Duration { return time.Duration(1000-i) * time.Second },
	"mixed":   func(i int) time.Duration { return time.Duration(i*7919%101) * time.Second },
	"first":   func(i int) time.Duration { return time.Duration(1/(i+1)) * time.Hour },
	"every 9": func(i int) time.Duration { return time.Duration(1/(i%9+1)) * time.Hour },
	"micro":   func(i int) time.Duration { return time.Duration(i*7919%101) * time.Microsecond },
}

// A result is with downstream at the very instant at which it is done, or in
// order, at which all before it are; also if f was cheap before, so that it
// shares a cell with calls that are stuck.
func TestP13ResultIsTakenAtTheInstantItIsDone(t *testing.T) {
	for _, op := range share.Rows(t, engineOps) {
		t.Run(op.name, func(t *testing.T) {
			for shape, takes := range shapes {
				for _, n := range sizes(2, 1, 64, 8) {
					for _, cheap := range []int{0, rounds(500)} {
						for _, w := range []int{0, 300}[:1+n/8%2] {
							synctest.Test(t, func(t *testing.T) { instant(t, op, shape, takes, n, cheap, w) })
						}
					}
				}
			}
		})
	}
}

func instant(t *testing.T, op engineOp, shape string, takes func(int) time.Duration, n, cheap, w int) {
	const items = 60
	done := make([]time.Time, cheap+items)
	taken := make([]time.Time, cheap+items)
	in := op.over(stage.FromSlice(upTo(cheap+items)), n, func(_ context.Context, v int) error {
		if v >= cheap {
			time.Sleep(takes(v - cheap))
		}
		done[v] = time.Now()
		return nil
	}, windowed(w)...)
	if err := stage.ForEach(t.Context(), in, 1, func(_ context.Context, v int) error { taken[v] = time.Now(); return nil }); err != nil {
		t.Fatal(err)
	}
	var ready time.Time
	for v := range done {
		if op.order == stage.AnyOrder || done[v].After(ready) {
			ready = done[v]
		}
		if !taken[v].Equal(ready) {
			t.Errorf("%s n=%d cheap=%d window=%d: item %d is taken %v after it was there", shape, n, cheap, w, v-cheap, taken[v].Sub(ready))
			return
		}
	}
}

// An item's call begins at the instant at which the source has it, as long as
// not all workers are busy.
func TestP13CallBeginsAtTheInstantTheItemComes(t *testing.T) {
	for _, r := range engineRuns() {
		for _, cheap := range []int{0, 500} {
			synctest.Test(t, func(t *testing.T) {
				const items, every, cost, n = 50, 3 * time.Second, 11 * time.Second, 4
				came := make([]time.Time, cheap+items)
				source := stage.Generate(func(_ context.Context, yield func(int) bool) error {
					for v := range came {
						if v >= cheap {
							time.Sleep(every)
						}
						came[v] = time.Now()
						yield(v)
					}
					return nil
				})
				err := r.run(t.Context(), source, n, func(_ context.Context, v int) error {
					if late := time.Since(came[v]); late != 0 {
						return fmt.Errorf("item %d began %v after it had come", v, late)
					}
					if v >= cheap {
						time.Sleep(cost)
					}
					return nil
				})
				if err != nil {
					t.Errorf("%s cheap=%d: %v", r.name, cheap, err)
				}
			})
		}
	}
}

// C33: the calls end in every kind of order, the last one with nothing behind
// it, and all results are there at that instant.
func TestP13C33NothingIsHeldBackUntilSomethingElseComes(t *testing.T) {
	for _, op := range share.Rows(t, engineOps) {
		for round := range 100 {
			synctest.Test(t, func(t *testing.T) {
				const n = 8
				order := rand.New(rand.NewPCG(uint64(round), 0)).Perm(n)
				if round == 0 {
					order = []int{7, 6, 5, 4, 3, 2, 1, 0}
				}
				gates := make([]chan struct{}, n)
				for i := range gates {
					gates[i] = make(chan struct{})
				}
				feed := make(chan int, n) // stays open: no end of the stream helps
				for v := range n {
					feed <- v
				}
				ctx, cancel := context.WithCancel(t.Context())
				var got atomic.Int64
				var ended sync.WaitGroup
				ended.Go(func() {
					stage.ForEach(ctx, op.over(stage.FromChan(feed), n, func(_ context.Context, v int) error { <-gates[v]; return nil }), 1,
						func(_ context.Context, v int) error {
							if op.order == stage.InOrder && v != int(got.Load()) {
								t.Errorf("%s: %d came, not %d", op.name, v, got.Load())
							}
							got.Add(1)
							return nil
						})
				})
				free := make([]bool, n)
				for k, v := range order {
					synctest.Wait()
					free[v] = true
					close(gates[v])
					synctest.Wait()
					want := k + 1
					for i := 0; op.order == stage.InOrder && i < n; i++ {
						if !free[i] {
							want = min(want, i)
							break
						}
					}
					if g := int(got.Load()); g != want {
						t.Errorf("%s, %v: %d results after %d calls, want %d", op.name, order, g, k+1, want)
					}
				}
				cancel()
				ended.Wait()
			})
		}
	}
}

// C08: later items are done first.
func TestP13C08ResultsOfEarlierItemsTakeLonger(t *testing.T) {
	for _, op := range share.Rows(t, engineOps) {
		if op.order != stage.InOrder {
			continue
		}
		for _, fails := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				in := op.over(stage.FromSlice(upTo(1000)), 16, func(_ context.Context, v int) error {
					time.Sleep(time.Duration(1000-v) * time.Microsecond)
					if fails && v%3 == 0 {
						return oops(v)
					}
					return nil
				})
				got, err := stage.Collect(t.Context(), stage.Catch(in, stage.Inline, func(context.Context, error) error { return nil }))
				want := 0
				for _, v := range got {
					if fails && want%3 == 0 {
						want++
					}
					if v != want {
						t.Fatalf("%s: %d in the place of %d", op.name, v, want)
					}
					want++
				}
				if err != nil || len(got) != 1000 && !fails || fails && len(got) != 666 {
					t.Errorf("%s: %d values, %v", op.name, len(got), err)
				}
			})
		}
	}
}

// The busy, starved and blocked times of a stage, exactly.
func TestP13StatsAreExact(t *testing.T) {
	for _, order := range []stage.Order{stage.AnyOrder, stage.InOrder} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stats := stage.WithStats(t.Context())
			source := stage.Generate(func(_ context.Context, yield func(int) bool) error {
				for v := range 10 {
					time.Sleep(2 * time.Second) // but for the first one, while f is busy
					yield(v)
				}
				return nil
			})
			in := stage.Transform("t", source, 1, order, stage.MapFunc("t", func(_ context.Context, v int) (int, error) {
				time.Sleep(3 * time.Second)
				return v, nil
			}), stage.Name("mine"))
			if err := stage.Discard(ctx, in); err != nil {
				t.Fatal(err)
			}
			s := stats.Stages()[0]
			if s.Name != "mine" || s.N != 1 || s.In != 10 || s.Out != 10 || s.InFlight != 0 || s.Calls != 0 ||
				s.Busy != 30*time.Second || s.Starved != 2*time.Second {
				t.Errorf("%+v", s)
			}
		})
	}
}
