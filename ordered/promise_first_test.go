package ordered_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// P7 and P8 for First: the first match in input order, as soon as it is
// certain, with at most a window of calls in vain.

func TestP7FirstReturnsAtTheInstantItIsCertain(t *testing.T) {
	unit := time.Second
	for name, c := range map[string]struct {
		takes   func(v int) time.Duration
		matches func(v int) bool
		want    int
		at      time.Duration // with n = 4
	}{
		"all alike":       {func(int) time.Duration { return unit }, func(v int) bool { return v == 9 }, 9, 3 * unit},
		"first item":      {func(v int) time.Duration { return unit * time.Duration(1+v) }, func(int) bool { return true }, 0, unit},
		"later is faster": {func(v int) time.Duration { return unit * time.Duration(10-v) }, func(int) bool { return true }, 0, 10 * unit},
		"waits for the ones before": {func(v int) time.Duration { return unit * time.Duration(1+99/(v+1)) },
			func(v int) bool { return v == 2 }, 2, 100 * unit},
		"not for those behind": {func(v int) time.Duration { return unit * time.Duration(1+v*100) }, func(v int) bool { return v == 1 }, 1, 101 * unit},
	} {
		synctest.Test(t, func(t *testing.T) {
			const n = 4
			var m meter
			began := time.Now()
			v, found, err := ordered.First(t.Context(), stage.FromSlice(upTo(1000)), n, func(ctx context.Context, v int) (bool, error) {
				m.enter()
				defer m.leave()
				select {
				case <-time.After(c.takes(v)):
				case <-ctx.Done():
					return false, ctx.Err()
				}
				return c.matches(v), nil
			})
			took := time.Since(began)
			if v != c.want || !found || err != nil || took != c.at || m.running.Load() != 0 {
				t.Errorf("%s: %d, %v, %v after %v", name, v, found, err, took)
			}
			// Exactly those up to the match were needed.
			if vain := int(m.calls.Load()) - c.want - 1; vain > n {
				t.Errorf("%s: %d calls in vain", name, vain)
			}
		})
	}
}

// While the match is being found, exactly a window of items is in work.
func TestP7FirstStartsAtMostAWindowInVain(t *testing.T) {
	for _, n := range share.Rows(t, []int{1, 2, 4, 8}) {
		for _, w := range []int{0, 1, n, 3*n + 1, 200} {
			for _, at := range []int{0, 1, 64, 500} {
				for _, cheap := range []bool{true, false} {
					synctest.Test(t, func(t *testing.T) {
						var calls atomic.Int64
						var during int64
						v, found, err := ordered.First(t.Context(), stage.FromSlice(upTo(20000)), n, func(_ context.Context, v int) (bool, error) {
							calls.Add(1)
							switch {
							case v == at:
								time.Sleep(time.Hour)
								during = calls.Load()
							case !cheap:
								time.Sleep(time.Millisecond)
							}
							return v >= at, nil
						}, windowed(w)...)
						if v != at || !found || err != nil {
							t.Errorf("n=%d window=%d at=%d: %d, %v, %v", n, w, at, v, found, err)
						}
						// The match itself holds a place. Nothing is left to the one
						// worker of n = 1, and what the hour has filled stays full.
						most := int64(at + w)
						if w == 0 {
							most = int64(at + 64*n)
						}
						exact := most
						if n == 1 {
							exact = int64(at + 1)
						}
						if w > 0 && during != exact || during > most || calls.Load() > most+1 {
							t.Errorf("n=%d window=%d at=%d: %d calls before the match was known, %d in all", n, w, at, during, calls.Load())
						}
					})
				}
			}
		}
	}
}

// An error before the match is the answer, in every run; one behind it is not.
func TestP8FirstReturnsWhatComesFirstInEveryRun(t *testing.T) {
	for _, n := range share.Rows(t, []int{stage.Inline, 1, 2, 4, 8}) {
		for _, c := range []struct{ fails, matches int }{{10, 20}, {20, 10}, {0, 1}, {1, 0}, {5, 1000}, {1000, 5}, {1000, 1000}} {
			for _, inStream := range []bool{false, true} {
				for round := range 20 {
					synctest.Test(t, func(t *testing.T) {
						src := stage.FromSlice(upTo(40))
						if inStream {
							src = stage.Map(src, stage.Inline, func(_ context.Context, v int) (int, error) {
								if v == c.fails {
									return 0, errStop
								}
								return v, nil
							})
						}
						v, found, err := ordered.First(t.Context(), src, n, func(_ context.Context, v int) (bool, error) {
							time.Sleep(time.Duration((v*7919+round*31)%17) * time.Millisecond)
							if v == c.fails {
								return true, errStop
							}
							return v == c.matches, nil
						})
						ok := false
						switch {
						case c.fails < c.matches:
							ok = v == 0 && !found && err == errStop
						case c.matches < c.fails:
							ok = v == c.matches && found && err == nil
						default:
							ok = v == 0 && !found && err == nil
						}
						if !ok {
							t.Errorf("n=%d, fails at %d, matches at %d: %d, %v, %v", n, c.fails, c.matches, v, found, err)
						}
					})
				}
			}
		}
	}
}

// C03: no match along with an error, whatever goes wrong.
func TestP8C03FirstIsZeroWithAnError(t *testing.T) {
	yes := func(_ context.Context, v int) (bool, error) { return true, nil }
	cleanup := stage.Generate(func(_ context.Context, yield func(int) bool) error {
		defer runtime.Goexit()
		for yield(5) {
		}
		return nil
	})
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for _, n := range []int{stage.Inline, 1, 4} {
		for range 50 {
			if v, found, err := ordered.First(t.Context(), cleanup, n, yes); err != nil && (found || v != 0) {
				t.Errorf("n=%d: %d, %v, %v", n, v, found, err)
			}
		}
		if v, found, err := ordered.First(done, stage.Of(5), n, yes); v != 0 || found || err != context.Canceled {
			t.Errorf("n=%d: %d, %v, %v", n, v, found, err)
		}
		if n > 0 {
			v, found, err := ordered.First(t.Context(), stage.Of(5), n, func(context.Context, int) (bool, error) { runtime.Goexit(); return true, nil })
			if v != 0 || found || !errors.Is(err, stage.ErrGoexit) {
				t.Errorf("n=%d: %d, %v, %v", n, v, found, err)
			}
		}
		v, found, err := ordered.First(t.Context(), stage.Of(5), n, func(context.Context, int) (bool, error) { panic("boom") }, stage.RecoverPanics())
		if v != 0 || found || !errors.As(err, new(*stage.Panic)) {
			t.Errorf("n=%d: %d, %v, %v", n, v, found, err)
		}
	}
}

// Calls behind the match are cancelled, and one that panics there is raised
// all the same.
func TestP7P9FirstCancelsWhatItNeedsNoMore(t *testing.T) {
	for _, n := range []int{2, 4, 8} {
		synctest.Test(t, func(t *testing.T) {
			var cancelled atomic.Int64
			began := time.Now()
			v, found, err := ordered.First(t.Context(), stage.FromSlice(upTo(100)), n, func(ctx context.Context, v int) (bool, error) {
				if v == 0 {
					time.Sleep(time.Second)
					return true, nil
				}
				<-ctx.Done()
				cancelled.Add(1)
				return false, ctx.Err()
			})
			if c := int(cancelled.Load()); v != 0 || !found || err != nil || time.Since(began) != time.Second || c < n-1 || c > n {
				t.Errorf("n=%d: %d, %v, %v after %v, %d cancelled", n, v, found, err, time.Since(began), c)
			}
		})
		v := raised(func() {
			ordered.First(t.Context(), stage.Of(0, 1), n, func(ctx context.Context, v int) (bool, error) {
				if v == 1 {
					<-ctx.Done()
					panic(errStop)
				}
				for range 100 {
					runtime.Gosched()
				}
				return true, nil
			}, stage.Name("mine"))
		})
		if p, ok := v.(*stage.Panic); v != nil && (!ok || p.Value != errStop || p.Stage != "mine") {
			t.Errorf("n=%d: raised %v", n, v)
		}
	}
}

// First, of every position and size.
func TestP1FirstFindsTheFirst(t *testing.T) {
	for _, n := range share.Rows(t, []int{stage.Inline, 1, 2, 8}) {
		for size := range 130 {
			for _, at := range []int{0, 1, 62, 63, 64, 65, 128, size - 1, size} {
				v, found, err := ordered.First(t.Context(), stage.FromSlice(upTo(size)), n, func(_ context.Context, v int) (bool, error) { return v >= at, nil })
				at := max(at, 0)
				if want := at < size; found != want || err != nil || want && v != at || !want && v != 0 {
					t.Error(fmt.Sprintf("n=%d, %d of %d:", n, at, size), v, found, err)
				}
			}
		}
	}
}
