package keyed_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed95b73fdc/sluice/keyed"
	"github.com/seed95b73fdc/sluice/stage"
)

// perSecond are limiters of 1 a second, 1 at once.
func perSecond(int) *rate.Limiter { return rate.NewLimiter(1, 1) }

// times runs a stream, and tells when each of its values came, errors too.
func times(t *testing.T, out stage.Stream[int]) (got []string) {
	t.Helper()
	start := time.Now()
	caught := stage.Catch(out, stage.Inline, func(_ context.Context, err error) error {
		got = append(got, fmt.Sprint(err, " ", time.Since(start)))
		return nil
	})
	err := stage.ForEach(t.Context(), caught, 1, func(_ context.Context, v int) error {
		got = append(got, fmt.Sprint(v, " ", time.Since(start)))
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return got
}

func TestThrottleHoldsEachKeyToItsOwnRateP2P13(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := map[int]*rate.Limiter{1: rate.NewLimiter(1, 1), 2: rate.NewLimiter(4, 2), 3: nil, 4: rate.NewLimiter(rate.Inf, 0)}
		in := stage.Concat(stage.Of(10, 11, 12), stage.Failed[int](errors.New("torn")), stage.Of(20, 21, 22, 23, 30, 31, 40, 13))
		out := keyed.Throttle(in, func(v int) int { return v / 10 }, func(k int) *rate.Limiter { return limits[k] })
		want := []string{
			"10 0s", "torn 0s", "20 0s", "21 0s", "30 0s", "31 0s", "40 0s",
			"22 250ms", "23 500ms", "11 1s", "12 2s", "13 3s",
		}
		if got := times(t, out); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// Whatever the rates, each value comes at the very time at which its limiter, asked
// for one value after the other, lets it pass; and those of a key in order.
func TestThrottleIsWhatALimiterForEachKeyWouldDoP2P13(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 20/raceScale + 3 {
		synctest.Test(t, func(t *testing.T) {
			keys, items := 1+r.IntN(9), 1+r.IntN(800)
			x := r.Uint64()
			limit := func(k int) *rate.Limiter {
				return rate.NewLimiter(rate.Limit(1+mix(x, k)%100), int(1+mix(x, -k-1)%5))
			}
			key := func(v int) int { return int(mix(x, v) % uint64(keys)) }
			start := time.Now()
			model, want := map[int]*rate.Limiter{}, make([]time.Duration, items)
			for v := range want {
				k := key(v)
				if model[k] == nil {
					model[k] = limit(k)
				}
				want[v] = model[k].ReserveN(start, 1).DelayFrom(start)
			}
			next, came := map[int]int{}, 0
			out := keyed.Throttle(stage.FromSlice(numbers(items)), key, limit, stage.Window(items))
			err := stage.ForEach(t.Context(), out, 1, func(_ context.Context, v int) error {
				if at := time.Since(start); at != want[v] {
					t.Errorf("seed %d: %d of key %d came at %v, want %v", seed, v, key(v), at, want[v])
				}
				if v < next[key(v)] {
					t.Errorf("seed %d: %d of key %d was overtaken", seed, v, key(v))
				}
				next[key(v)] = v + 1
				came++
				return nil
			})
			if err != nil || came != items {
				t.Errorf("seed %d: %d of %d, %v", seed, came, items, err)
			}
		})
	}
}

// C125: what the window has room for passes at once, however long a key has to
// wait; when that key has filled it, the others come at its pace.
func TestThrottleHoldsUpNoOtherKeyUntilTheWindowIsFullC125P4(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window = 10
		var taken, passed atomic.Int64
		ctx, stats := stage.WithStats(t.Context())
		over := make(chan error)
		// One of three is of key 0.
		out := keyed.Throttle(counted(60, &taken), func(v int) int { return v % 3 }, func(k int) *rate.Limiter {
			if k == 0 {
				return perSecond(k)
			}
			return nil
		}, stage.Window(window))
		go func() {
			over <- stage.ForEach(ctx, out, 1, func(_ context.Context, v int) error { passed.Add(1); return nil })
		}()
		for second := range 5 {
			synctest.Wait()
			// Of key 0, so many have passed and ten wait; of the others all in between.
			hot := int64(second) + 1 + window
			s := stats.Stages()[0]
			if taken.Load() != 3*hot-2 || passed.Load() != 3*hot-2-window || s.InFlight != window || s.Window != window || s.In != uint64(taken.Load()) {
				t.Errorf("after %d s: %d taken, %d passed; %+v", second, taken.Load(), passed.Load(), s)
			}
			time.Sleep(time.Second)
		}
		if err := <-over; err != nil || passed.Load() != 60 {
			t.Error(passed.Load(), err)
		}
	})
}

// What still waits gives its token back.
func TestThrottleStopsWithItsRunP6(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("enough")
		limiter := rate.NewLimiter(1, 3)
		ctx, cancel := context.WithCancelCause(t.Context())
		passed := 0
		over := make(chan error)
		out := keyed.Throttle(stage.FromSlice(numbers(100)), identity, func(int) *rate.Limiter { return limiter }, stage.Window(20))
		go func() {
			over <- stage.ForEach(ctx, out, 1, func(_ context.Context, v int) error { passed++; return nil })
		}()
		synctest.Wait()
		if passed != 3 || limiter.Tokens() != -20 {
			t.Errorf("%d passed, %v tokens", passed, limiter.Tokens())
		}
		cancel(stop)
		if err := <-over; err != stop || passed != 3 || limiter.Tokens() != 0 {
			t.Errorf("%v, %d passed, %v tokens", err, passed, limiter.Tokens())
		}
		// A reader that leaves while the others wait for their time, or for input.
		for _, src := range []stage.Stream[int]{stage.FromSlice(numbers(100)), stage.Concat(stage.Of(1, 1), stage.FromChan(make(chan int)))} {
			v, ok, err := stage.First(t.Context(), keyed.Throttle(src, identity, perSecond))
			if v > 1 || !ok || err != nil {
				t.Error(v, ok, err)
			}
		}
	})
}

func TestThrottleKeepsTheOrderOfAKeyWhoseLimitRises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const before, after = 8, 9
		limiter := rate.NewLimiter(1, 1)
		in := make(chan int)
		go func() {
			defer close(in)
			for v := range before {
				in <- v
			}
			time.Sleep(time.Millisecond)
			limiter.SetLimit(1000)
			for v := range after {
				in <- before + v
			}
		}()
		var want []string
		for v := range before + after {
			want = append(want, fmt.Sprintf("%d %ds", v, min(v, before-1)))
		}
		out := keyed.Throttle(stage.FromChan(in), func(int) int { return 0 }, func(int) *rate.Limiter { return limiter })
		if got := times(t, out); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// A value whose time has come, and which the reader has not taken, is not overtaken by
// one of its key that comes later and need not wait.
func TestThrottleLetsNoValueOvertakeOneThatIsDueP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, let := make(chan int), make(chan struct{})
		var got []int
		over := make(chan error)
		go func() {
			over <- stage.ForEach(t.Context(), keyed.Throttle(stage.FromChan(in), func(int) int { return 0 }, perSecond), 1,
				func(_ context.Context, v int) error { <-let; got = append(got, v); return nil })
		}()
		in <- 0
		in <- 1 // which is due in a second
		synctest.Wait()
		time.Sleep(10 * time.Second)
		in <- 2 // which passes at once
		close(in)
		synctest.Wait()
		close(let)
		if err := <-over; err != nil || !slices.Equal(got, []int{0, 1, 2}) {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

// A key is forgotten when its limiter is as good as new, and not before: that makes
// no difference to the times.
func TestThrottleForgetsKeysWhoseLimitersAreFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys = 5000
		made := map[int]int{}
		in := make(chan int)
		out := keyed.Throttle(stage.FromChan(in), identity, func(k int) *rate.Limiter { made[k]++; return rate.NewLimiter(1, 2) })
		var late time.Duration
		over := make(chan error)
		sent := time.Now()
		go func() {
			over <- stage.ForEach(t.Context(), out, 1, func(context.Context, int) error { late = max(late, time.Since(sent)); return nil })
		}()
		for round, first := range []int{0, keys, 0} {
			sent = time.Now()
			for k := range 2 * keys { // two of each pass at once, and take all tokens
				in <- first + k%keys
			}
			synctest.Wait()
			if late != 0 || made[first] != 1+round/2 || made[first+keys-1] != 1+round/2 {
				t.Fatalf("round %d: the latest came after %v; %d and %d limiters", round, late, made[first], made[first+keys-1])
			}
			if round == 0 {
				time.Sleep(1999 * time.Millisecond) // not full yet
				for k := range keys {
					if in <- k; k == 0 {
						synctest.Wait()
					}
				}
				synctest.Wait()
				if late != 1999*time.Millisecond || made[0] != 1 || made[keys-1] != 1 {
					t.Fatalf("the latest came after %v, %d limiters of the first key", late, made[0])
				}
				late = 0
			}
			time.Sleep(time.Minute)
		}
		close(in)
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
}

func TestThrottleWithLimitersThatLetNothingPassC47(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := []*rate.Limiter{rate.NewLimiter(5, 0), rate.NewLimiter(0, 1), rate.NewLimiter(1e-300, 1)}
		ctx, cancel := context.WithTimeout(t.Context(), 1000*time.Hour)
		defer cancel()
		var got []string
		out := stage.Catch(keyed.Throttle(stage.Of(0, 1, 1, 2, 2), identity, func(k int) *rate.Limiter { return limits[k] }, stage.Name("per user")),
			stage.Inline, func(_ context.Context, err error) error { got = append(got, err.Error()); return nil })
		err := stage.ForEach(ctx, out, 1, func(_ context.Context, v int) error { got = append(got, fmt.Sprint(v)); return nil })
		want := []string{"keyed: per user: the limiter of key 0 has a burst of 0, want at least 1", "1", "2"}
		if err != context.DeadlineExceeded || !slices.Equal(got, want) {
			t.Errorf("got %v, %v; want %v", got, err, want)
		}
	})
}

func TestThrottlePanicsEndTheRunOrAreTheItemsErrorP9(t *testing.T) {
	run := func(key func(int) int, limit func(int) *rate.Limiter, opts ...stage.Option) (got string) {
		defer func() {
			if v := recover(); v != nil {
				got = fmt.Sprintf("raised in %s: %v", v.(*stage.Panic).Stage, v.(*stage.Panic).Value)
			}
		}()
		out := stage.Catch(keyed.Throttle(stage.Of(1, 2, 3), key, limit, opts...), stage.Inline, func(_ context.Context, err error) error {
			var p *stage.Panic
			if errors.As(err, &p) {
				got += fmt.Sprint(p.Value, " ")
				return nil
			}
			return err
		})
		all, err := stage.Collect(t.Context(), out)
		return got + fmt.Sprint(all, err)
	}
	noKey := func(v int) int {
		if v == 2 {
			panic("no key")
		}
		return v
	}
	noLimit := func(k int) *rate.Limiter {
		if k == 2 {
			panic("no limit")
		}
		return nil
	}
	for want, got := range map[string]string{
		"raised in throttle#1: no key":   run(noKey, perSecond),
		"raised in throttle#1: no limit": run(identity, noLimit),
		"no key [1 3] <nil>":             run(noKey, perSecond, stage.RecoverPanics()),
		"no limit [1 3] <nil>":           run(identity, noLimit, stage.RecoverPanics()),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	exits := keyed.Throttle(stage.Of(1), func(int) int { runtime.Goexit(); return 0 }, perSecond)
	if err := stage.Discard(t.Context(), exits); !errors.Is(err, stage.ErrGoexit) {
		t.Errorf("got %v", err)
	}
}

func TestThrottleAllocatesNothingPerItemP10(t *testing.T) {
	const items = 100_000 / raceScale
	free := keyed.Throttle(stage.FromSlice(numbers(items)), func(v int) int { return v % 100 }, func(int) *rate.Limiter { return rate.NewLimiter(rate.Inf, 0) })
	quick := keyed.Throttle(stage.FromSlice(numbers(items)), func(v int) int { return v % 100 }, func(int) *rate.Limiter { return rate.NewLimiter(1e6, 1) })
	for name, out := range map[string]stage.Stream[int]{"without limits": free, "that wait": quick} {
		allocs := testing.AllocsPerRun(1, func() {
			if k, err := stage.Count(t.Context(), out); k != items || err != nil {
				t.Fatal(k, err)
			}
		})
		if allocs > 500 {
			t.Errorf("%s: %v allocations for %d items", name, allocs, items)
		}
	}
}

// What waits for a time does not wait for itself; who never reads on does.
func TestThrottleIsSeenWhenTheRunWaitsForItself(t *testing.T) {
	none := func(int) *rate.Limiter { return nil }
	yes, no := stage.Split(stage.FromSlice(numbers(1000)), func(v int) bool { return v%2 == 0 })
	a, b := keyed.Throttle(yes, identity, none, stage.Window(3)), keyed.Throttle(no, identity, none, stage.Window(3))
	err := stage.Discard(t.Context(), stage.Concat(a, b))
	if !errors.Is(err, stage.ErrStalled) || !strings.Contains(err.Error(), "throttle#") {
		t.Errorf("got %v", err)
	}
}

func TestCombineAndThrottleBadArgumentsPanicAtOnceP11(t *testing.T) {
	in, sum := stage.Of(1), func(a, b int) int { return a + b }
	for want, f := range map[string]func(){
		"keyed.Combine: key is nil":                   func() { keyed.Combine[int, int](in, nil, sum, 1) },
		"keyed.Combine: add is nil":                   func() { keyed.Combine(in, identity, nil, 1) },
		"keyed.Combine: size is 0, want at least 1":   func() { keyed.Combine(in, identity, sum, 0) },
		"keyed.Throttle: key is nil":                  func() { keyed.Throttle(in, nil, perSecond) },
		"keyed.Throttle: limit is nil":                func() { keyed.Throttle(in, identity, nil) },
		"stage.Window: window is -1, want at least 1": func() { keyed.Throttle(in, identity, perSecond, stage.Window(-1)) },
	} {
		func() {
			defer func() {
				if v := recover(); fmt.Sprint(v) != want {
					t.Errorf("got %v, want %s", v, want)
				}
			}()
			f()
		}()
	}
}

func BenchmarkThrottle(b *testing.B) {
	in := numbers(b.N)
	out := keyed.Throttle(stage.FromSlice(in), func(v int) int { return v % 1000 }, func(int) *rate.Limiter { return rate.NewLimiter(rate.Inf, 0) })
	b.ReportAllocs()
	b.ResetTimer()
	stage.ForEach(context.Background(), out, 1, func(context.Context, int) error { return nil })
}
