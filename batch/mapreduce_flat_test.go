package batch_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/seed95b73fdc/sluice/batch"
	"github.com/seed95b73fdc/sluice/stage"
)

func twice(_ context.Context, v int, emit func(int, int)) error {
	emit(v, 1)
	emit(v, 1)
	return nil
}

// Items have no pair, or some; keys are few, or too many for one table.
func TestFlatMapReduceIsThePlainLoop(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 5))
	rounds := 24
	if raceEnabled {
		rounds = 4
	}
	for round := range rounds {
		keys := 1 + rng.IntN(100)
		if round%2 == 0 {
			keys *= 300
		}
		n, items := rng.IntN(5), make([][]int, rng.IntN(10_000))
		want := map[int]int{}
		for i := range items {
			for range rng.IntN(6) {
				k := rng.IntN(keys)
				items[i] = append(items[i], k)
				want[k] += i
			}
		}
		got, err := batch.FlatMapReduce(context.Background(), stage.FromSlice(upTo(len(items))), n,
			func(_ context.Context, i int, emit func(int, int)) error {
				for _, k := range items[i] {
					emit(k, i)
				}
				return nil
			}, func(a, b int) (int, error) { return a + b, nil })
		if err != nil || got == nil || !maps.Equal(got, want) {
			t.Fatalf("seed %d, round %d: %d items, %d keys, n = %d: %d keys, %v", seed, round, len(items), keys, n, len(got), err)
		}
	}
}

func TestFlatMapReduceEndsWithTheErrorThatItMeetsP8(t *testing.T) {
	in := stage.FromSlice(upTo(1000))
	for _, n := range []int{0, 1, 2, 4} {
		got, err := batch.FlatMapReduce(context.Background(), in, n, func(_ context.Context, v int, emit func(int, int)) error {
			emit(0, 1)
			if v == 500 {
				return errE
			}
			return nil
		}, sum)
		if err != errE || got != nil {
			t.Errorf("mapper, n = %d: %v, %v", n, got, err)
		}
		got, err = batch.FlatMapReduce(context.Background(), stage.Concat(in, stage.Failed[int](errE)), n, twice, sum)
		if err != errE || got != nil {
			t.Errorf("in, n = %d: %v, %v", n, got, err)
		}
		// Behind the error of the reducer nothing that the item emits is reduced.
		calls := 0
		got, err = batch.FlatMapReduce(context.Background(), stage.Of(1), n, func(_ context.Context, v int, emit func(int, int)) error {
			for range 10 {
				emit(v, 1)
			}
			return nil
		}, func(a, b int) (int, error) {
			if calls++; calls == 3 {
				return 0, errE
			}
			return a + b, nil
		})
		if err != errE || got != nil || calls != 3 {
			t.Errorf("reducer, n = %d: %v, %v, %d calls", n, got, err, calls)
		}
	}
}

func TestEmitIsOnlyForACallOfMapper(t *testing.T) {
	for _, n := range []int{1, 2} {
		var kept func(int, int)
		if _, err := batch.FlatMapReduce(context.Background(), stage.Of(1), n, func(_ context.Context, _ int, emit func(int, int)) error {
			kept = emit
			return nil
		}, sum); err != nil {
			t.Error(err)
		}
		const want = "batch.FlatMapReduce: emit is called when mapper has returned"
		if got := wantPanic(t, func() { kept(1, 1) }); got != want {
			t.Errorf("n = %d: got %q, want %q", n, got, want)
		}
	}
}

// Nor is it between two calls, with a key that there is already, while the run goes on.
func TestEmitIsRefusedBetweenCallsOfMapper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept func(int, int)
		var got any
		in := stage.Generate(func(_ context.Context, yield func(int) bool) error {
			yield(1)
			synctest.Wait() // until its mapper has returned
			got = wantPanic(t, func() { kept(1, 1) })
			return nil
		})
		m, err := batch.FlatMapReduce(t.Context(), in, 2, func(_ context.Context, v int, emit func(int, int)) error {
			kept = emit
			emit(v, 1)
			emit(v, 1)
			return nil
		}, sum)
		if err != nil || m[1] != 2 || got != "batch.FlatMapReduce: emit is called when mapper has returned" {
			t.Errorf("%v, %v; %v", m, err, got)
		}
	})
}

func TestBadArgumentsOfFlatMapReducePanicP11(t *testing.T) {
	ctx, in := context.Background(), stage.Of(1)
	var nilSum func(a, b int) int
	for want, f := range map[string]func(){
		"batch.FlatMapReduce: n is -1, want 0 (Inline) to 1048576": func() { batch.FlatMapReduce(ctx, in, -1, twice, sum) },
		"batch.FlatMapReduce: mapper is nil":                       func() { batch.FlatMapReduce[int, int, int](ctx, in, 1, nil, sum) },
		"batch.FlatMapReduce: reducer is nil":                      func() { batch.FlatMapReduce(ctx, in, 1, twice, nilSum) },
		"batch.FlatMapReduce: the context is nil":                  func() { batch.FlatMapReduce(noContext, in, 1, twice, sum) },
	} {
		if got := wantPanic(t, f); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A reducer that lasts, of a table with many keys that the workers have in common, keeps
// no other worker from anything: all items are mapped meanwhile.
func TestAReducerThatLastsHoldsNobodyUpP3(t *testing.T) {
	const keys, items = 10_000, 60_000
	for _, n := range []int{2, 3} {
		synctest.Test(t, func(t *testing.T) {
			let, over := make(chan struct{}), make(chan error)
			var mapped, stuck atomic.Int64
			var got map[int]int
			go func() {
				var err error
				got, err = batch.MapReduce(t.Context(), stage.FromSlice(upTo(items)), n, func(_ context.Context, v int) (int, int, error) {
					mapped.Add(1)
					return v % keys, 1, nil
				}, func(a, b int) int {
					if mapped.Load() > 30_000 && stuck.CompareAndSwap(0, 1) {
						<-let
					}
					return a + b
				})
				over <- err
			}()
			synctest.Wait()
			if stuck.Load() == 0 || mapped.Load() != items {
				t.Errorf("n = %d: %d of %d items are mapped while a reducer lasts: %d", n, mapped.Load(), items, stuck.Load())
			}
			close(let)
			if err := <-over; err != nil || len(got) != keys {
				t.Errorf("n = %d: %d keys, %v", n, len(got), err)
			}
			for k, c := range got {
				if c != items/keys {
					t.Fatalf("n = %d: key %d: %d", n, k, c)
				}
			}
		})
	}
}

// A panic of the reducer, or a Goexit, which comes while a table in common is filled.
func TestAPanicOfAReducerOfManyKeysP9(t *testing.T) {
	const keys, items = 10_000, 60_000
	for _, exits := range []bool{false, true} {
		var calls atomic.Int64
		run := func() error {
			_, err := batch.MapReduce(context.Background(), stage.FromSlice(upTo(items)), 3,
				func(_ context.Context, v int) (int, int, error) { return v % keys, 1, nil },
				func(a, b int) int {
					if calls.Add(1) == 20_000 {
						if exits {
							runtime.Goexit()
						}
						panic(errE)
					}
					return a + b
				})
			return err
		}
		if exits {
			if err := run(); !errors.Is(err, stage.ErrGoexit) {
				t.Errorf("got %v", err)
			}
			continue
		}
		v := wantPanic(t, func() { run() })
		if p, ok := v.(*stage.Panic); !ok || !errors.Is(p, errE) || p.Running != 0 {
			t.Errorf("got %v", v)
		}
	}
}

// Keys that are not equal to themselves are as many keys as there are of them, also where
// they are too many for a map.
func TestMapReduceKeepsManyKeysThatEqualNothing(t *testing.T) {
	const items = 20_000
	for _, n := range []int{1, 2, 3} {
		got, err := batch.MapReduce(context.Background(), stage.FromSlice(upTo(items)), n, func(_ context.Context, v int) (float64, int, error) {
			if v%2 == 0 {
				return math.NaN(), 1, nil
			}
			return float64(v % 3), 1, nil
		}, sum)
		if err != nil || len(got) != items/2+3 || got[0]+got[1]+got[2] != items/2 {
			t.Errorf("n = %d: %d keys, %d others, %v", n, len(got), got[0]+got[1]+got[2], err)
		}
	}
}

// The context ends in a call of a reducer, in the midst of a burst: of the workers, only
// one that has just seen that it has not ended may still call.
func TestNoReducerIsCalledWhenTheContextHasEndedP6(t *testing.T) {
	const keys, items = 10_000, 60_000
	for round := range 10 {
		ctx, cancel := context.WithCancel(context.Background())
		var calls, then atomic.Int64
		_, err := batch.MapReduce(ctx, stage.FromSlice(upTo(items)), 2,
			func(_ context.Context, v int) (int, int, error) { return v % keys, 1, nil },
			func(a, b int) int {
				if calls.Add(1) == int64(20_000+100*round) {
					cancel()
					then.Store(calls.Load())
				}
				return a + b
			})
		if err != context.Canceled {
			t.Errorf("got %v", err)
		}
		if late := calls.Load() - then.Load(); late > 1 {
			t.Errorf("%d calls begin later", late)
		}
		cancel()
	}
}

// An error in the midst of values is met wherever it stands, also when the items around it
// go to other workers.
func TestMapReduceMeetsEachErrorOfItsSource(t *testing.T) {
	const cheap, items = 1000, 1200
	for _, n := range []int{1, 2, 4} {
		for at := 0; at < items; at++ {
			if at < cheap || raceEnabled {
				at += 9
			}
			synctest.Test(t, func(t *testing.T) {
				all := make([]stage.Try[int], items)
				for v := range all {
					all[v].Value = v
				}
				all[at] = stage.Try[int]{Error: errE}
				got, err := batch.MapReduce(t.Context(), tries(all), n, func(ctx context.Context, v int) (int, int, error) {
					if v > cheap {
						sleep(ctx, ms)
					}
					return v, 1, nil
				}, sum)
				if err != errE || got != nil {
					t.Errorf("n = %d, error at %d: %d keys, %v", n, at, len(got), err)
				}
			})
		}
	}
}
