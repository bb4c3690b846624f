package batch_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/seed95b73fdc/sluice/batch"
	"github.com/seed95b73fdc/sluice/stage"
)

// bursts is a source that has items only up to each of the numbers, and waits then
// until more is called. It tells waiting whenever it waits.
func bursts(upTo []int, more <-chan struct{}, waiting func()) stage.Stream[int] {
	return stage.New(func(s *stage.Scope) stage.Reader[int] {
		return &burstReader{scope: s, ends: upTo, more: more, waiting: waiting}
	})
}

type burstReader struct {
	scope   *stage.Scope
	ends    []int
	at      int
	more    <-chan struct{}
	waiting func()
}

func (r *burstReader) Next(dst []stage.Try[int]) int {
	for len(r.ends) > 0 && r.at == r.ends[0] {
		r.waiting()
		select {
		case <-r.more:
		case <-r.scope.Context().Done():
			return 0
		}
		r.ends = r.ends[1:]
	}
	if len(r.ends) == 0 {
		return 0
	}
	k := min(len(dst), r.ends[0]-r.at)
	for i := range dst[:k] {
		dst[i] = stage.Try[int]{Value: r.at}
		r.at++
	}
	return k
}

func (r *burstReader) Close() {}

// One worker waits for upstream while the others are held up in calls: somebody
// begins one more of the items that they hold, so that n calls run. Then upstream
// comes back with more: n calls it stays.
func TestMapReduceRunsNCallsWhileUpstreamWaitsAndNoMoreWhenItIsBackP3(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for k, n := range []int{2, 3, 4, 8, 2, 3, 4, 8} {
			parked := k >= 4              // the others, when the burst comes, or they are still looking
			const cheap, burst = 4000, 64 // so many cheap ones that workers hold many items
			more, release := make(chan struct{}), make(chan struct{})
			var running atomic.Int32
			var waits atomic.Int32
			source := bursts([]int{cheap, cheap + burst, cheap + 2*burst}, more, func() {
				switch waits.Add(1) {
				case 2:
					return // the goroutine of the first time goes on
				case 3:
					go func() { more <- struct{}{} }() // at the end
					return
				}
				go func() {
					if parked {
						synctest.Wait()
					}
					more <- struct{}{}
					synctest.Wait()
					before := running.Load()
					if waits.Load() == 1 { // n calls run already, and nobody has to pull
						close(release)
						more <- struct{}{}
					} else {
						more <- struct{}{}
						synctest.Wait()
						if after := running.Load(); int(after) != n {
							t.Errorf("n = %d: %d calls when upstream is back", n, after)
						}
						close(release)
					}
					if int(before) != n {
						t.Errorf("n = %d: %d calls while upstream waits", n, before)
					}
				}()
			})
			got, err := batch.MapReduce(context.Background(), source, n,
				func(_ context.Context, v int) (int, int, error) {
					running.Add(1)
					defer running.Add(-1)
					if v >= cheap {
						<-release
					}
					return v % 3, 1, nil
				}, sum)
			if err != nil || got[0]+got[1]+got[2] != cheap+2*burst {
				t.Fatalf("n = %d: %v, %v", n, got, err)
			}
		}
	})
}

// Nobody may unlock what it does not hold when the source panics.
func TestMapReduceRaisesAPanicOfItsSourceP9(t *testing.T) {
	for _, n := range []int{1, 2, 4} {
		for _, at := range []int{0, 1, 500} {
			torn := stage.Tap(stage.FromSlice(upTo(1000)), func(v int) {
				if v == at {
					panic(errE)
				}
			})
			v := wantPanic(t, func() { batch.MapReduce(context.Background(), torn, n, one, sum) })
			if p, ok := v.(*stage.Panic); !ok || !errors.Is(p, errE) || p.Running != 0 {
				t.Errorf("n = %d: %v", n, v)
			}
		}
	}
}

// Tables in parts and whole ones, of few and of many workers, meet.
func TestMapReduceIsThePlainLoop(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 4))
	rounds := 12
	if raceEnabled {
		rounds = 2
	}
	for round := range rounds {
		items, keys, n := rng.IntN(40_000), 1+rng.IntN(20_000), 1+rng.IntN(5)
		values := make([]int, items)
		want := map[string]int{}
		for i := range values {
			values[i] = rng.IntN(keys)
			want[fmt.Sprint(values[i])] += i
		}
		got, err := batch.MapReduce(context.Background(), stage.FromSlice(upTo(items)), n,
			func(_ context.Context, i int) (string, int, error) { return fmt.Sprint(values[i]), i, nil },
			func(a, b int) (int, error) { return a + b, nil })
		if err != nil || !maps.Equal(got, want) {
			t.Fatalf("seed %d, round %d: %d items, %d keys, n = %d: %d keys, %v", seed, round, items, keys, n, len(got), err)
		}
	}
}

// Keys are those of a map: what is not equal to itself is a key of its own each
// time, and the two zeros are one.
func TestMapReduceHasTheKeysOfAMap(t *testing.T) {
	for _, n := range []int{1, 2} {
		zeros := []float64{0, math.Copysign(0, -1), math.NaN(), 1}
		got, err := batch.MapReduce(context.Background(), stage.FromSlice(upTo(4000)), n,
			func(_ context.Context, v int) (float64, int, error) { return zeros[v%4], 1, nil }, sum)
		if err != nil || got[0] != 2000 || got[1] != 1000 || len(got) != 1002 {
			t.Errorf("n = %d: %d keys, %d, %d, %v", n, len(got), got[0], got[1], err)
		}
		v := wantPanic(t, func() {
			batch.MapReduce(context.Background(), stage.Of(1), n,
				func(context.Context, int) (any, int, error) { return []int{1}, 1, nil }, sum)
		})
		if p, ok := v.(*stage.Panic); !ok || p.Stage == "" {
			t.Errorf("n = %d: %v", n, v)
		}
	}
}

// The last call of the reducer, which fails or ends the context, is one that merges
// tables in parts, as a rule.
func TestMapReduceEndsWhileItMergesP6P8(t *testing.T) {
	const keys, times = 20_000, 4
	why := errors.New("why")
	values := make([]int, keys*times)
	for i := range values {
		values[i] = i % keys
	}
	for _, fails := range []bool{true, false} {
		ctx, cancel := context.WithCancelCause(context.Background())
		var calls atomic.Int32
		got, err := batch.MapReduce(ctx, stage.FromSlice(values), 2, one, func(a, b int) (int, error) {
			if calls.Add(1) < keys*(times-1) {
				return a + b, nil
			}
			if fails {
				return 0, errE
			}
			cancel(why)
			return a + b, nil
		})
		switch {
		case fails && (err != errE || got != nil):
			t.Errorf("got %d keys, %v", len(got), err)
		case !fails && (err != why || got != nil) && (err != nil || len(got) != keys):
			t.Errorf("got %d keys, %v", len(got), err)
		case calls.Load() != keys*(times-1):
			t.Errorf("%d calls", calls.Load())
		}
		cancel(nil)
	}
}
