package batch_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed95b73fdc/sluice/batch"
	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/stage"
)

func one(_ context.Context, v int) (int, int, error) { return v, 1, nil }

func sum(a, b int) int { return a + b }

func TestMapReduceCountsEveryItemOnce(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 8} {
		for _, items := range []int{0, 1, 2, 100, 10_000} {
			for _, keys := range []int{1, 7, 5000} {
				mod := func(_ context.Context, v int) (int, int, error) { return v % keys, 1, nil }
				want := map[int]int{}
				for v := range items {
					want[v%keys]++
				}
				got, err := batch.MapReduce(context.Background(), stage.FromSlice(upTo(items)), n, mod, sum)
				if err != nil || got == nil || !maps.Equal(got, want) {
					t.Errorf("n = %d, %d items, %d keys: %v", n, items, keys, err)
				}
			}
		}
	}
}

func TestMapReduceOverAParallelStageAndItsBatches(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 2))
	most := 20_000
	if raceEnabled {
		most = 4_000
	}
	for range 20 {
		items, keys := rng.IntN(most), 1+rng.IntN(100)
		words := stage.Map(stage.FromSlice(upTo(items)), 3, func(_ context.Context, v int) (string, error) {
			return fmt.Sprint(v % keys), nil
		})
		n := 1 + rng.IntN(5)
		again := batch.Flatten(batch.Chunk(words, 1+rng.IntN(50), batch.Within(time.Hour)))
		got, err := batch.MapReduce(context.Background(), again, n,
			func(_ context.Context, w string) (string, int, error) { return w, 1, nil },
			func(a, b int) (int, error) { return a + b, nil })
		total := 0
		for _, c := range got {
			total += c
		}
		if err != nil || total != items || len(got) != min(items, keys) {
			t.Fatalf("seed %d: %d of %d, %d keys of %d, %v", seed, total, items, len(got), keys, err)
		}
	}
}

func TestMapReduceTakesReducersOfAllForms(t *testing.T) {
	in := stage.Of(1, 1, 2)
	type named func(a, b int) int
	a, _ := batch.MapReduce(context.Background(), in, 2, one, sum)
	b, _ := batch.MapReduce(context.Background(), in, 2, one, named(sum))
	c, _ := batch.MapReduce(context.Background(), in, 2, one, func(a, b int) (int, error) { return a + b, nil })
	d, _ := batch.MapReduce(context.Background(), in, 2, one, func(_ context.Context, a, b int) (int, error) { return a + b, nil })
	for _, m := range []map[int]int{a, b, c, d} {
		if !maps.Equal(m, map[int]int{1: 2, 2: 1}) {
			t.Errorf("got %v", m)
		}
	}
}

// Cheap calls come first, then all workers are needed at once.
func TestMapReduceRunsNCallsAtOnceP3(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, n := range []int{2, 3, 4} {
			for first := 0; first+n <= 1500; first += 311 {
				together := make(chan struct{})
				var arrived, running, most atomic.Int32
				_, err := batch.MapReduce(context.Background(), stage.FromSlice(upTo(1500)), n,
					func(_ context.Context, v int) (int, int, error) {
						most.Store(max(most.Load(), running.Add(1)))
						defer running.Add(-1)
						if v >= first && v < first+n {
							if int(arrived.Add(1)) == n {
								close(together)
							}
							<-together
						}
						return 0, 1, nil
					}, sum)
				if err != nil || int(most.Load()) > n {
					t.Fatalf("n = %d, first = %d: %d at once, %v", n, first, most.Load(), err)
				}
			}
		}
	})
}

func TestMapReduceWaitsForSlowSourcesAndSlowCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		start := time.Now()
		got, err := batch.MapReduce(context.Background(), timed(every(100, ms)...), 4,
			func(ctx context.Context, v int) (int, int, error) {
				sleep(ctx, 3*ms)
				return v % 2, 1, nil
			}, sum)
		if d := time.Since(start); err != nil || !maps.Equal(got, map[int]int{0: 50, 1: 50}) || d != 102*ms {
			t.Errorf("after %v: %v, %v", d, got, err)
		}
	})
}

func TestMapReduceEndsWithTheErrorThatItMeetsP8(t *testing.T) {
	for _, n := range []int{1, 2, 4} {
		for name, run := range map[string]func() (map[int]int, error){
			"in": func() (map[int]int, error) {
				return batch.MapReduce(context.Background(), stage.Concat(stage.FromSlice(upTo(1000)), stage.Failed[int](errE), stage.FromSlice(upTo(1000))), n, one, sum)
			},
			"mapper": func() (map[int]int, error) {
				return batch.MapReduce(context.Background(), stage.FromSlice(upTo(1000)), n, func(_ context.Context, v int) (int, int, error) {
					if v == 500 {
						return 0, 0, errE
					}
					return v, 1, nil
				}, sum)
			},
			"reducer": func() (map[int]int, error) {
				return batch.MapReduce(context.Background(), stage.FromSlice(upTo(1000)), n, func(_ context.Context, v int) (int, int, error) {
					return 0, v, nil
				}, func(a, b int) (int, error) { return 0, errE })
			},
			"merge": func() (map[int]int, error) { // each worker has the key once
				if n == 1 {
					return nil, errE
				}
				var came atomic.Int32
				both := make(chan struct{})
				return batch.MapReduce(context.Background(), stage.Of(1, 2), 2, func(context.Context, int) (int, int, error) {
					if came.Add(1) == 2 {
						close(both)
					}
					<-both
					return 0, 1, nil
				}, func(a, b int) (int, error) { return 0, errE })
			},
		} {
			if got, err := run(); err != errE || got != nil {
				t.Errorf("n = %d, %s: %v, %v", n, name, got, err)
			}
		}
	}
}

func TestMapReduceEndsWithItsContextP6(t *testing.T) {
	why := errors.New("why")
	for _, n := range []int{1, 2, 4} {
		ctx, cancel := context.WithCancelCause(context.Background())
		var calls atomic.Int32
		endless := stage.Generate(func(_ context.Context, yield func(int) bool) error {
			for yield(1) {
			}
			return nil
		})
		got, err := batch.MapReduce(ctx, endless, n, func(_ context.Context, v int) (int, int, error) {
			if calls.Add(1) == 1000 {
				cancel(why)
			}
			return v, 1, nil
		}, sum)
		if got != nil || err != why {
			t.Errorf("n = %d: %v, %v", n, got, err)
		}
	}
}

func TestMapReduceRaisesPanicsP9(t *testing.T) {
	for _, n := range []int{1, 2, 4} {
		v := wantPanic(t, func() {
			batch.MapReduce(context.Background(), stage.FromSlice(upTo(1000)), n, func(_ context.Context, v int) (int, int, error) {
				if v == 500 {
					panic(errE)
				}
				return v, 1, nil
			}, sum)
		})
		if p, ok := v.(*stage.Panic); !ok || !strings.HasPrefix(p.Stage, "mapreduce") || !errors.Is(p, errE) || p.Running != 0 {
			t.Errorf("n = %d: %v", n, v)
		}
	}
	_, err := batch.MapReduce(context.Background(), stage.FromSlice(upTo(1000)), 2, func(_ context.Context, v int) (int, int, error) {
		if v == 500 {
			runtime.Goexit()
		}
		return v, 1, nil
	}, sum)
	if !errors.Is(err, stage.ErrGoexit) {
		t.Errorf("got %v", err)
	}
}

// C09
func TestAPanicOfMapReduceIsNotHiddenByACallThatNeverReturnsP9(t *testing.T) {
	bubble(t, func(t *testing.T) {
		begun, release := make(chan struct{}), make(chan struct{})
		start := time.Now()
		v := wantPanic(t, func() {
			batch.MapReduce(context.Background(), stage.Of(0, 1), 2, func(_ context.Context, v int) (int, int, error) {
				if v == 1 {
					<-begun
					panic("lost")
				}
				close(begun)
				<-release
				return 0, 0, nil
			}, sum)
		})
		if p, ok := v.(*stage.Panic); !ok || p.Value != "lost" || p.Running != 1 || time.Since(start) > stage.PanicGrace {
			t.Errorf("after %v: %v", time.Since(start), v)
		}
		close(release)
	})
}

func TestMapReduceStandsInTheStatsP12(t *testing.T) {
	ctx, stats := stage.WithStats(context.Background())
	if _, err := batch.MapReduce(ctx, stage.FromSlice(upTo(1000)), 2, one, sum); err != nil {
		t.Fatal(err)
	}
	s := stats.Stages()
	if len(s) != 1 || !strings.HasPrefix(s[0].Name, "mapreduce") || s[0].In != 1000 || s[0].Out != 1000 || s[0].N != 2 {
		t.Errorf("got %+v", s)
	}
}

// What is in a call is held, and the time in it is told.
func TestTheCallsOfAMapReduceStandInTheStatsP12(t *testing.T) {
	for _, n := range []int{1, 2, 4} {
		bubble(t, func(t *testing.T) {
			ctx, stats := stage.WithStats(context.Background())
			seen := make(chan stage.StageStats, 1)
			time.AfterFunc(15*time.Second, func() { seen <- stats.Stages()[0] })
			_, err := batch.MapReduce(ctx, stage.FromSlice(upTo(40)), n, func(ctx context.Context, v int) (int, int, error) {
				sleep(ctx, 10*time.Second)
				return v, 1, nil
			}, sum)
			inside := <-seen
			if inside.Calls != n || inside.InFlight != n || inside.In != uint64(2*n) || inside.Out != uint64(n) || inside.Busy != time.Duration(n)*10*time.Second {
				t.Errorf("n = %d: inside %+v", n, inside)
			}
			s := stats.Stages()[0]
			if err != nil || s.Calls != 0 || s.InFlight != 0 || s.Out != 40 || s.Busy != 400*time.Second {
				t.Errorf("n = %d: %+v, %v", n, s, err)
			}
		})
		for name, end := range map[string]func(){"panic": func() { panic(errE) }, "goexit": runtime.Goexit} {
			ctx, stats := stage.WithStats(context.Background())
			done := make(chan struct{})
			go func() { // which may be ended
				defer close(done)
				defer func() { recover() }()
				batch.MapReduce(ctx, stage.Of(1), n, func(_ context.Context, v int) (int, int, error) {
					end()
					return v, 1, nil
				}, sum)
			}()
			<-done
			if s := stats.Stages()[0]; n > 1 && s.Calls != 0 {
				t.Errorf("n = %d, %s: %+v", n, name, s)
			}
		}
	}
}

func TestBadArgumentsOfMapReducePanicP11(t *testing.T) {
	ctx, in := context.Background(), stage.Of(1)
	var nilSum func(a, b int) int
	for want, f := range map[string]func(){
		"batch.MapReduce: n is -1, want 0 (Inline) to 1048576": func() { batch.MapReduce(ctx, in, -1, one, sum) },
		"batch.MapReduce: mapper is nil":                       func() { batch.MapReduce[int, int, int](ctx, in, 1, nil, sum) },
		"batch.MapReduce: reducer is nil":                      func() { batch.MapReduce(ctx, in, 1, one, nilSum) },
		"batch.MapReduce: the context is nil":                  func() { batch.MapReduce(noContext, in, 1, one, sum) },
	} {
		if got := wantPanic(t, f); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// With so many keys a table no longer points to its values.
func TestMapReduceOfManyKeys(t *testing.T) {
	const items, keys = 300_000, 100_000
	for _, n := range share.Rows(t, []int{1, 2}) {
		got, err := batch.MapReduce(context.Background(), stage.FromSlice(upTo(items)), n,
			func(_ context.Context, v int) (int, int, error) { return v % keys, v, nil }, func(a, b int) int { return max(a, b) })
		if err != nil || len(got) != keys {
			t.Fatalf("n = %d: %d keys, %v", n, len(got), err)
		}
		for k, v := range got {
			if v != items-keys+k {
				t.Fatalf("n = %d: key %d: %d", n, k, v)
			}
		}
	}
}
