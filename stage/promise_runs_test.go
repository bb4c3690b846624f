package stage_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/stage"
)

// Runs beside, inside and after each other, on any number of processors.

// Every item comes out once, in order where that is promised, for all n,
// windows and sizes of the input that lie around a limit.
func TestP1EveryItemComesOutOnceForAnyNAndWindow(t *testing.T) {
	for _, op := range share.Rows(t, engineOps) {
		t.Run(op.name, func(t *testing.T) {
			for _, n := range sizes(1, stage.Inline, 2, 3, 100, 8) {
				for _, w := range []int{0, 1, 3, 50} {
					for _, size := range []int{0, 1, 63, 64, 65, 700} {
						in := op.over(stage.FromSlice(upTo(size)), n, func(context.Context, int) error { return nil }, windowed(w)...)
						got, err := stage.Collect(t.Context(), in)
						if op.order == stage.AnyOrder {
							slices.Sort(got)
						}
						if err != nil || !slices.Equal(got, upTo(size)) {
							t.Errorf("n=%d window=%d: %d of %d items, %v", n, w, len(got), size, err)
						}
					}
				}
			}
		})
	}
}

// The same while the scheduler is made to interleave: calls that yield, a
// reader that yields, on 1, 2, 4 and 8 processors.
func TestP1EveryItemComesOutOnceWhateverTheScheduler(t *testing.T) {
	share.Once(t)
	size := 500
	if raced {
		size = 250 // four cells
	}
	for _, procs := range sizes(2, 1, 8, 4) {
		old := runtime.GOMAXPROCS(procs)
		for _, op := range engineOps {
			for _, n := range []int{1, 2, 4, 8} {
				for _, w := range []int{0, 1, n, 3*n + 1} {
					in := op.over(stage.FromSlice(upTo(size)), n, func(_ context.Context, v int) error {
						// Now and then for long enough that others take over what is
						// left of the cell, just as its owner comes back.
						yields := v * 7919 % 5
						if v%17 == 0 {
							yields = 10 + v%150
						}
						for range yields {
							runtime.Gosched()
						}
						return nil
					}, windowed(w)...)
					var got []int
					err := stage.ForEach(t.Context(), in, 1, func(_ context.Context, v int) error {
						if v%3 == 0 {
							runtime.Gosched()
						}
						got = append(got, v)
						return nil
					})
					if op.order == stage.AnyOrder {
						slices.Sort(got)
					}
					if err != nil || !slices.Equal(got, upTo(size)) {
						t.Errorf("%s on %d, n=%d window=%d: %d of %d items, %v", op.name, procs, n, w, len(got), size, err)
					}
				}
			}
		}
		runtime.GOMAXPROCS(old)
	}
}

func TestP5ThousandsOfRunsOfAllKindsAtOnce(t *testing.T) {
	runs := 1200
	if raced {
		runs = 300
	}
	double := func(_ context.Context, v int) (int, error) { return 2 * v, nil }
	var all sync.WaitGroup
	for k := range share.Times(runs) {
		k += runs * runtime.GOMAXPROCS(0) // other ones with other processors
		all.Go(func() {
			op := engineOps[k%len(engineOps)]
			in := op.over(stage.FromSlice(upTo(100)), 1+k%5, func(context.Context, int) error { return nil })
			sum, ok, err := stage.Reduce(t.Context(), stage.Map(in, k%3, double), k%4, func(_ context.Context, a, b int) (int, error) { return a + b, nil })
			if sum != 99*100 || !ok || err != nil {
				t.Errorf("%s: %d, %v, %v", op.name, sum, ok, err)
			}
		})
	}
	all.Wait()
}

// One stream, run many times and at the same time.
func TestP5AStreamRunTwiceRunsTwice(t *testing.T) {
	for _, op := range share.Rows(t, engineOps) {
		for _, n := range []int{stage.Inline, 1, 4} {
			src := &tally{t: t, size: 300}
			var calls atomic.Int64
			in := op.over(src.stream(), n, func(context.Context, int) error { calls.Add(1); return nil })
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					for range 2 {
						if k, err := stage.Count(t.Context(), in); k != 300 || err != nil {
							t.Errorf("%s n=%d: %d, %v", op.name, n, k, err)
						}
					}
				})
			}
			all.Wait()
			if calls.Load() != 16*300 || src.opened.Load() != 16 || !src.allClosed() {
				t.Errorf("%s n=%d: %d calls, %d runs", op.name, n, calls.Load(), src.opened.Load())
			}
		}
	}
}

// A run inside f, three deep, with f's context; and cancelled with it.
func TestP6ARunInsideFEndsWithIt(t *testing.T) {
	for _, r := range engineRuns() {
		for _, n := range []int{stage.Inline, 1, 3} {
			synctest.Test(t, func(t *testing.T) {
				var leaves, cancelled atomic.Int64
				var inside func(depth int) work
				inside = func(depth int) work {
					return func(ctx context.Context, v int) error {
						if depth == 0 {
							leaves.Add(1)
							select {
							case <-time.After(time.Second):
								return nil
							case <-ctx.Done():
								cancelled.Add(1)
								return ctx.Err()
							}
						}
						return r.run(ctx, stage.FromSlice(upTo(3)), n, inside(depth-1))
					}
				}
				if err := inside(3)(t.Context(), 0); err != nil || leaves.Load() != 27 {
					t.Errorf("%s n=%d: %d leaves, %v", r.name, n, leaves.Load(), err)
				}
				leaves.Store(0)
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errStop)
				defer cancel()
				// The inner runs are told why by the outer one's context.
				if err := inside(3)(ctx, 0); err != errStop || leaves.Load() != cancelled.Load() {
					t.Errorf("%s n=%d: %v, %d of %d cancelled", r.name, n, err, cancelled.Load(), leaves.Load())
				}
			})
		}
	}
}

// C44: f looks at the run that it is part of, and runs another of the stream
// that it is in.
func TestP6C44FMayAskAboutItsOwnRun(t *testing.T) {
	for _, r := range engineRuns() {
		for _, n := range []int{stage.Inline, 1, 4} {
			ctx, stats := stage.WithStats(t.Context())
			in := stage.FromSlice(upTo(50))
			var deep atomic.Int64
			err := r.run(ctx, in, n, func(ctx context.Context, v int) error {
				for _, s := range stats.Stages() {
					// The window may have shrunk, to as little as N, with more in flight.
					if s.InFlight < 0 || s.InFlight > 64*s.N || s.Calls > s.N || s.Window > 64*s.N {
						return fmt.Errorf("impossible: %+v", s)
					}
				}
				k, err := stage.Count(ctx, in)
				deep.Add(int64(k))
				return err
			})
			if err != nil || deep.Load() != 50*50 {
				t.Errorf("%s n=%d: %v, %d", r.name, n, err, deep.Load())
			}
		}
	}
}

// C59: every item is a hand-over between goroutines that would have to leave
// the one processor to each other. A spin that does not would take 10 ms each.
func TestP3C59HandOversOnOneProcessor(t *testing.T) {
	share.Once(t)
	old := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(old)
	const items = 5_000
	for _, op := range cellOps {
		for _, n := range []int{1, 4} {
			began := time.Now()
			in := op.over(stage.FromSlice(upTo(items)), n, func(context.Context, int) error { return nil }, stage.Window(1))
			k, err := stage.Count(t.Context(), in)
			if took := time.Since(began); k != items || err != nil || took > items*5*time.Millisecond/4 {
				t.Errorf("%s n=%d: %d, %v, %v", op.name, n, k, err, took)
			}
		}
	}
}

// Chains of stages of all kinds, each of them cancelled, broken off or let run.
func TestP1LongChainsOfStages(t *testing.T) {
	for _, n := range share.Rows(t, []int{stage.Inline, 1, 2, 4}) {
		in := stage.FromSlice(upTo(500))
		var calls atomic.Int64
		for range 3 {
			for _, op := range engineOps {
				in = op.over(in, n, func(context.Context, int) error { calls.Add(1); return nil })
			}
		}
		k, err := stage.Count(t.Context(), in)
		if want := int64(3 * len(engineOps) * 500); k != 500 || err != nil || calls.Load() != want {
			t.Errorf("n=%d: %d, %v, %d calls of %d", n, k, err, calls.Load(), want)
		}
		if _, found, err := stage.First(t.Context(), in); !found || err != nil {
			t.Errorf("n=%d: First: %v, %v", n, found, err)
		}
	}
}
