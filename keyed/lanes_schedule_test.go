package keyed_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/keyed"
	"github.com/seed95b73fdc/sluice/stage"
)

// A burst comes, and then nothing: the worker that has taken it asks for more, and is
// held up in upstream, while the others work off its lanes, all at once.
func TestASlowSourceKeepsNoLaneFromRunningP3(t *testing.T) {
	for _, r := range share.Rows(t, engines) {
		if !r.perKey {
			continue
		}
		for _, n := range []int{1, 2, 4} {
			for _, cheap := range []int{0, 1000} {
				synctest.Test(t, func(t *testing.T) {
					in := make(chan int)
					burst := stage.Concat(stage.FromSlice(numbers(cheap+n)), stage.FromChan(in))
					g := newGate()
					over := make(chan error)
					go func() {
						over <- stage.Discard(t.Context(), r.of(burst, n, identity, func(ctx context.Context, v int) (int, error) {
							g.enter()
							if v < cheap {
								g.running.Add(-1)
								return v, nil
							}
							return v, g.wait(ctx)
						}))
					}()
					synctest.Wait()
					if got := g.running.Load(); int(got) != n {
						t.Errorf("%s n=%d, after %d cheap calls: %d calls run while upstream has nothing, want %d", r.name, n, cheap, got, n)
					}
					close(g.open)
					close(in)
					if err := <-over; err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// The reader waits for results when the input ends, without one.
func TestTheEndOfTheInputWakesTheReader(t *testing.T) {
	for _, r := range share.Rows(t, engines) {
		synctest.Test(t, func(t *testing.T) {
			in := make(chan int)
			over := make(chan error)
			go func() {
				over <- stage.Discard(t.Context(), r.of(stage.FromChan(in), 2, identity, func(_ context.Context, v int) (int, error) { return v, nil }))
			}()
			in <- 1
			synctest.Wait()
			close(in)
			if err := <-over; err != nil {
				t.Error(err)
			}
		})
	}
}

// Many more keys than lanes are kept, each coming back again and again.
func TestPerKeyLanesComeAndGoInOrderP2(t *testing.T) {
	const keys, items, rounds = 5000, 200_000 / raceScale, 3
	for range rounds {
		for _, r := range share.Rows(t, engines) {
			if !r.perKey || r.ordered {
				continue
			}
			s := newSerial(keys)
			key := func(v int) int { return v % keys }
			out := r.of(stage.FromSlice(numbers(items)), 4, key, func(_ context.Context, v int) (int, error) {
				s.call(t, v)
				return v, nil
			}, stage.Window(3000))
			seen := make([]int, keys)
			err := stage.ForEach(context.Background(), out, 1, func(_ context.Context, v int) error {
				if seen[v%keys] != v/keys {
					return fmt.Errorf("%s: result %d of key %d came as number %d", r.name, v, v%keys, seen[v%keys])
				}
				seen[v%keys]++
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
}

// C107: what tells two sources apart belongs into the key.
func TestKeysOfTwoSourcesStayApartC107(t *testing.T) {
	type event struct{ source, key, seq int }
	type place struct{ source, key int }
	source := func(s int) stage.Stream[event] {
		return stage.Map(stage.FromSlice(numbers(3000)), stage.Inline, func(_ context.Context, v int) (event, error) {
			return event{s, v % 10, v / 10}, nil
		})
	}
	last, err := keyed.Reduce(context.Background(), stage.Merge(source(0), source(1)), 3,
		func(e event) place { return place{e.source, e.key} }, func() int { return 0 },
		func(_ context.Context, next *int, e event) error {
			if e.seq != *next {
				return fmt.Errorf("%+v came when %d was next", e, *next)
			}
			*next++
			return nil
		})
	if err != nil || len(last) != 20 {
		t.Fatalf("%d places, %v", len(last), err)
	}
	for p, next := range last {
		if next != 300 {
			t.Errorf("%+v is at %d", p, next)
		}
	}
}

// C44: cancelling, and asking for Stats, from within f, key, and OnEvict.
func TestFunctionsMayCancelTheirRunC44(t *testing.T) {
	for _, where := range []string{"f", "key", "evict"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			ctx, stats := stage.WithStats(ctx)
			load := keyed.NewLoad[int]()
			stop := func(here string) {
				stats.Stages()
				load.Stats()
				if here == where {
					cancel()
				}
			}
			out := keyed.Process(stage.FromSlice(numbers(1000)), 3, func(v int) int { stop("key"); return v },
				func() int { return 0 }, func(_ context.Context, _ *int, v int) (int, error) { stop("f"); return v, nil },
				keyed.MaxKeys(10), keyed.OnEvict(func(int, *int) { stop("evict") }), keyed.Measure(load))
			if err := stage.Discard(ctx, out); err != context.Canceled {
				t.Errorf("%s: %v", where, err)
			}
		})
	}
}

// A Stream of lanes may run many times, and at once.
func TestAStreamRunsManyTimesAtOnce(t *testing.T) {
	for _, r := range share.Rows(t, engines) {
		var calls atomic.Int64
		out := r.of(stage.FromSlice(numbers(500)), 2, identity, func(_ context.Context, v int) (int, error) { calls.Add(1); return v, nil })
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if k, err := stage.Count(context.Background(), out); k != 500 || err != nil {
					t.Errorf("%s: %d, %v", r.name, k, err)
				}
			})
		}
		wg.Wait()
		if calls.Load() != 2000 {
			t.Errorf("%s: %d calls", r.name, calls.Load())
		}
	}
}

func TestBadArgumentsPanicAtOnceP11(t *testing.T) {
	in := stage.Of(1)
	f := func(_ context.Context, v int) (int, error) { return v, nil }
	g := func(_ context.Context, _ *int, v int) (int, error) { return v, nil }
	zero := func() int { return 0 }
	o := newCounters(1)
	for want, call := range map[string]func(){
		"keyed.Map: n is -1":                   func() { keyed.Map(in, -1, identity, f) },
		"keyed.Map: key is nil":                func() { keyed.Map[int, int](in, 1, nil, f) },
		"keyed.Map: f is nil":                  func() { keyed.Map[int, int, int](in, 1, identity, nil) },
		"keyed.Map: option 1 is nil":           func() { keyed.Map(in, 1, identity, f, keyed.PerKey(), nil) },
		"keyed.Map: Pinned and PerKey":         func() { keyed.Map(in, 1, identity, f, keyed.PerKey(), keyed.Pinned()) },
		"keyed.Map: MaxKeys":                   func() { keyed.Map(in, 1, identity, f, keyed.MaxKeys(3)) },
		"keyed.Map: Measure has a *keyed.Load": func() { keyed.Map(in, 1, identity, f, keyed.Measure(keyed.NewLoad[string]())) },
		"keyed.OrderedMap: n is -2":            func() { keyed.OrderedMap(in, -2, identity, f) },
		"keyed.Process: newState is nil":       func() { keyed.Process(in, 1, identity, (func() int)(nil), g) },
		"keyed.Process: f is nil": func() {
			keyed.Process[int, int, int, int](in, 1, identity, zero, nil)
		},
		"keyed.Process: OnEvict has a func(int, *string)": func() {
			keyed.Process(in, 1, identity, zero, g, keyed.OnEvict(func(int, *string) {}))
		},
		"keyed.MaxKeys: k is 0":             func() { keyed.MaxKeys(0) },
		"keyed.IdleAfter: d is 0s":          func() { keyed.IdleAfter(0) },
		"keyed.OnEvict: f is nil":           func() { keyed.OnEvict[int, int](nil) },
		"keyed.Measure: load is nil":        func() { keyed.Measure[int](nil) },
		"keyed.NewOwners: n is 0":           func() { newCounters(0) },
		"keyed.NewOwners: newState is nil":  func() { keyed.NewOwners[int, int](1, (func(int) int)(nil)) },
		"keyed.Owners.Do: f is nil":         func() { o.Do(background, 1, nil) },
		"keyed.Owners.Post: f is nil":       func() { o.Post(background, 1, nil) },
		"keyed.Owners.Atomically: f is nil": func() { o.Atomically(background, nil, nil) },
		"keyed.Owners.Resize: n is 0":       func() { o.Resize(background, 0) },
		"keyed.Reduce: f is nil":            func() { keyed.Reduce[int, int, int](background, in, 1, identity, zero, nil) },
		"keyed.Reduce: MaxKeys, IdleAfter and": func() {
			keyed.Reduce(background, in, 1, identity, zero, func(context.Context, *int, int) error { return nil }, keyed.MaxKeys(1))
		},
	} {
		mustPanic(t, want, call)
	}
	closeNow(t, o)
}
