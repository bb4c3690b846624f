package keyed_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/keyed"
	"github.com/seed95b73fdc/sluice/stage"
)

// Calls are so cheap that one worker runs all that it pulls. Then one of them does not
// return, wherever in a pull it may be: whatever is not behind it, by its key or by its
// place, is done all the same.
func TestACallThatGetsStuckAmongCheapOnesHoldsUpItsKeyOnlyC125(t *testing.T) {
	const cheap, more, keys = 2000, 300, 150
	for _, r := range share.Rows(t, engines) {
		if r.pinned || !r.perKey { // with lanes by hash it holds up its lane
			continue
		}
		for _, n := range []int{2, 4} {
			for d := 0; d < 130; d += 6 + 2*raceScale + n {
				synctest.Test(t, func(t *testing.T) {
					stuck := cheap + d
					open := make(chan struct{})
					s := newSerial(keys)
					var calls, taken atomic.Int64
					seen := make([]int, keys)
					over := make(chan error)
					go func() {
						out := r.of(stage.FromSlice(numbers(cheap+more)), n, s.key, func(_ context.Context, v int) (int, error) {
							if v == stuck {
								<-open
							}
							s.call(t, v)
							calls.Add(1)
							return v, nil
						})
						over <- stage.ForEach(t.Context(), out, 1, func(_ context.Context, v int) error {
							if k := v % keys; v/keys != seen[k] {
								t.Errorf("%s n=%d: result %d of key %d came as number %d", r.name, n, v, k, seen[k])
							}
							seen[v%keys]++
							taken.Add(1)
							return nil
						})
					}()
					synctest.Wait()
					behind := (cheap+more-stuck-1)/keys + 1 // by its key, and itself
					want, called := cheap+more-behind, cheap+more-behind
					if r.ordered {
						want = stuck
						called = min(called, stuck+64*n-1) // its window may be full
					}
					if int(taken.Load()) != want || !r.ordered && int(calls.Load()) != called || int(calls.Load()) > called {
						t.Errorf("%s n=%d, item %d is stuck: %d results and %d calls, want %d and %d", r.name, n, stuck, taken.Load(), calls.Load(), want, called)
					}
					close(open)
					if err := <-over; err != nil || taken.Load() != cheap+more {
						t.Errorf("%s n=%d: %d results, %v", r.name, n, taken.Load(), err)
					}
				})
			}
		}
	}
}

// rising checks that the numbers of each key come in rising order.
type rising []int

func (r rising) see(t *testing.T, what string, v int) {
	t.Helper()
	if k := v % len(r); v < r[k] {
		t.Errorf("%s: %d of key %d comes after %d", what, v, k, r[k])
	} else {
		r[k] = v
	}
}

// Now and then a cheap call takes a while, panics, fails, or ends its goroutine, and
// the input has errors: each item has its one result, in the order of its key.
func TestRareSlowCallsAmongCheapOnesKeepTheOrderOfEachKeyP2(t *testing.T) {
	const keys, items = 40, 48_000 / raceScale
	bad := errors.New("bad")
	inErr := func(v int) bool { return v%997 == 0 }
	fErr := func(v int) bool { return v%1019 == 0 || v%1013 == 0 || v%10_007 == 0 }
	errs := 0
	for v := range items {
		if inErr(v) || fErr(v) {
			errs++
		}
	}
	var steals uint64
	for _, r := range share.Rows(t, engines) {
		if r.pinned {
			continue
		}
		for _, n := range []int{1, 2, 5} {
			for _, w := range []int{0, 20 * n} {
				opts := []stage.Option{stage.RecoverPanics()}
				if w > 0 {
					opts = append(opts, stage.Window(w))
				}
				load := keyed.NewLoad[int]()
				if n != 5 {
					opts = append(opts, keyed.Measure(load))
				}
				in := stage.Map(stage.FromSlice(numbers(items)), stage.Inline, func(_ context.Context, v int) (int, error) {
					if inErr(v) {
						return 0, bad
					}
					return v, nil
				})
				calls := make(rising, keys) // plain on purpose
				out := r.of(in, n, func(v int) int { return v % keys }, func(_ context.Context, v int) (int, error) {
					calls.see(t, r.name+", calls", v)
					switch {
					case v%1009 == 0:
						for range 100 {
							runtime.Gosched()
						}
					case v%10_007 == 0:
						runtime.Goexit()
					case v%1013 == 0:
						panic(v)
					case v%1019 == 0:
						return v, bad
					}
					return v, nil
				}, opts...)
				got, good := 0, 0
				out = stage.Catch(out, stage.Inline, func(_ context.Context, err error) error {
					var p *stage.Panic
					if err != bad && !errors.As(err, &p) && !errors.Is(err, stage.ErrGoexit) {
						t.Errorf("%s n=%d window=%d: %v", r.name, n, w, err)
					}
					got++
					return nil
				})
				results := make(rising, keys)
				err := stage.ForEach(t.Context(), out, 1, func(_ context.Context, v int) error {
					results.see(t, r.name+", results", v)
					good++
					return nil
				})
				if err != nil || got != errs || good != items-errs {
					t.Errorf("%s n=%d window=%d: %d errors of %d, %d results of %d, %v", r.name, n, w, got, errs, good, items-errs, err)
				}
				steals += load.Stats().Steals
			}
		}
	}
	if steals == 0 {
		t.Error("nothing was ever taken over")
	}
}

// A soloist goes on after a call that has panicked, and is replaced in a later one: what
// it runs then has a permit as all else has, so that nobody is a soloist beside it and
// calls for its key.
func TestASoloistThatIsReplacedAfterAPanicRunsAloneForItsKeyP2(t *testing.T) {
	const cheap, pause, more = 2000, 400, 400
	for _, r := range share.Rows(t, engines) {
		if r.pinned || !r.perKey || r.ordered {
			continue
		}
		for d := 0; d < 130; d += 5 {
			synctest.Test(t, func(t *testing.T) {
				bad := cheap + d
				stuck := bad + 4
				key := func(v int) int {
					if v == stuck || v == stuck+3 || v > cheap+pause && v%20 == 0 {
						return -1
					}
					return v
				}
				first, gate, in := make(chan struct{}), make(chan struct{}), make(chan int)
				var busy, overlaps atomic.Int64
				over := make(chan error)
				go func() {
					all := numbers(cheap + pause + more)
					up := stage.Concat(stage.FromSlice(all[:cheap+pause]), stage.FromChan(in), stage.FromSlice(all[cheap+pause:]))
					out := r.of(up, 2, key, func(_ context.Context, v int) (int, error) {
						if key(v) == -1 {
							if busy.Add(1) > 1 {
								overlaps.Add(1)
							}
							defer busy.Add(-1)
						}
						switch v {
						case bad:
							panic(v)
						case stuck:
							<-first
						case stuck + 3:
							<-gate
						}
						return v, nil
					}, stage.RecoverPanics())
					out = stage.Catch(out, stage.Inline, func(context.Context, error) error { return nil })
					over <- stage.Discard(t.Context(), out)
				}()
				synctest.Wait()
				close(first)
				synctest.Wait()
				close(in)
				synctest.Wait()
				close(gate)
				if err := <-over; err != nil {
					t.Error(err)
				}
				if k := overlaps.Load(); k > 0 {
					t.Errorf("%s: item %d panics, %d calls of a key began beside another one of it", r.name, bad, k)
				}
			})
		}
	}
}

// Calls get dearer and cheaper again, again and again, and the reader is late: lanes
// are run by others while results of the last soloist wait.
func TestCallsThatGetDearerAndCheaperKeepTheOrderOfEachKeyP2(t *testing.T) {
	const keys, items, phase = 7, 20_000 / raceScale, 300
	for _, r := range share.Rows(t, engines) {
		if r.pinned {
			continue
		}
		for _, n := range []int{2, 3} {
			results := make(rising, keys)
			out := r.of(stage.FromSlice(numbers(items)), n, func(v int) int { return v % keys }, func(_ context.Context, v int) (int, error) {
				if v/phase%2 == 1 {
					for range 4 {
						runtime.Gosched()
					}
				}
				return v, nil
			})
			got := 0
			err := stage.ForEach(t.Context(), out, 1, func(_ context.Context, v int) error {
				results.see(t, r.name+", results", v)
				got++
				if v%64 == 0 {
					for range 20 {
						runtime.Gosched()
					}
				}
				return nil
			})
			if err != nil || got != items {
				t.Errorf("%s n=%d: %d results of %d, %v", r.name, n, got, items, err)
			}
		}
	}
}
