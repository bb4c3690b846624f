package stage_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/stage"
)

// P10: no allocation per item in the steady state; memory and goroutines do not
// grow with the length of the input.

// allocations returns how many a run of size items was seen to make.
func allocations(size int, run func(in stage.Stream[int])) float64 {
	in := stage.FromSlice(upTo(size))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run(in)
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs - before.Mallocs)
}

// perItem fails if twice the items make more allocations than a ring that has
// come out larger could explain. It compares the least of three runs of each, for
// what comes on top is the runtime's; one of the larger runs is enough if it is
// already small enough.
func perItem(t *testing.T, name string, size int, run func(in stage.Stream[int])) {
	t.Helper()
	once, twice := math.Inf(1), math.Inf(1)
	for range 3 {
		once = min(once, allocations(size, run))
	}
	for range 3 {
		if twice = min(twice, allocations(2*size, run)); twice-once <= 500 {
			return
		}
	}
	t.Errorf("%s: %.0f allocations for %d items, %.0f for twice as many", name, once, size, twice)
}

func TestP10NoAllocationPerItem(t *testing.T) {
	if raced {
		t.Skip("the race detector slows this down and adds nothing")
	}
	const size = 100_000
	ctx := t.Context()
	none := func(context.Context, int) error { return nil }
	odd := func(_ context.Context, v int) (bool, error) { return v%2 == 1, nil }
	run := func(name string, size int, f func(in stage.Stream[int]) error) {
		perItem(t, name, size, func(in stage.Stream[int]) {
			if err := f(in); err != nil {
				t.Error(name, err)
			}
		})
	}
	for _, n := range []int{stage.Inline, 1, 4} {
		for _, w := range []int{0, 7} {
			for _, r := range engineRuns() {
				if r.name == "Catch" || len(r.name) > 7 && r.name[:7] == "FlatMap" || w > 0 && r.name != "Map" && r.name != "Transform/InOrder" {
					continue // its errors, and a stream for each value, are made anew
				}
				items := size
				if w > 0 {
					items = size / 10 // every item is a hand-over
				}
				run(fmt.Sprintf("%s n=%d window=%d", r.name, n, w), items, func(in stage.Stream[int]) error {
					return r.run(ctx, in, n, none, windowed(w)...)
				})
			}
		}
		name := func(s string) string { return fmt.Sprintf("%s n=%d", s, n) }
		run(name("Filter drops"), size, func(in stage.Stream[int]) error { return stage.Discard(ctx, stage.Filter(in, n, odd)) })
		run(name("Catch passes"), size, func(in stage.Stream[int]) error {
			return stage.Discard(ctx, stage.Catch(in, n, func(_ context.Context, err error) error { return err }))
		})
		run(name("Reduce"), size, func(in stage.Stream[int]) error {
			_, _, err := stage.Reduce(ctx, in, n, func(_ context.Context, a, b int) (int, error) { return a + b, nil })
			return err
		})
		run(name("inside FlatMap"), size, func(in stage.Stream[int]) error {
			return stage.Discard(ctx, stage.FlatMap(stage.Of(1, 2), n, func(context.Context, int) stage.Stream[int] { return in }))
		})
		run(name("Seq"), size, func(in stage.Stream[int]) error {
			for _, err := range stage.Map(in, n, mapWork(none)).Seq(ctx) {
				if err != nil {
					return err
				}
			}
			return nil
		})
		run(name("Stats"), size, func(in stage.Stream[int]) error {
			ctx, _ := stage.WithStats(ctx)
			return stage.Discard(ctx, stage.Map(in, n, mapWork(none)))
		})
	}
}

// A run of any length has n goroutines for each stage at most, and none for a
// stage that is inline.
func TestP10GoroutinesDoNotGrow(t *testing.T) {
	for _, op := range share.Rows(t, cellOps) {
		for _, n := range []int{stage.Inline, 1, 4, 1000} {
			synctest.Test(t, func(t *testing.T) {
				var most atomic.Int64
				others := int64(alive()) // of tests before, on their way out
				in := stage.FromSlice(upTo(5000))
				f := func(_ context.Context, v int) error {
					if v%500 == 250 {
						time.Sleep(time.Millisecond)
						most.Store(max(most.Load(), int64(alive())-others))
					}
					return nil
				}
				if err := stage.Discard(t.Context(), op.over(op.over(in, n, f), n, f)); err != nil {
					t.Error(err)
				}
				// One more for each stage, while one of the n waits for upstream.
				if m := int(most.Load()); m > 2*(n+1) || n == stage.Inline && m > 0 {
					t.Errorf("%s n=%d: %d goroutines", op.name, n, m)
				}
			})
		}
	}
}

// Workers are started as there is something for them to do.
func TestP10NoMoreWorkersThanItems(t *testing.T) {
	for _, r := range engineRuns() {
		synctest.Test(t, func(t *testing.T) {
			const items = 3
			gate := make(chan struct{})
			over := make(chan error, 1)
			go func() {
				over <- r.run(t.Context(), stage.FromSlice(upTo(items)), 100_000, func(context.Context, int) error { <-gate; return nil })
			}()
			synctest.Wait()
			// One finds the end of the source.
			if k := alive(); k > items+2 {
				t.Errorf("%s: %d goroutines for %d items", r.name, k, items)
			}
			close(gate)
			if err := <-over; err != nil {
				t.Error(err)
			}
		})
	}
}

// big is a value that would be missed.
type big struct{ _ [1 << 16]byte }

// C50: what a run has handed on keeps nothing alive, in any of its buffers,
// while the run goes on and nothing else happens to it.
func TestP10C50WhatHasPassedIsNotKeptAlive(t *testing.T) {
	id := func(_ context.Context, v *big) (*big, error) { return v, nil }
	yes := func(context.Context, *big) (bool, error) { return true, nil }
	chains := map[string]func(stage.Stream[*big]) stage.Stream[*big]{
		"source": func(in stage.Stream[*big]) stage.Stream[*big] { return in },
		"inline": func(in stage.Stream[*big]) stage.Stream[*big] { return stage.Map(in, stage.Inline, id) },
		"Map 1":  func(in stage.Stream[*big]) stage.Stream[*big] { return stage.Map(in, 1, id) },
		"Map 4":  func(in stage.Stream[*big]) stage.Stream[*big] { return stage.Map(in, 4, id) },
		"Filter": func(in stage.Stream[*big]) stage.Stream[*big] { return stage.Filter(in, 2, yes) },
		"InOrder": func(in stage.Stream[*big]) stage.Stream[*big] {
			return stage.Transform("o", in, 3, stage.InOrder, stage.MapFunc("o", id))
		},
		"fails": func(in stage.Stream[*big]) stage.Stream[*big] {
			fail := func(_ context.Context, v *big) (*big, error) { return v, errStop }
			return stage.Catch(stage.Map(in, 3, fail), 2, func(context.Context, error) error { return nil })
		},
		"drops": func(in stage.Stream[*big]) stage.Stream[*big] {
			return stage.Filter(in, 3, func(context.Context, *big) (bool, error) { return false, nil })
		},
		"to int": func(in stage.Stream[*big]) stage.Stream[*big] {
			ints := stage.Map(in, 2, func(context.Context, *big) (int, error) { return 1, nil })
			return stage.Map(ints, 2, func(context.Context, int) (*big, error) { return nil, nil })
		},
		"FlatMap": func(in stage.Stream[*big]) stage.Stream[*big] {
			return stage.FlatMap(in, 2, func(_ context.Context, v *big) stage.Stream[*big] { return stage.Of(v, v) })
		},
		"FlatMap in order": func(in stage.Stream[*big]) stage.Stream[*big] {
			return stage.FlatMapOrder("t", in, 2, stage.InOrder, func(_ context.Context, v *big) stage.Stream[*big] { return stage.Of(v, v) })
		},
	}
	terminals := map[string]func(ctx context.Context, in stage.Stream[*big]){
		"ForEach": func(ctx context.Context, in stage.Stream[*big]) {
			stage.ForEach(ctx, in, 1, func(context.Context, *big) error { return nil })
		},
		"ForEach 3": func(ctx context.Context, in stage.Stream[*big]) {
			stage.ForEach(ctx, in, 3, func(context.Context, *big) error { return nil })
		},
		"Discard": func(ctx context.Context, in stage.Stream[*big]) { stage.Discard(ctx, in) },
		"Seq": func(ctx context.Context, in stage.Stream[*big]) {
			for range in.Seq(ctx) {
			}
		},
	}
	var names []string
	for name := range chains {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, chain := range share.Rows(t, names) {
		over := chains[chain]
		for terminal, run := range terminals {
			t.Run(chain+"/"+terminal, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					feed := make(chan *big)
					ctx, cancel := context.WithCancel(t.Context())
					var ended sync.WaitGroup
					ended.Go(func() { run(ctx, over(stage.FromChan(feed))) })
					var sent []weak.Pointer[big]
					for range 150 {
						v := new(big)
						sent = append(sent, weak.Make(v))
						feed <- v
					}
					synctest.Wait() // all have come through
					runtime.GC()
					runtime.GC()
					kept := 0
					for _, w := range sent {
						if w.Value() != nil {
							kept++
						}
					}
					if kept > 0 {
						t.Errorf("%d of %d values are kept alive", kept, len(sent))
					}
					cancel()
					ended.Wait()
				})
			})
		}
	}
}

// The same for what has been taken of a cell in which a call is stuck: as far
// as it has come out, it is gone.
func TestP10C50WhatHasPassedOfAStuckCellIsNotKeptAlive(t *testing.T) {
	const items, stuck = 400, 301
	for _, order := range []stage.Order{stage.AnyOrder, stage.InOrder} {
		for _, n := range []int{2, 3} {
			synctest.Test(t, func(t *testing.T) {
				gate := make(chan struct{})
				ctx, cancel := context.WithCancel(t.Context())
				var sent []weak.Pointer[big]
				var at atomic.Int64
				feed := make(chan *big)
				var ended sync.WaitGroup
				ended.Go(func() {
					in := stage.Transform("t", stage.FromChan(feed), n, order, stage.MapFunc("t", func(ctx context.Context, v *big) (*big, error) {
						if at.Add(1) == stuck {
							<-gate
						}
						return v, nil
					}), stage.Window(64*n))
					stage.Discard(ctx, in)
				})
				fill := make([]*big, items)
				for i := range fill {
					fill[i] = new(big)
					sent = append(sent, weak.Make(fill[i]))
				}
				for i, v := range fill { // all there at once, so that cells fill up
					select {
					case feed <- v:
					case <-time.After(time.Second): // the window is full, in order
					}
					fill[i] = nil
				}
				synctest.Wait()
				runtime.GC()
				runtime.GC()
				kept := 0
				for _, w := range sent {
					if w.Value() != nil {
						kept++
					}
				}
				most := 1
				if order == stage.InOrder {
					most = 64 * n
				}
				if kept > most {
					t.Errorf("order %d n=%d: %d values are kept alive, want %d", order, n, kept, most)
				}
				close(gate)
				cancel()
				ended.Wait()
			})
		}
	}
}
