package keyed_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/keyed"
	"github.com/seed95b73fdc/sluice/stage"
)

// identity has each item as a key of its own.
func identity(v int) int { return v }

// transform is one of the operators on lanes, with f called for each item.
type transform func(in stage.Stream[int], n int, key func(int) int, f func(context.Context, int) (int, error), opts ...stage.Option) stage.Stream[int]

func process(in stage.Stream[int], n int, key func(int) int, f func(context.Context, int) (int, error), opts ...stage.Option) stage.Stream[int] {
	return keyed.Process(in, n, key, func() int { return 0 },
		func(ctx context.Context, _ *int, v int) (int, error) { return f(ctx, v) }, opts...)
}

// engines are the operators on lanes, in all their ways.
var engines = []struct {
	name    string
	of      transform
	ordered bool
	perKey  bool
	pinned  bool
}{
	{name: "Map", of: keyed.Map[int, int, int]},
	{name: "Map/PerKey", of: with(keyed.Map[int, int, int], keyed.PerKey()), perKey: true},
	{name: "Map/Pinned", of: with(keyed.Map[int, int, int], keyed.Pinned()), pinned: true},
	{name: "OrderedMap", of: keyed.OrderedMap[int, int, int], ordered: true},
	{name: "OrderedMap/PerKey", of: with(keyed.OrderedMap[int, int, int], keyed.PerKey()), ordered: true, perKey: true},
	{name: "OrderedMap/Pinned", of: with(keyed.OrderedMap[int, int, int], keyed.Pinned()), ordered: true, pinned: true},
	{name: "Process", of: process},
	{name: "Process/PerKey", of: with(process, keyed.PerKey()), perKey: true},
	{name: "Process/Pinned", of: with(process, keyed.Pinned()), pinned: true},
}

func with(of transform, opt stage.Option) transform {
	return func(in stage.Stream[int], n int, key func(int) int, f func(context.Context, int) (int, error), opts ...stage.Option) stage.Stream[int] {
		return of(in, n, key, f, append(opts, opt)...)
	}
}

// counted is a stream of size numbers that counts those taken from it.
func counted(size int, taken *atomic.Int64) stage.Stream[int] {
	return stage.Tap(stage.FromSlice(numbers(size)), func(int) { taken.Add(1) })
}

// gate counts calls that wait until it is opened.
type gate struct {
	running, most, calls atomic.Int64
	open                 chan struct{}
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) enter() {
	g.calls.Add(1)
	r := g.running.Add(1)
	for m := g.most.Load(); r > m && !g.most.CompareAndSwap(m, r); m = g.most.Load() {
	}
}

func (g *gate) wait(ctx context.Context) error {
	defer g.running.Add(-1)
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func TestExactlyNCallsRunAlsoWhenCheapCallsSuddenlyBlockP3(t *testing.T) {
	for _, r := range share.Rows(t, engines) {
		for _, n := range []int{1, 3, 8} {
			for _, w := range []int{0, 1, 3*n + 1} {
				for _, cheap := range []int{0, 100, 3000 / raceScale} {
					if w > 1 && !r.perKey {
						continue // with a small window, n keys may well share a lane, or a worker
					}
					synctest.Test(t, func(t *testing.T) {
						want, size := n, cheap+70*n+100
						var opts []stage.Option
						if w > 0 {
							want = min(n, w)
							opts = append(opts, stage.Window(w))
						}
						g := newGate()
						over := make(chan error)
						go func() {
							over <- stage.Discard(t.Context(), r.of(stage.FromSlice(numbers(size)), n, identity, func(ctx context.Context, v int) (int, error) {
								g.enter()
								if v < cheap {
									g.running.Add(-1)
									return v, nil
								}
								return v, g.wait(ctx)
							}, opts...))
						}()
						synctest.Wait()
						if got := int(g.running.Load()); got != want {
							t.Errorf("%s n=%d window=%d after %d cheap calls: %d running, want %d", r.name, n, w, cheap, got, want)
						}
						close(g.open)
						if err := <-over; err != nil {
							t.Error(err)
						}
						if calls, most := int(g.calls.Load()), int(g.most.Load()); calls != size || most > want {
							t.Errorf("%s n=%d window=%d: %d calls of %d, %d at once", r.name, n, w, calls, size, most)
						}
					})
				}
			}
		}
	}
}

// C125, C108: one key is stuck; every item of the others that the window lets in is
// done, and with n calls at once, as if the hot key were not there.
func TestAHotKeyHoldsUpNobodyElseC125(t *testing.T) {
	const others = 999
	for _, r := range share.Rows(t, engines) {
		if !r.perKey {
			continue
		}
		for _, n := range []int{2, 4} {
			synctest.Test(t, func(t *testing.T) {
				hot, rest := newGate(), newGate()
				key := func(v int) int { return v % 2 * (v/2 + 1) } // even: the hot key, 0
				out := r.of(stage.FromSlice(numbers(2*others)), n, key, func(ctx context.Context, v int) (int, error) {
					if v%2 == 0 {
						hot.enter()
						return v, hot.wait(ctx)
					}
					rest.enter()
					if v < others {
						rest.running.Add(-1)
						return v, nil
					}
					return v, rest.wait(ctx)
				}, stage.Window(2*others))
				over := make(chan error)
				go func() { over <- stage.Discard(t.Context(), out) }()
				synctest.Wait()
				if h, o := hot.running.Load(), rest.running.Load(); h != 1 || int(o) != n-1 {
					t.Errorf("%s n=%d: %d calls of the hot key and %d of others run, want 1 and %d", r.name, n, h, o, n-1)
				}
				close(rest.open)
				synctest.Wait()
				if h, o := hot.calls.Load(), rest.calls.Load(); h != 1 || o != others {
					t.Errorf("%s n=%d: %d calls of the hot key and %d of others, want 1 and %d", r.name, n, h, o, others)
				}
				close(hot.open)
				if err := <-over; err != nil {
					t.Error(err)
				}
				if h := hot.calls.Load(); h != others || hot.most.Load() != 1 {
					t.Errorf("%s: %d calls of the hot key, %d at once", r.name, h, hot.most.Load())
				}
			})
		}
	}
}

// Without a window of its own a stage looks past what waits for a stuck key, to
// 64·n items, and no further.
func TestAHotKeyFillsTheDefaultWindowAndNoMoreP4(t *testing.T) { hotKeyFillsTheWindow(t, 0) }

// hotKeyFillsTheWindow has calls of one key get stuck, and those of the others take a
// while.
func hotKeyFillsTheWindow(t *testing.T, takes time.Duration) {
	const n, window = 4, 64 * 4
	for _, r := range share.Rows(t, engines) {
		if !r.perKey || r.ordered {
			continue // in order, the results of the others fill it too
		}
		synctest.Test(t, func(t *testing.T) {
			hot := newGate()
			var taken, others atomic.Int64
			key := func(v int) int { return v % 2 * v }
			out := r.of(counted(4*window, &taken), n, key, func(ctx context.Context, v int) (int, error) {
				if v%2 == 0 {
					hot.enter()
					return v, hot.wait(ctx)
				}
				time.Sleep(takes)
				others.Add(1)
				return v, nil
			})
			over := make(chan error)
			go func() { over <- stage.Discard(t.Context(), out) }()
			time.Sleep(time.Hour) // for all of the others
			synctest.Wait()
			if got := others.Load(); got != window-1 || taken.Load() != 2*window-1 {
				t.Errorf("%s: %d of the others are done, want %d; %d taken", r.name, got, window-1, taken.Load())
			}
			close(hot.open)
			if err := <-over; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTheWindowIsExactP4(t *testing.T) {
	for _, r := range share.Rows(t, engines) {
		for _, n := range []int{1, 3} {
			for _, w := range []int{1, 2, 7, 64, 200} {
				synctest.Test(t, func(t *testing.T) {
					var taken atomic.Int64
					let := make(chan struct{})
					out := r.of(counted(400, &taken), n, func(v int) int { return v % 50 },
						func(_ context.Context, v int) (int, error) { return v, nil }, stage.Window(w))
					over := make(chan error)
					first := true
					go func() {
						over <- stage.ForEach(t.Context(), out, 1, func(context.Context, int) error {
							if first {
								first = false
								<-let
							}
							return nil
						})
					}()
					synctest.Wait()
					if got := int(taken.Load()); got != w+1 {
						t.Errorf("%s n=%d: %d taken from upstream, with one taken by downstream and a window of %d", r.name, n, got, w)
					}
					close(let)
					if err := <-over; err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

func TestSlowCallsHoldNItemsP4(t *testing.T) {
	for _, r := range share.Rows(t, engines) {
		if !r.perKey {
			continue // what falls on the lane of another item waits behind it, and counts on top
		}
		for _, n := range []int{1, 3, 8} {
			synctest.Test(t, func(t *testing.T) {
				var taken atomic.Int64
				g := newGate()
				over := make(chan error)
				go func() {
					over <- stage.Discard(t.Context(), r.of(counted(500, &taken), n, identity, func(ctx context.Context, v int) (int, error) {
						g.enter()
						return v, g.wait(ctx)
					}))
				}()
				synctest.Wait()
				if got := int(taken.Load()); got != n {
					t.Errorf("%s n=%d: %d taken", r.name, n, got)
				}
				close(g.open)
				if err := <-over; err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestACancelledRunStartsNoCallAndEndsP6(t *testing.T) {
	stop := errors.New("stop")
	for _, r := range share.Rows(t, engines) {
		for _, n := range []int{1, 4} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				g := newGate()
				over := make(chan error)
				go func() {
					over <- stage.Discard(ctx, r.of(stage.FromSlice(numbers(5000)), n, func(v int) int { return v % 40 }, func(ctx context.Context, v int) (int, error) {
						g.enter()
						if v < 300 {
							g.running.Add(-1)
							return v, nil
						}
						return v, g.wait(ctx)
					}))
				}()
				synctest.Wait()
				before := g.calls.Load()
				cancel(stop)
				if err := <-over; err != stop {
					t.Errorf("%s n=%d: %v", r.name, n, err)
				}
				if g.calls.Load() != before || g.running.Load() != 0 {
					t.Errorf("%s n=%d: %d calls began after the cancellation, %d run", r.name, n, g.calls.Load()-before, g.running.Load())
				}
			})
		}
	}
}

func TestAnEarlyExitStopsWhatIsUpstreamP7(t *testing.T) {
	for _, r := range share.Rows(t, engines) {
		for _, w := range []int{1, 9} {
			var taken atomic.Int64
			out := r.of(counted(100_000, &taken), 3, func(v int) int { return v % 10 },
				func(_ context.Context, v int) (int, error) { return v, nil }, stage.Window(w))
			if _, found, err := stage.First(context.Background(), out); !found || err != nil {
				t.Errorf("%s: %v, %v", r.name, found, err)
			}
			if got := int(taken.Load()); got > w+1 {
				t.Errorf("%s window=%d: %d were taken for the first one", r.name, w, got)
			}
		}
	}
}

func TestErrorsKeepTheirPlaceInOrderedMapP8(t *testing.T) {
	for _, n := range []int{stage.Inline, 1, 4} {
		in := stage.Map(stage.FromSlice(numbers(3000)), stage.Inline, func(_ context.Context, v int) (int, error) {
			if v%7 == 3 {
				return 0, fmt.Errorf("in %d", v)
			}
			return v, nil
		})
		out := keyed.OrderedMap(in, n, func(v int) int { return v % 13 }, func(_ context.Context, v int) (int, error) {
			if v%5 == 2 {
				return 1, fmt.Errorf("f %d", v)
			}
			return v, nil
		})
		v := 0
		for item := range stage.ToRill(context.Background(), out) {
			want := ""
			if v%7 == 3 {
				want = fmt.Sprintf("in %d", v)
			} else if v%5 == 2 {
				want = fmt.Sprintf("f %d", v)
			}
			if got := item.Error; want == "" && (got != nil || item.Value != v) || want != "" && (got == nil || got.Error() != want) {
				t.Fatalf("n=%d: item %d is %v, %v", n, v, item.Value, got)
			}
			v++
		}
		if v != 3000 {
			t.Errorf("n=%d: %d items", n, v)
		}
	}
}

func TestErrorsOfTheInputPassP8(t *testing.T) {
	failed := errors.New("failed")
	for _, r := range share.Rows(t, engines) {
		in := stage.Concat(stage.Of(1, 2), stage.Failed[int](failed), stage.Of(3, 4))
		sum, errs := 0, 0
		out := r.of(in, 2, identity, func(_ context.Context, v int) (int, error) { return v, nil })
		for item := range stage.ToRill(context.Background(), out) {
			if item.Error == failed {
				errs++
			}
			sum += item.Value
		}
		if sum != 10 || errs != 1 {
			t.Errorf("%s: sum %d, %d errors", r.name, sum, errs)
		}
	}
}

func TestPanicsEndTheRunOrAreTheItemsErrorP9(t *testing.T) {
	for _, r := range share.Rows(t, engines) {
		for _, inKey := range []bool{false, true} {
			key := func(v int) int {
				if inKey && v%100 == 42 {
					panic("boom")
				}
				return v % 10
			}
			f := func(_ context.Context, v int) (int, error) {
				if !inKey && v%100 == 42 {
					panic("boom")
				}
				return v, nil
			}
			func() {
				defer func() {
					p, ok := recover().(*stage.Panic)
					if !ok || p.Value != "boom" || p.Stage != "it" || p.Running != 0 || !strings.Contains(string(p.Stack), "TestPanics") {
						t.Errorf("%s: raised %v", r.name, p)
					}
				}()
				stage.Discard(context.Background(), r.of(stage.FromSlice(numbers(1000)), 3, key, f, stage.Name("it")))
				t.Errorf("%s: returned", r.name)
			}()
			good, bad := 0, 0
			for item := range stage.ToRill(context.Background(), r.of(stage.FromSlice(numbers(1000)), 3, key, f, stage.RecoverPanics())) {
				var p *stage.Panic
				if errors.As(item.Error, &p) && p.Value == "boom" {
					bad++
				} else if item.Error == nil {
					good++
				}
			}
			if good != 990 || bad != 10 {
				t.Errorf("%s: %d good, %d bad", r.name, good, bad)
			}
		}
	}
}

// C10: the item has the error, in its place; every other item comes out, and n
// calls still run at once.
func TestGoexitIsTheItemsErrorAndCostsNoWorkerC10(t *testing.T) {
	const n, size, bad = 3, 400, 100
	for _, r := range share.Rows(t, engines) {
		var g *gate
		f := func(ctx context.Context, v int) (int, error) {
			if v < bad && v%2 == 0 {
				runtime.Goexit()
			}
			if v >= bad {
				g.enter()
				return v, g.wait(ctx)
			}
			return v, nil
		}
		synctest.Test(t, func(t *testing.T) {
			g = newGate()
			var lost, good int
			order := 0
			over := make(chan struct{})
			go func() {
				defer close(over)
				for item := range stage.ToRill(t.Context(), r.of(stage.FromSlice(numbers(size)), n, identity, f)) {
					if errors.Is(item.Error, stage.ErrGoexit) {
						lost++
						if r.ordered && order%2 != 0 {
							t.Errorf("%s: the error stands in the place of %d", r.name, order)
						}
					} else if item.Error == nil {
						good++
					}
					order++
				}
			}()
			synctest.Wait()
			if got := g.running.Load(); int(got) != n && !r.pinned {
				t.Errorf("%s: %d calls run, want %d", r.name, got, n)
			}
			close(g.open)
			<-over
			if lost != bad/2 || good != size-bad/2 {
				t.Errorf("%s: %d errors and %d results", r.name, lost, good)
			}
		})
	}
}

// C117: an item that is tried again holds up its own key, also during the delay,
// and no other one.
func TestARetryKeepsTheOrderOfItsKeyC117(t *testing.T) {
	for _, r := range share.Rows(t, engines) {
		if !r.perKey || r.ordered {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			var order []int
			tries := 0
			began := time.Now()
			out := r.of(stage.FromSlice(numbers(100)), 2, func(v int) int { return v % 20 * min(1, v%20) }, func(_ context.Context, v int) (int, error) {
				for v == 0 && tries < 2 {
					tries++
					time.Sleep(time.Second)
				}
				return v, nil
			}, stage.Window(100))
			err := stage.ForEach(t.Context(), out, 1, func(_ context.Context, v int) error {
				if v%20 == 0 {
					order = append(order, v)
				} else if time.Since(began) > 0 {
					t.Errorf("%s: %d waited for another key", r.name, v)
				}
				return nil
			})
			if err != nil || fmt.Sprint(order) != "[0 20 40 60 80]" {
				t.Errorf("%s: %v, %v", r.name, order, err)
			}
		})
	}
}

func TestNoAllocationPerItemP10(t *testing.T) {
	if raceScale > 1 {
		t.Skip("the race detector slows this down and adds nothing")
	}
	allocs := func(of transform, size int) float64 {
		in := stage.FromSlice(numbers(size))
		least := math.Inf(1)
		for range 3 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := stage.Discard(context.Background(), of(in, 3, func(v int) int { return v % 300 }, func(_ context.Context, v int) (int, error) { return v, nil }))
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Error(err)
			}
			least = min(least, float64(after.Mallocs-before.Mallocs))
		}
		return least
	}
	for _, r := range share.Rows(t, engines) {
		once, twice := allocs(r.of, 50_000), allocs(r.of, 100_000)
		if twice-once > 500 {
			t.Errorf("%s: %.0f allocations for 50,000 items, %.0f for twice as many", r.name, once, twice)
		}
	}
}

func TestARunThatWaitsForItselfIsStalled(t *testing.T) {
	for _, r := range share.Rows(t, engines) {
		yes, no := stage.Split(stage.FromSlice(numbers(1000)), func(v int) bool { return v%2 == 0 })
		pass := func(_ context.Context, v int) (int, error) { return v, nil }
		_, err := stage.Count(context.Background(), stage.Concat(r.of(yes, 2, identity, pass), r.of(no, 2, identity, pass)))
		if !errors.Is(err, stage.ErrStalled) {
			t.Errorf("%s: %v", r.name, err)
		}
	}
}

func TestStatsOfALaneStageP12(t *testing.T) {
	for _, r := range share.Rows(t, engines) {
		ctx, stats := stage.WithStats(context.Background())
		failed := errors.New("failed")
		out := r.of(stage.FromSlice(numbers(1000)), 2, func(v int) int { return v % 10 }, func(_ context.Context, v int) (int, error) {
			if v%10 == 0 {
				return 0, failed
			}
			return v, nil
		}, stage.Name("it"))
		out = stage.Catch(out, stage.Inline, func(context.Context, error) error { return nil })
		if err := stage.Discard(ctx, out); err != nil {
			t.Error(err)
		}
		s := stats.Stages()[0]
		if s.Name != "it" || s.N != 2 || s.In != 1000 || s.Out != 1000 || s.Errors != 100 || s.InFlight != 0 || s.Calls != 0 {
			t.Errorf("%s: %+v", r.name, s)
		}
	}
}
