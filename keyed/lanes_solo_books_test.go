package keyed_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/keyed"
	"github.com/seed95b73fdc/sluice/stage"
)

// One worker, and so nobody who watches it. A call among cheap ones does not return: the
// results of all calls before it come nevertheless.
func TestACallThatGetsStuckHoldsUpNoResultBeforeItAlsoWithOneWorker(t *testing.T) {
	for _, r := range share.Rows(t, engines) {
		if r.pinned {
			continue
		}
		for stuck := 2000; stuck < 2130; stuck += 7 + raceScale {
			synctest.Test(t, func(t *testing.T) {
				open := make(chan struct{})
				var taken atomic.Int64
				over := make(chan error)
				go func() {
					out := r.of(stage.FromSlice(numbers(2300)), 1, identity, func(_ context.Context, v int) (int, error) {
						if v == stuck {
							<-open
						}
						return v, nil
					})
					over <- stage.ForEach(t.Context(), out, 1, func(context.Context, int) error {
						taken.Add(1)
						return nil
					})
				}()
				synctest.Wait()
				if int(taken.Load()) != stuck {
					t.Errorf("%s: item %d is stuck, %d results have come", r.name, stuck, taken.Load())
				}
				close(open)
				if err := <-over; err != nil || taken.Load() != 2300 {
					t.Errorf("%s: %d results, %v", r.name, taken.Load(), err)
				}
			})
		}
	}
}

// Cheap calls are measured, and every now and then a soloist is taken over: both without
// memory of their own.
func TestWhatASoloistMeasuresAndIsTakenOverAllocatesNothingPerItemP10(t *testing.T) {
	if raceScale > 1 {
		t.Skip("the race detector allocates")
	}
	const items = 300_000
	in := numbers(items)
	load := keyed.NewLoad[int]()
	out := keyed.Map(stage.FromSlice(in), 2, func(v int) int { return v % 50 }, func(_ context.Context, v int) (int, error) {
		if v%500 == 0 {
			for range 100 {
				runtime.Gosched()
			}
		}
		return v, nil
	}, keyed.Measure(load))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if n, err := stage.Count(t.Context(), out); n != items || err != nil {
		t.Fatal(n, err)
	}
	runtime.ReadMemStats(&after)
	if k := after.Mallocs - before.Mallocs; k > items/300 {
		t.Errorf("%d allocations for %d items", k, items)
	}
	if load.Stats().Steals == 0 {
		t.Error("no soloist was taken over")
	}
}

// A run is cut short at any place, by a cancellation, a Take, or a panic that is not
// recovered: no item is run twice, and the lanes have counted the calls that returned.
func TestALoadCountsTheCallsOfARunThatIsCutShort(t *testing.T) {
	const items = 4000
	for seed := uint64(1); seed <= 60/raceScale+10; seed++ {
		rng := rand.New(rand.NewPCG(seed, 9))
		n, keys := 1+rng.IntN(5), 1+rng.IntN(30)
		cut, how, stall := 1000+rng.IntN(2900), rng.IntN(3), 20+rng.IntN(200)
		what := fmt.Sprintf("seed=%d n=%d keys=%d cut=%d how=%d", seed, n, keys, cut, how)
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			load := keyed.NewLoad[string]()
			var called [items]atomic.Bool
			var done atomic.Uint64
			out := keyed.Map(stage.FromSlice(numbers(items)), n, func(v int) string { return strconv.Itoa(v % keys) }, func(ctx context.Context, v int) (int, error) {
				if called[v].Swap(true) {
					t.Errorf("%s: %d is called twice", what, v)
				}
				switch {
				case v == cut && how == 0:
					cancel()
				case v == cut && how == 1:
					panic("cut")
				case v%stall == 0:
					time.Sleep(time.Millisecond)
				}
				done.Add(1)
				return v, nil
			}, keyed.Measure(load))
			if how == 2 {
				out = stage.Take(out, cut)
			}
			results := make(rising, keys)
			func() {
				defer func() {
					if p := recover(); (p != nil) != (how == 1) {
						t.Errorf("%s: raised %v", what, p)
					}
				}()
				stage.ForEach(ctx, out, 1, func(_ context.Context, v int) error {
					results.see(t, what, v)
					return nil
				})
			}()
			if counted := callsOf(load); counted != done.Load() {
				t.Errorf("%s: %d calls are counted, %d returned", what, counted, done.Load())
			}
		})
	}
}

// That a state is parted with is no item.
func TestALoadCountsNoFarewells(t *testing.T) {
	const items, keys = 2000, 50
	load := keyed.NewLoad[int]()
	out := keyed.Process(stage.FromSlice(numbers(items)), 2, func(v int) int { return v % keys }, func() int { return 0 }, func(_ context.Context, s *int, v int) (int, error) {
		*s++
		return v, nil
	}, keyed.Measure(load), keyed.MaxKeys(10))
	if n, err := stage.Count(t.Context(), out); n != items || err != nil {
		t.Fatal(n, err)
	}
	if done := callsOf(load); done != items {
		t.Errorf("%d items are counted, want %d", done, items)
	}
}

// callsOf is how many calls a Load has counted, on all lanes.
func callsOf[K comparable](load *keyed.Load[K]) (done uint64) {
	for _, l := range load.Stats().Lanes {
		done += l.Done
	}
	return done
}
