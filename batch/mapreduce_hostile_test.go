package batch_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/batch"
	"github.com/seed95b73fdc/sluice/stage"
)

// The error of the reducer came first: what mapper returns afterwards does not hide it.
func TestAnErrorOfEmitIsNotMaskedP8(t *testing.T) {
	for _, n := range []int{1, 2} {
		ctx, cancel := context.WithCancel(context.Background())
		for name, after := range map[string]func(context.Context) error{
			"another error": func(context.Context) error { return errors.New("later") },
			"its context":   func(ctx context.Context) error { cancel(); <-ctx.Done(); return ctx.Err() },
		} {
			_, err := batch.FlatMapReduce(ctx, stage.Of(1), n, func(ctx context.Context, v int, emit func(int, int)) error {
				emit(v, 1)
				emit(v, 1)
				return after(ctx)
			}, func(int, int) (int, error) { return 0, errE })
			if err != errE && ctx.Err() == nil || err != errE && name == "another error" {
				t.Errorf("n = %d, %s: %v", n, name, err)
			}
			ctx, cancel = context.WithCancel(context.Background())
		}
		cancel()
	}
}

// An error of the reducer ends the run while mapper goes on: its context is done.
func TestAnErrorOfEmitCancelsItsMapperP7(t *testing.T) {
	for _, n := range []int{0, 1, 2} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			_, err := batch.FlatMapReduce(context.Background(), stage.Of(1), n, func(ctx context.Context, v int, emit func(int, int)) error {
				emit(v, 1)
				emit(v, 1)
				sleep(ctx, time.Hour)
				return nil
			}, func(int, int) (int, error) { return 0, errE })
			if d := time.Since(start); err != errE || d > 0 {
				t.Errorf("n = %d: %v after %v", n, err, d)
			}
		})
	}
}

// A mapper ends the context and goes on, with few keys and with many.
func TestNothingIsReducedThatIsEmittedWhenTheContextHasEndedP6(t *testing.T) {
	for _, keys := range []int{1, 10_000} {
		for _, n := range []int{0, 1, 2} {
			ctx, cancel := context.WithCancel(context.Background())
			late := 0
			reducer := func(a, b int) int {
				if ctx.Err() != nil {
					late++
				}
				return a + b
			}
			_, err := batch.FlatMapReduce(ctx, stage.Of(1), n, func(_ context.Context, _ int, emit func(int, int)) error {
				for i := range 50_000 {
					if i == 25_000 {
						cancel()
					}
					emit(i%keys, 1)
				}
				return nil
			}, reducer)
			if err != context.Canceled || late > 0 {
				t.Errorf("FlatMapReduce, %d keys, n = %d: %v, %d calls", keys, n, err, late)
			}
			ctx, cancel = context.WithCancel(context.Background())
			got, err := batch.MapReduce(ctx, stage.Of(0, 1), n, func(_ context.Context, v int) (int, int, error) {
				if v == 1 {
					cancel()
				}
				return 0, 1, nil
			}, reducer)
			if err != context.Canceled || got != nil || late > 0 {
				t.Errorf("MapReduce, n = %d: %v, %v, %d calls", n, got, err, late)
			}
			cancel()
		}
	}
}

// What the panic was to end goes on. Pairs are lost, and the run says so.
func TestAMapperThatRecoversAPanicOfEmitEndsTheRun(t *testing.T) {
	const items, keys = 60_000, 10_000
	for _, n := range []int{1, 2} {
		var calls atomic.Int64
		got, err := batch.FlatMapReduce(context.Background(), stage.FromSlice(upTo(items)), n, func(_ context.Context, v int, emit func(int, int)) error {
			defer func() { recover() }()
			emit(v%keys, 1)
			return nil
		}, func(a, b int) int {
			if calls.Add(1) == 20_000 {
				panic("one pair is bad")
			}
			return a + b
		})
		const want = "batch.FlatMapReduce: mapper has recovered a panic of emit, whose pairs are lost"
		if err == nil || err.Error() != want || got != nil {
			t.Errorf("n = %d: %d keys, %v", n, len(got), err)
		}
	}
}

// Mapper and reducer together are called n times at once at most, also when what waited in
// bursts is reduced.
func TestNCallsOfMapperAndReducerAtOnceP3(t *testing.T) {
	const keys = 10_000
	items := 60_000
	if raceEnabled {
		items = 25_000
	}
	for _, n := range []int{2, 3} {
		for range 2 {
			var running, most atomic.Int64
			call := func() {
				r := running.Add(1)
				for m := most.Load(); r > m && !most.CompareAndSwap(m, r); m = most.Load() {
				}
				runtime.Gosched()
				running.Add(-1)
			}
			source := stage.Generate(func(_ context.Context, yield func(int) bool) error {
				for i := range items {
					if i%1000 == 0 {
						runtime.Gosched()
					}
					if !yield(i) {
						return nil
					}
				}
				return nil
			})
			_, err := batch.MapReduce(context.Background(), source, n, func(_ context.Context, v int) (int, int, error) {
				call()
				return v % keys, 1, nil
			}, func(a, b int) int {
				call()
				return a + b
			})
			if err != nil || int(most.Load()) > n {
				t.Errorf("n = %d: %d at once, %v", n, most.Load(), err)
			}
		}
	}
}

// Reducers that last run n at once, as far as their keys let them, and not one worker's all
// in one item or at the end.
func TestReducersThatLastAreSharedOutP3(t *testing.T) {
	const lasts = 10 * time.Millisecond
	for _, tt := range []struct{ n, keys, items int }{
		{32, 5000, 12_000}, // in tables of few keys and in bursts
		{8, 200, 4000},     // in tables of few keys
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var calls atomic.Int64
			_, err := batch.MapReduce(t.Context(), stage.FromSlice(upTo(tt.items)), tt.n,
				func(_ context.Context, v int) (int, int, error) { return v % tt.keys, 1, nil },
				func(a, b int) int {
					calls.Add(1)
					time.Sleep(lasts)
					return a + b
				})
			ideal := time.Duration(calls.Load()) * lasts / time.Duration(tt.n)
			if d := time.Since(start); err != nil || d > 2*ideal {
				t.Errorf("%v: %d calls took %v, of which n at once would take %v: %v", tt, calls.Load(), d, ideal, err)
			}
		})
	}
}

// Many workers that have a key each cost what they cost, and no table in parts for each.
func TestManyWorkersWithFewKeysEachTakeLittleMemory(t *testing.T) {
	const n = 5000
	var arrived atomic.Int64
	let := make(chan struct{})
	mallocs, bytes := allocated(func() {
		got, err := batch.MapReduce(context.Background(), stage.FromSlice(upTo(n)), n, func(context.Context, int) (int, [512]byte, error) {
			if arrived.Add(1) == n {
				close(let)
			}
			<-let
			return 1, [512]byte{}, nil
		}, func(a, _ [512]byte) [512]byte { return a })
		if err != nil || len(got) != 1 {
			t.Errorf("%d keys, %v", len(got), err)
		}
	})
	if mallocs > 60*n || bytes > 16<<10*n {
		t.Errorf("%d allocations and %d bytes for each worker", mallocs/n, bytes/n)
	}
}

// While a source is quiet nothing is kept alive that has been reduced.
func TestMapReduceKeepsNoReducedValueAlive(t *testing.T) {
	const items, keys = 60_000, 5000
	var live, reduced atomic.Int64
	reach, let, over := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		_, err := batch.MapReduce(context.Background(), bursts([]int{items}, let, func() { close(reach) }), 2, func(_ context.Context, v int) (int, *[64]byte, error) {
			p := new([64]byte)
			live.Add(1)
			runtime.AddCleanup(p, func(int) { live.Add(-1) }, 0)
			return v % keys, p, nil
		}, func(a, _ *[64]byte) *[64]byte {
			reduced.Add(1)
			return a
		})
		over <- err
	}()
	<-reach
	vain := func() int64 { return live.Load() - (items - reduced.Load()) }
	// Of each worker, what it has had in its hands may be there. Cleanups run beside.
	for patience := time.Now().Add(10 * time.Second); vain() > 2 && time.Now().Before(patience); {
		runtime.GC()
	}
	if v := vain(); v > 2 {
		t.Errorf("%d values are kept in vain", v)
	}
	close(let)
	if err := <-over; err != nil {
		t.Error(err)
	}
}

// A mapper panics, and emit is called after the run.
func TestEmitPanicsAfterAMapperThatPanicked(t *testing.T) {
	for _, n := range []int{1, 2} {
		var kept func(int, int)
		wantPanic(t, func() {
			batch.FlatMapReduce(context.Background(), stage.Of(1), n, func(_ context.Context, _ int, emit func(int, int)) error {
				kept = emit
				panic(errE)
			}, sum)
		})
		const want = "batch.FlatMapReduce: emit is called when mapper has returned"
		if got := wantPanic(t, func() { kept(1, 1) }); got != want {
			t.Errorf("n = %d: got %q, want %q", n, got, want)
		}
	}
}
