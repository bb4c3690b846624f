package keyed_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/keyed"
	"github.com/seed95b73fdc/sluice/stage"
)

// C108: one key, while the window is full at one moment and not at the next: nothing of
// it overtakes what could not be taken, and no two of its items are in calls at once.
func TestNothingOfAKeyOvertakesWhatCouldNotBeTakenC108(t *testing.T) {
	const items = 1000
	for _, r := range share.Rows(t, engines) {
		for _, w := range []int{1, 2, 5} {
			s, next := newSerial(1), 0
			out := r.of(stage.FromSlice(numbers(items)), 3, s.key, func(_ context.Context, v int) (int, error) {
				s.call(t, v)
				return v, nil
			}, stage.Window(w))
			err := stage.ForEach(t.Context(), out, 1, func(_ context.Context, v int) error {
				if v != next {
					t.Errorf("%s, window %d: %d came, want %d", r.name, w, v, next)
				}
				next++
				for range mix(uint64(w), v) % 4 {
					runtime.Gosched() // and all is full meanwhile
				}
				return nil
			})
			if err != nil || next != items {
				t.Errorf("%s, window %d: %d of %d, %v", r.name, w, next, items, err)
			}
		}
	}
}

// C110: who commits what has come out of an OrderedMap commits nothing that is not
// done, however much behind it is. Offsets 10 and 50 are stuck when the run ends; the
// next one begins behind what was committed, and finds both.
func TestWhatLeavesAnOrderedMapIsDoneUpToThereC110(t *testing.T) {
	const items = 100
	for _, n := range []int{4, 16} {
		synctest.Test(t, func(t *testing.T) {
			done := make([]int, items)
			committed := 0 // the next offset to be processed
			revoked := errors.New("partition revoked")
			ctx, revoke := context.WithCancelCause(t.Context())
			run := func(ctx context.Context, stuck func(int) bool) error {
				offsets := make([]int, 0, items)
				for v := committed; v < items; v++ {
					offsets = append(offsets, v)
				}
				out := keyed.OrderedMap(stage.FromSlice(offsets), n, func(v int) int { return v % 40 }, func(ctx context.Context, v int) (int, error) {
					if stuck(v) {
						<-ctx.Done()
						return 0, context.Cause(ctx)
					}
					done[v]++ // items of different keys: no two calls have the same v
					return v, nil
				}, stage.Window(items), keyed.PerKey())
				return stage.ForEach(ctx, out, 1, func(_ context.Context, v int) error {
					if v != committed {
						t.Errorf("n=%d: offset %d came, want %d", n, v, committed)
					}
					committed = v + 1
					return nil
				})
			}
			over := make(chan error)
			go func() { over <- run(ctx, func(v int) bool { return v == 10 || v == 50 }) }()
			synctest.Wait()
			// All but the two and what comes after them for their key, which is the same.
			ahead := 0
			for v := range items {
				if wait := v%40 == 10 && v >= 10; (done[v] == 1) == wait {
					t.Errorf("n=%d: offset %d was done %d times", n, v, done[v])
				}
				if done[v] == 1 && v > 10 {
					ahead++
				}
			}
			if committed != 10 || ahead == 0 {
				t.Errorf("n=%d: committed up to %d, %d done beyond", n, committed, ahead)
			}
			revoke(revoked)
			if err := <-over; err != revoked || committed != 10 {
				t.Errorf("n=%d: %v, committed up to %d", n, err, committed)
			}
			if err := run(t.Context(), func(int) bool { return false }); err != nil || committed != items {
				t.Errorf("n=%d: %v, committed up to %d", n, err, committed)
			}
			for v, k := range done {
				if k == 0 || v < 10 && k != 1 {
					t.Errorf("n=%d: offset %d was done %d times", n, v, k)
				}
			}
		})
	}
}

// C111: a run that begins where the one before was cut off, after 0, 1 or more
// items, begins with the first one that was not done.
func TestARunGoesOnWithTheFirstItemThatWasNotDoneC111(t *testing.T) {
	const items = 50
	for _, before := range []int{0, 1, 7, items} {
		next := 0
		run := func(most int) {
			var offsets []int
			for v := next; v < items; v++ {
				offsets = append(offsets, v)
			}
			out := keyed.OrderedMap(stage.FromSlice(offsets), 3, func(v int) int { return v % 5 }, func(_ context.Context, v int) (int, error) { return v, nil })
			for v, err := range stage.Take(out, most).Seq(t.Context()) {
				if v != next || err != nil {
					t.Fatalf("after %d: %d came, want %d, %v", before, v, next, err)
				}
				next = v + 1
			}
		}
		run(before)
		if next != before {
			t.Errorf("%d were done, want %d", next, before)
		}
		run(items)
		if next != items {
			t.Errorf("after %d: %d were done in all", before, next)
		}
	}
}

// C132: a terminal returns after the last call, not when its input has ended.
func TestNothingRunsAnyMoreWhenATerminalReturnsC132P5(t *testing.T) {
	const items = 10_000 / raceScale
	for _, procs := range []int{1, runtime.NumCPU()} {
		before := runtime.GOMAXPROCS(procs)
		for _, r := range share.Rows(t, engines) {
			if r.perKey || r.pinned {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				var ended atomic.Int64
				out := r.of(stage.FromSlice(numbers(items)), 50, func(v int) int { return v % 500 }, func(_ context.Context, v int) (int, error) {
					time.Sleep(time.Millisecond)
					ended.Add(1)
					return v, nil
				})
				k, err := stage.Count(t.Context(), out)
				if k != items || ended.Load() != items || err != nil {
					t.Errorf("%s, %d processors: %d results, %d calls ended, %v", r.name, procs, k, ended.Load(), err)
				}
			})
		}
		runtime.GOMAXPROCS(before)
	}
}
