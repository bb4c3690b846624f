package batch_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed95b73fdc/sluice/batch"
	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/stage"
)

type runner func(ctx context.Context, n, workers int, f func(context.Context, int) error) error

// finite are the functions over a finite slice, as one that calls f for the items
// 0 to n-1.
var finite = map[string]runner{
	"Ranges": func(ctx context.Context, n, workers int, f func(context.Context, int) error) error {
		return batch.Ranges(ctx, n, workers, func(ctx context.Context, lo, hi int) error {
			for i := lo; i < hi; i++ {
				if err := f(ctx, i); err != nil {
					return err
				}
			}
			return nil
		})
	},
	"Each": func(ctx context.Context, n, workers int, f func(context.Context, int) error) error {
		return batch.Each(ctx, upTo(n), workers, f)
	},
	"MapSlice": func(ctx context.Context, n, workers int, f func(context.Context, int) error) error {
		got, err := batch.MapSlice(ctx, upTo(n), workers, func(ctx context.Context, v int) (int, error) { return v, f(ctx, v) })
		if err != nil && got != nil {
			return errors.New("results with an error")
		}
		if err == nil && !slices.Equal(got, upTo(n)) {
			return fmt.Errorf("got %v", got)
		}
		return err
	},
	"Reduce": func(ctx context.Context, n, workers int, f func(context.Context, int) error) error {
		got, err := batch.Reduce(ctx, upTo(n), workers, "",
			func(ctx context.Context, s string, v int) (string, error) { return s + fmt.Sprint(v, " "), f(ctx, v) },
			func(a, b string) string { return a + b })
		if err != nil && got != "" {
			return errors.New("a result with an error")
		}
		if want := strings.Trim(fmt.Sprint(upTo(n)), "[]"); err == nil && strings.TrimSpace(got) != want {
			return fmt.Errorf("got %s", got)
		}
		return err
	},
}

func eachFinite(t *testing.T, test func(t *testing.T, do runner)) {
	for name, do := range finite {
		t.Run(name, func(t *testing.T) { test(t, do) })
	}
}

func TestEveryItemIsCalledOnceAndResultsAreInPlaceP1(t *testing.T) {
	eachFinite(t, func(t *testing.T, do runner) {
		for _, n := range []int{0, 1, 2, 3, 7, 8, 9, 100, 1000} {
			for _, workers := range []int{1, 2, 3, 8, 200} {
				calls := make([]atomic.Int32, n)
				err := do(context.Background(), n, workers, func(_ context.Context, v int) error {
					calls[v].Add(1)
					if v%7 == 0 {
						runtime.Gosched()
					}
					return nil
				})
				if err != nil {
					t.Fatalf("n = %d, workers = %d: %v", n, workers, err)
				}
				for v := range calls {
					if c := calls[v].Load(); c != 1 {
						t.Fatalf("n = %d, workers = %d: %d calls for item %d", n, workers, c, v)
					}
				}
			}
		}
	})
}

func TestRangesAreConsecutiveAndEqual(t *testing.T) {
	for _, c := range []struct{ count, workers int }{{10, 3}, {3, 10}, {1, 1}, {0, 4}, {100, 7}} {
		var mu sync.Mutex
		var got [][2]int
		err := batch.Ranges(context.Background(), c.count, c.workers, func(_ context.Context, lo, hi int) error {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, [2]int{lo, hi})
			return nil
		})
		slices.SortFunc(got, func(a, b [2]int) int { return a[0] - b[0] })
		next, least, most := 0, c.count, 0
		for _, r := range got {
			if r[0] != next {
				t.Errorf("%v: %v", c, got)
			}
			next = r[1]
			least, most = min(least, r[1]-r[0]), max(most, r[1]-r[0])
		}
		if err != nil || next != c.count || len(got) != min(c.count, c.workers) || len(got) > 0 && (least < 1 || most-least > 1) {
			t.Errorf("%v: %v, %v", c, got, err)
		}
	}
}

// No worker is idle while an item is to begin: here the calls for the last items
// of an uneven slice all wait for each other, behind cheap ones.
func TestWorkersCallsRunAtOnceWhateverCameBeforeP3(t *testing.T) {
	for _, name := range []string{"Each", "MapSlice", "Reduce"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				for _, n := range []int{4, 5, 100, 1003} {
					for first := 0; first+4 <= n; first += max(1, n/13) {
						const workers = 4
						together := make(chan struct{})
						var arrived, running, most atomic.Int32
						err := finite[name](context.Background(), n, workers, func(_ context.Context, v int) error {
							most.Store(max(most.Load(), running.Add(1)))
							defer running.Add(-1)
							if v >= first && v < first+workers {
								if arrived.Add(1) == workers {
									close(together)
								}
								<-together // a stall here is a deadlock, which the bubble reports
							}
							return nil
						})
						if err != nil || most.Load() > workers {
							t.Fatalf("n = %d, first = %d: %d at once, %v", n, first, most.Load(), err)
						}
					}
				}
			})
		})
	}
}

// What a straggler holds is taken from it: one call lasts until all others are done.
func TestAStragglersItemsAreTakenOver(t *testing.T) {
	for _, name := range []string{"Each", "MapSlice", "Reduce"} {
		for _, straggler := range []int{0, 1, 50, 99} {
			bubble(t, func(t *testing.T) {
				var done atomic.Int32
				all := make(chan struct{})
				err := finite[name](context.Background(), 100, 2, func(_ context.Context, v int) error {
					if v == straggler {
						<-all
					}
					if done.Add(1) == 99 {
						close(all)
					}
					return nil
				})
				if err != nil || done.Load() != 100 {
					t.Errorf("%s: %d, %v", name, done.Load(), err)
				}
			})
		}
	}
}

// C21
func TestTheFirstErrorInTheOrderOfTheItemsIsReturnedP8(t *testing.T) {
	eachFinite(t, func(t *testing.T, do runner) {
		const n = 40
		for _, first := range share.Rows(t, upTo(n)) {
			for _, also := range []int{first, first + 1, n - 1} {
				for _, workers := range []int{1, 2, 4, 64} {
					bubble(t, func(t *testing.T) {
						err := do(context.Background(), n, workers, func(ctx context.Context, v int) error {
							// Later items are done, and fail, before earlier ones.
							if !sleep(ctx, time.Duration(n-v)*ms) && v <= first {
								t.Errorf("%d: cancelled for an error of a later item", v)
							}
							if v == first || v == also {
								return fmt.Errorf("item %d", v)
							}
							return ctx.Err()
						})
						if want := fmt.Sprintf("item %d", first); err == nil || err.Error() != want {
							t.Errorf("workers = %d: got %v, want %s", workers, err, want)
						}
					})
				}
			}
		}
	})
}

func TestAnErrorStopsLaterItemsAndNoEarlierOnesP7(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n, bad = 1000, 300
		var calls [n]atomic.Int32
		err := batch.Each(context.Background(), upTo(n), 4, func(ctx context.Context, v int) error {
			calls[v].Add(1)
			if v == bad {
				return errE
			}
			sleep(ctx, ms)
			return nil
		})
		later := 0
		for v := range calls {
			c := int(calls[v].Load())
			if v <= bad && c != 1 {
				t.Errorf("%d calls for item %d", c, v)
			}
			if v > bad {
				later += c
			}
		}
		// The error comes after 50 ms of four workers that are at 0, 250, 500 and 750.
		if err != errE || later > 3*52 {
			t.Errorf("%d later calls, %v", later, err)
		}
	})
}

func TestNoCallBeginsAfterTheCancellationP6(t *testing.T) {
	why := errors.New("why")
	eachFinite(t, func(t *testing.T, do runner) {
		for _, workers := range []int{1, 2, 8} {
			ctx, cancel := context.WithCancelCause(context.Background())
			var over atomic.Bool
			var late, calls atomic.Int32
			err := do(ctx, 1000, workers, func(ctx context.Context, v int) error {
				if over.Load() {
					late.Add(1)
				}
				if calls.Add(1) == 10 {
					cancel(why)
					over.Store(true)
				}
				return ctx.Err()
			})
			// A call may have been on its way when cancel returned: one per worker.
			if err != why || int(late.Load()) > workers-1 {
				t.Errorf("workers = %d: %d calls too late, %v", workers, late.Load(), err)
			}
			calls.Store(0)
			if err := do(ctx, 3, workers, func(context.Context, int) error { calls.Add(1); return nil }); err != why || calls.Load() != 0 {
				t.Errorf("%d calls, %v", calls.Load(), err)
			}
			if err := do(ctx, 0, workers, func(context.Context, int) error { return nil }); err != why {
				t.Errorf("%v", err)
			}
		}
	})
}

func TestACancellationMasksNoErrorAndNoSuccessP6(t *testing.T) {
	eachFinite(t, func(t *testing.T, do runner) {
		bubble(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			err := do(ctx, 2, 2, func(ctx context.Context, v int) error {
				if v == 1 {
					cancel()
					return errE
				}
				sleep(ctx, time.Hour)
				return ctx.Err()
			})
			if err != errE {
				t.Errorf("got %v", err)
			}
			ctx, cancel = context.WithCancel(context.Background())
			if err := do(ctx, 4, 4, func(context.Context, int) error { cancel(); return nil }); err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	})
}

func TestAPanicIsRaisedInTheCallersGoroutineP9(t *testing.T) {
	eachFinite(t, func(t *testing.T, do runner) {
		for _, workers := range []int{1, 2, 8} {
			var after atomic.Bool
			v := wantPanic(t, func() {
				do(context.Background(), 100, workers, func(ctx context.Context, v int) error {
					if v == 13 {
						panic(errE)
					}
					if after.Load() {
						return nil
					}
					return nil
				})
			})
			p, ok := v.(*stage.Panic)
			if !ok || !errors.Is(p, errE) || p.Running != 0 || !strings.HasPrefix(p.Stage, "batch.") || !strings.Contains(string(p.Stack), "each_test.go") {
				t.Errorf("got %v", v)
			}
		}
	})
}

// C09
func TestAPanicIsNotHiddenByACallThatNeverReturnsP9(t *testing.T) {
	bubble(t, func(t *testing.T) {
		begun, release := make(chan struct{}), make(chan struct{})
		start := time.Now()
		v := wantPanic(t, func() {
			batch.Each(context.Background(), upTo(2), 2, func(_ context.Context, v int) error {
				if v == 1 {
					<-begun
					panic("lost")
				}
				close(begun)
				<-release
				return nil
			})
		})
		if p, ok := v.(*stage.Panic); !ok || p.Value != "lost" || p.Running != 1 || time.Since(start) > stage.PanicGrace {
			t.Errorf("after %v: %v", time.Since(start), v)
		}
		close(release)
	})
}

// C10
func TestGoexitIsTheErrorOfItsItemAndCostsNoWorkerP9(t *testing.T) {
	eachFinite(t, func(t *testing.T, do runner) {
		bubble(t, func(t *testing.T) {
			for _, workers := range []int{1, 3} {
				const n, bad = 90, 80
				var before, running, most atomic.Int32
				err := do(context.Background(), n, workers, func(ctx context.Context, v int) error {
					most.Store(max(most.Load(), running.Add(1)))
					defer running.Add(-1)
					if v == bad {
						runtime.Goexit()
					}
					if v < bad {
						before.Add(1)
						time.Sleep(ms)
					}
					return nil
				})
				if !errors.Is(err, stage.ErrGoexit) || before.Load() != bad || most.Load() != int32(workers) {
					t.Errorf("workers = %d: %d calls for earlier items, %d at once, %v", workers, before.Load(), most.Load(), err)
				}
			}
		})
	})
}

// The third worker's first call ends its goroutine; the items before it are shared
// by three all the same.
func TestAfterGoexitThereAreAsManyWorkersAsBeforeP3(t *testing.T) {
	for _, name := range []string{"Each", "MapSlice", "Reduce"} {
		bubble(t, func(t *testing.T) {
			start := time.Now()
			err := finite[name](context.Background(), 90, 3, func(_ context.Context, v int) error {
				if v == 60 {
					runtime.Goexit()
				}
				time.Sleep(ms)
				return nil
			})
			if d := time.Since(start); !errors.Is(err, stage.ErrGoexit) || d > 21*ms {
				t.Errorf("%s: %v after %v", name, err, d)
			}
		})
	}
}

func TestBadArgumentsOfFiniteFunctionsPanicP11(t *testing.T) {
	ctx := context.Background()
	ok := func(context.Context, int) error { return nil }
	var nilFunc func(context.Context, int) error
	sum := func(a, b int) int { return a + b }
	var nilSum func(a, b int) int
	for want, f := range map[string]func(){
		"batch.Each: workers is 0, want at least 1":            func() { batch.Each(ctx, upTo(1), 0, ok) },
		"batch.Each: workers is 1048577, want at most 1048576": func() { batch.Each(ctx, upTo(1), 1<<20+1, ok) },
		"batch.Each: workers is -1, want at least 1":           func() { batch.Each(ctx, upTo(0), -1, ok) },
		"batch.Each: f is nil":                                 func() { batch.Each(ctx, upTo(1), 1, nilFunc) },
		"batch.Each: the context is nil":                       func() { batch.Each(noContext, upTo(1), 1, ok) },
		"batch.Ranges: count is -1, want at least 0":           func() { batch.Ranges(ctx, -1, 1, nil) },
		"batch.Ranges: f is nil":                               func() { batch.Ranges(ctx, 1, 1, nil) },
		"batch.Ranges: workers is 0, want at least 1":          func() { batch.Ranges(ctx, 1, 0, func(context.Context, int, int) error { return nil }) },
		"batch.MapSlice: f is nil":                             func() { batch.MapSlice[int, int](ctx, upTo(1), 1, nil) },
		"batch.Reduce: add is nil":                             func() { batch.Reduce(ctx, upTo(1), 1, 0, nilSum, sum) },
		"batch.Reduce: merge is nil":                           func() { batch.Reduce(ctx, upTo(1), 1, 0, sum, nilSum) },
		"batch.Fold: newState is nil":                          func() { batch.Fold[int](ctx, upTo(1), 1, nil, sum, sum) },
	} {
		if got := wantPanic(t, f); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
