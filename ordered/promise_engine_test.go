package ordered_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// The promises of the engine, at the functions of this package.

// P3: f is cheap for a while, so that items share cells, and then blocks.
func TestP3ExactlyNCallsRunAlsoWhenCheapCallsSuddenlyBlock(t *testing.T) {
	for _, o := range share.Rows(t, ops) {
		t.Run(o.name, func(t *testing.T) {
			for _, n := range sizes(1, 2, 8, 32) {
				for _, w := range sizes(0, 1, 3*n+1) {
					for _, cheap := range []int{0, 100, 1500} {
						synctest.Test(t, func(t *testing.T) {
							want := n
							if w > 0 {
								want = min(n, w)
							}
							var m meter
							gate := make(chan struct{})
							time.AfterFunc(time.Second, func() {
								if got := int(m.running.Load()); got != want {
									t.Errorf("n=%d window=%d after %d cheap calls: %d running, want %d", n, w, cheap, got, want)
								}
								close(gate)
							})
							size := cheap + 3*n + 70
							k, err := stage.Count(t.Context(), o.over(stage.FromSlice(upTo(size)), n, func(_ context.Context, v int) error {
								m.enter()
								defer m.leave()
								if v >= cheap {
									<-gate
								}
								return nil
							}, windowed(w)...))
							if k != size || err != nil || int(m.most.Load()) > want {
								t.Errorf("n=%d window=%d: %d of %d, %d at once, %v", n, w, k, size, m.most.Load(), err)
							}
						})
					}
				}
			}
		})
	}
}

// P4, C45: one item is stuck, all others are cheap; a window has been started,
// no more and no less, however many calls are free.
func TestP3P4C45ExactlyAWindowIsStartedBehindAStuckItem(t *testing.T) {
	for _, o := range share.Rows(t, all) {
		for _, n := range sizes(2, 3, 8) {
			for _, w := range sizes(0, 1, n, 300) {
				for _, stuck := range []int{0, 300} {
					if o.strategy != ordered.Cells && (o.flat || n < 8 || w == 1 || w == n) || raced && (o.inner || stuck == 0) {
						continue // the schedules have them
					}
					synctest.Test(t, func(t *testing.T) {
						var calls, took atomic.Int64
						during := 0
						in := counted(o.over(stage.FromSlice(upTo(1000)), n, func(_ context.Context, v int) error {
							calls.Add(1)
							if v == stuck {
								time.Sleep(time.Hour)
								during = int(calls.Load() - took.Load())
							}
							return nil
						}, windowed(w)...), &took)
						got, err := stage.Collect(t.Context(), in)
						if w > 0 && during != w || during < min(n, 2) && w == 0 || during > 64*n && w == 0 {
							t.Errorf("%s n=%d window=%d, %d stuck: %d started", o.name, n, w, stuck, during)
						}
						if !slices.Equal(got, upTo(1000)) || err != nil {
							t.Errorf("%s n=%d window=%d: %d items, %v", o.name, n, w, len(got), err)
						}
					})
				}
			}
		}
	}
}

// P13: a result is taken at the instant at which it and all before it are
// done; so a slow call holds up no result before it, not even in its cell.
func TestP13ResultIsTakenAtTheInstantItsPrefixIsDone(t *testing.T) {
	for _, o := range share.Rows(t, ops) {
		for _, n := range []int{1, 2, 8, 64} {
			for _, cheap := range []int{0, 500} {
				for _, round := range sizes(0, 1, 2, 3, 4, 5, 6, 7, 8, 9) {
					synctest.Test(t, func(t *testing.T) {
						done := make([]time.Time, cheap+50)
						in := o.over(stage.FromSlice(upTo(len(done))), n, func(_ context.Context, v int) error {
							if k := v - cheap; k >= 0 && k%(round+1) == 0 {
								time.Sleep(time.Duration(1+k*7919%101) * time.Second)
							}
							done[v] = time.Now()
							return nil
						})
						var ready time.Time
						err := stage.ForEach(t.Context(), in, 1, func(_ context.Context, v int) error {
							if done[v].After(ready) {
								ready = done[v]
							}
							if late := time.Since(ready); late != 0 {
								return fmt.Errorf("item %d came %v late", v, late)
							}
							return nil
						})
						if err != nil {
							t.Errorf("%s n=%d cheap=%d: %v", o.name, n, cheap, err)
						}
					})
				}
			}
		}
	}
}

// P8: the first error in input order, in every run.
func TestP8FirstErrorInInputOrderIsTheSameInEveryRun(t *testing.T) {
	for _, o := range share.Rows(t, all) {
		for _, n := range []int{stage.Inline, 1, 2, 8, 32} {
			for round := range 50 {
				if (raced || o.strategy != ordered.Cells) && (round%5 > 0 || n < 2) {
					continue
				}
				synctest.Test(t, func(t *testing.T) {
					in := o.over(stage.FromSlice(upTo(200)), n, func(_ context.Context, v int) error {
						if round > 10 {
							time.Sleep(time.Duration((v*7919+round*104729)%97) * time.Millisecond)
						}
						if v >= round && v%3 == 0 {
							return oops(v)
						}
						return nil
					})
					want := (round + 2) / 3 * 3
					passed := 0
					err := stage.ForEach(t.Context(), in, 1, func(context.Context, int) error { passed++; return nil })
					if err != oops(want) || passed != want {
						t.Errorf("%s n=%d: %v after %d, want %d", o.name, n, err, passed, want)
					}
				})
			}
		}
	}
}

// P6: cancelled while calls are stuck, with unclaimed items in their cells.
func TestP6CancelStartsNoCallAndEndsThoseThatRun(t *testing.T) {
	for _, o := range share.Rows(t, all) {
		for _, n := range []int{1, 2, 8} {
			for _, cheap := range []int{0, 700} {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancelCause(t.Context())
					defer cancel(nil)
					var m meter
					var before, saw int64
					time.AfterFunc(time.Second, func() {
						before, saw = m.calls.Load(), m.running.Load()
						cancel(errStop)
					})
					began := time.Now()
					err := stage.Discard(ctx, o.over(stage.FromSlice(upTo(5000)), n, func(ctx context.Context, v int) error {
						m.enter()
						defer m.leave()
						if v >= cheap {
							<-ctx.Done()
							if context.Cause(ctx) != errStop {
								t.Errorf("%s: the cause is %v", o.name, context.Cause(ctx))
							}
						}
						return nil
					}))
					if err != errStop || time.Since(began) != time.Second || m.calls.Load() != before || int(saw) != n || m.running.Load() != 0 {
						t.Errorf("%s n=%d: %v after %v, %d more calls, %d were running", o.name, n, err, time.Since(began), m.calls.Load()-before, saw)
					}
				})
			}
		}
	}
}

// P7: downstream holds an item until the window is full, and then stops.
func TestP7ExactlyTheWindowIsStartedInVain(t *testing.T) {
	for _, o := range share.Rows(t, ops) {
		if o.flat {
			continue
		}
		for _, n := range []int{1, 2, 8} {
			for _, w := range []int{1, n, 3*n + 1, 100} {
				for _, k := range []int{0, 1, 300} {
					synctest.Test(t, func(t *testing.T) {
						var calls, took atomic.Int64
						in := counted(o.over(stage.FromSlice(upTo(5000)), n, func(context.Context, int) error { calls.Add(1); return nil }, stage.Window(w)), &took)
						for v, err := range in.Seq(t.Context()) {
							if err != nil {
								t.Error(err)
							}
							if v == k {
								time.Sleep(time.Hour)
								break
							}
						}
						if calls.Load() != took.Load()+int64(w) {
							t.Errorf("%s n=%d window=%d: %d calls for %d items", o.name, n, w, calls.Load(), took.Load())
						}
					})
				}
			}
		}
	}
}

//go:noinline
func thrower(v any) { panic(v) }

// P9: raised in the terminal's goroutine, or in the item's place.
func TestP9PanicsAndGoexitsHaveTheirPlace(t *testing.T) {
	for _, o := range share.Rows(t, all) {
		for _, n := range []int{stage.Inline, 1, 2, 8} {
			if o.strategy != ordered.Cells && n < 2 {
				continue
			}
			bad := func(_ context.Context, v int) error {
				if v == 500 {
					thrower(errStop)
				}
				return nil
			}
			v := raised(func() { stage.Discard(t.Context(), o.over(stage.FromSlice(upTo(1000)), n, bad, stage.Name("mine"))) })
			p, ok := v.(*stage.Panic)
			if !ok || p.Value != errStop || p.Stage != "mine" && !o.inner || !bytes.Contains(p.Stack, []byte("ordered_test.thrower")) {
				t.Errorf("%s n=%d: raised %v", o.name, n, v)
			}
			if o.flat {
				continue
			}
			// Each third item panics, fails, or ends its goroutine.
			got, want := []int{}, []int{}
			for v := range 1000 {
				if v%3 == 0 {
					want = append(want, -v)
				} else {
					want = append(want, v)
				}
			}
			in := o.over(stage.FromSlice(upTo(1000)), n, func(_ context.Context, v int) error {
				switch {
				case v%3 > 0:
				case v%2 == 0:
					panic(oops(v))
				case v%5 == 0 && n > 0:
					runtime.Goexit()
				default:
					return oops(v)
				}
				return nil
			}, stage.RecoverPanics())
			in = stage.Transform("see", in, stage.Inline, stage.InOrder, stage.TryFunc(func(_ context.Context, a stage.Try[int], out *stage.Try[int]) bool {
				*out = a
				var e oops
				switch {
				case errors.As(a.Error, &e):
					*out = stage.Try[int]{Value: -int(e)}
				case errors.Is(a.Error, stage.ErrGoexit):
					*out = stage.Try[int]{Value: -len(got)}
				}
				got = append(got, out.Value)
				return true
			}))
			if k, err := stage.Count(t.Context(), in); k != 1000 || err != nil || !slices.Equal(got, want) {
				t.Errorf("%s n=%d: %d, %v, %v", o.name, n, k, err, got)
			}
		}
	}
}

// P10: no allocation per item in the steady state.
func TestP10NoAllocationPerItem(t *testing.T) {
	if raced {
		t.Skip("the race detector slows this down and adds nothing")
	}
	none := func(context.Context, int) error { return nil }
	for _, o := range all {
		if o.flat || strings.HasSuffix(o.name, "Catch") {
			continue // a stream, an error for each
		}
		for _, n := range []int{1, 4} {
			for _, w := range []int{0, 12} {
				size := uint64(3_000)
				if o.strategy == ordered.Cells {
					size = 100_000
				}
				if o.strategy == ordered.Cells && w > 0 || o.strategy != ordered.Cells && n == 1 {
					continue
				}
				allocs := func(size uint64) uint64 {
					in := o.over(stage.FromSlice(upTo(int(size))), n, none, windowed(w)...)
					least := ^uint64(0)
					for range 3 {
						var before, after runtime.MemStats
						runtime.ReadMemStats(&before)
						if err := stage.Discard(t.Context(), in); err != nil {
							t.Error(err)
						}
						runtime.ReadMemStats(&after)
						least = min(least, after.Mallocs-before.Mallocs)
					}
					return least
				}
				want := uint64(0)
				if o.strategy == ordered.ReplyTo {
					want = size // that is its price
				}
				once, twice := allocs(size), allocs(2*size)
				if more := twice - once; twice < once && want > 0 || twice > once && (more > want+300 || more+300 < want) {
					t.Errorf("%s n=%d window=%d: %d allocations, %d for twice the items", o.name, n, w, once, twice)
				}
			}
		}
	}
}

// P11: the text of a panic about an argument names the function.
func TestP11BadArgumentsPanicAtConstruction(t *testing.T) {
	in := stage.New(func(*stage.Scope) stage.Reader[int] { t.Error("opened"); return nil })
	type opts = []stage.Option
	calls := map[string]func(n int, missing bool, o opts){
		"ordered.Map": func(n int, missing bool, o opts) {
			f := func(_ context.Context, v int) (int, error) { return v, nil }
			if missing {
				f = nil
			}
			ordered.Map(in, n, f, o...)
		},
		"ordered.Filter": func(n int, missing bool, o opts) { ordered.Filter(in, n, test(missing), o...) },
		"ordered.FilterMap": func(n int, missing bool, o opts) {
			f := func(_ context.Context, v int) (int, bool, error) { return v, true, nil }
			if missing {
				f = nil
			}
			ordered.FilterMap(in, n, f, o...)
		},
		"ordered.Catch": func(n int, missing bool, o opts) {
			f := func(_ context.Context, err error) error { return err }
			if missing {
				f = nil
			}
			ordered.Catch(in, n, f, o...)
		},
		"ordered.FlatMap": func(n int, missing bool, o opts) {
			f := func(_ context.Context, v int) stage.Stream[int] { return stage.Of(v) }
			if missing {
				f = nil
			}
			ordered.FlatMap(in, n, f, o...)
		},
		"ordered.Split": func(n int, missing bool, o opts) { ordered.Split(in, n, test(missing), o...) },
		"ordered.First": func(n int, missing bool, o opts) { ordered.First(context.Background(), in, n, test(missing), o...) },
	}
	for fn, call := range calls {
		arg := "f"
		if fn == "ordered.First" {
			arg = "match"
		}
		for want, f := range map[string]func(){
			fn + ": n is -1, want 0 (Inline) to 1048576":      func() { call(-1, false, nil) },
			fn + ": n is 1048577, want 0 (Inline) to 1048576": func() { call(1048577, false, nil) },
			fn + ": " + arg + " is nil":                       func() { call(1, true, nil) },
			fn + ": option 1 is nil":                          func() { call(1, false, opts{stage.Window(1), nil}) },
		} {
			got := fmt.Sprint(raised(f))
			if got != want {
				t.Errorf("panics with %q, want %q", got, want)
			}
		}
	}
}

func test(missing bool) func(context.Context, int) (bool, error) {
	if missing {
		return nil
	}
	return func(context.Context, int) (bool, error) { return true, nil }
}
