package stage_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed95b73fdc/sluice/stage"
)

// timed is a channel that gives each value at its time, counted from now, and
// is closed at the end of the last.
func timed(at map[time.Duration]int, end time.Duration) <-chan int {
	ch := make(chan int, len(at))
	start := time.Now()
	var times []time.Duration
	for d := range at {
		times = append(times, d)
	}
	slices.Sort(times)
	go func() {
		defer close(ch)
		for _, d := range times {
			time.Sleep(d - time.Since(start))
			ch <- at[d]
		}
		time.Sleep(end - time.Since(start))
	}()
	return ch
}

const ms = time.Millisecond

// arrivals lists the items of in with the time at which each came.
func arrivals(t *testing.T, in stage.Stream[int], takes time.Duration) (got []string) {
	t.Helper()
	start := time.Now()
	err := stage.ForEach(t.Context(), whole(in), 1, func(_ context.Context, item any) error {
		got = append(got, fmt.Sprintf("%v@%v", item, time.Since(start)))
		time.Sleep(takes)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return append(got, "end@"+time.Since(start).String())
}

func TestThrottleLetsNoMorePassThanTheLimiterSaysP13(t *testing.T) {
	for burst, want := range map[int]string{
		1: "0@0s 1@1s error a@1s 2@2s 3@3s 4@4s end@4s",
		3: "0@0s 1@0s error a@0s 2@0s 3@1s 4@2s end@2s",
	} {
		synctest.Test(t, func(t *testing.T) {
			in := stage.Throttle(items(0, 1, errA, 2, 3, 4), rate.NewLimiter(1, burst))
			if got := strings.Join(arrivals(t, in, 0), " "); got != want {
				t.Errorf("burst %d: %s, want %s", burst, got, want)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if k, err := stage.Count(t.Context(), stage.Throttle(items(numbers(10_000)...), rate.NewLimiter(1000, 50))); k != 10_000 || err != nil {
			t.Error(k, err)
		}
		if d := time.Since(start).Round(ms); d != 9950*ms {
			t.Errorf("10000 items at 1000 a second, the first 50 at once, took %v", d)
		}
		start = time.Now()
		if k, err := stage.Count(t.Context(), stage.Throttle(items(numbers(10_000)...), rate.NewLimiter(rate.Inf, 0))); k != 10_000 || err != nil || time.Since(start) != 0 {
			t.Error(k, err, time.Since(start))
		}
	})
}

func TestStreamsOfOneLimiterShareItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		l := rate.NewLimiter(10, 1)
		in := stage.Merge(stage.Throttle(items(numbers(50)...), l), stage.Throttle(items(numbers(51)...), l))
		if k, err := stage.Count(t.Context(), in); k != 101 || err != nil || time.Since(start).Round(ms) != 10*time.Second {
			t.Error(k, err, time.Since(start))
		}
	})
}

func TestThrottleThatWaitsEndsWithItsRunP6(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Minute)
		defer cancel()
		start, l := time.Now(), rate.NewLimiter(rate.Every(time.Hour), 1)
		got := 0
		err := stage.ForEach(ctx, stage.Throttle(items(numbers(5)...), l), 1, func(context.Context, int) error { got++; return nil })
		if err != context.DeadlineExceeded || got != 2 || time.Since(start) != 90*time.Minute {
			t.Error(err, got, time.Since(start))
		}
		time.Sleep(30 * time.Minute)
		if !l.Allow() { // what was waited for in vain has been given back
			t.Error("the token is gone")
		}
	})
}

// Rates at which limiters have been wrong: so low that the wait overflows, and one
// whose tokens do not come out even; and a request that is refused takes nothing.
func TestThrottleWithTheRatesThatLimitersGotWrongC47(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		l := rate.NewLimiter(1e-10, 1)
		got := 0
		err := stage.ForEach(ctx, stage.Throttle(items(1, 2, 3), l), 1, func(context.Context, int) error { got++; return nil })
		if err != context.DeadlineExceeded || got != 1 {
			t.Errorf("1e-10 a second: %d items in a day, %v", got, err)
		}
		l = rate.NewLimiter(0.7692307692307693, 1)
		start := time.Now()
		if _, ok, err := stage.First(t.Context(), stage.Throttle(items(1), l)); !ok || err != nil || time.Since(start) != 0 {
			t.Errorf("a fresh limiter: %v, %v after %v", ok, err, time.Since(start))
		}
		l = rate.NewLimiter(1e-10, 1)
		if l.AllowN(time.Now(), 2) || l.WaitN(t.Context(), 2) == nil {
			t.Error("two of a burst of one")
		}
		gone, stop := context.WithCancel(t.Context())
		stop()
		stage.Discard(gone, stage.Throttle(items(1), l)) // is over before it begins
		start = time.Now()
		if _, ok, err := stage.First(t.Context(), stage.Throttle(items(1), l)); !ok || err != nil || time.Since(start) != 0 || l.Allow() {
			t.Errorf("after refused requests: %v, %v after %v", ok, err, time.Since(start))
		}
	})
}

func TestThrottleWhoseBurstIsTakenAwayFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := rate.NewLimiter(1, 1)
		err := stage.ForEach(t.Context(), stage.Throttle(items(numbers(5)...), l, stage.Name("slow")), 1, func(context.Context, int) error { l.SetBurst(0); return nil })
		if err == nil || !strings.HasPrefix(err.Error(), "slow: the limiter's burst is 0") {
			t.Error(err)
		}
	})
	if v := fmt.Sprint(panicOf(func() { stage.Throttle(items(), rate.NewLimiter(1, 0)) })); v != "stage.Throttle: limiter has a burst of 0, want at least 1" {
		t.Error(v)
	}
}

func TestDebouncePassesOnWhatHasBeenQuietP13(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Bursts at 0 and at 500 ms, one alone, and one that the end cuts short.
		src := map[time.Duration]int{0: 0, 50 * ms: 1, 149 * ms: 2, 500 * ms: 3, 550 * ms: 4, 800 * ms: 5, 1000 * ms: 6, 1050 * ms: 7}
		var dropped []int
		in := stage.Debounce(stage.FromChan(timed(src, 1060*ms)), 100*ms, stage.OnDrop(func(v int) { dropped = append(dropped, v) }))
		want := "2@249ms 4@650ms 5@900ms 7@1.06s end@1.06s"
		if got := strings.Join(arrivals(t, in, 0), " "); got != want || !slices.Equal(dropped, []int{0, 1, 3, 6}) {
			t.Errorf("%s, want %s; dropped %v", got, want, dropped)
		}
	})
}

func TestDebounceDropsNothingThatHasBeenQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := map[time.Duration]int{0: 0, 200 * ms: 1, 400 * ms: 2, 600 * ms: 3}
		ctx, stats := stage.WithStats(t.Context())
		var got []int
		err := stage.ForEach(ctx, stage.Debounce(stage.FromChan(timed(src, time.Second)), 100*ms, stage.Name("d")), 1, func(_ context.Context, v int) error {
			got = append(got, v)
			time.Sleep(time.Second)
			return nil
		})
		// While the reader is away until 1.1 s, 1 becomes due, and upstream waits.
		if s := statOf(t, stats, "d"); err != nil || !slices.Equal(got, []int{0, 1, 3}) || s.Dropped != 1 || s.In != 4 || s.Out != 3 {
			t.Error(err, got, s)
		}
	})
}

func TestSamplePassesTheNewestOnEverySoOftenP13(t *testing.T) {
	src := map[time.Duration]int{10 * ms: 0, 20 * ms: 1, 110 * ms: 2, 350 * ms: 3, 390 * ms: 4, 410 * ms: 5}
	synctest.Test(t, func(t *testing.T) {
		var dropped []int
		in := stage.Sample(stage.FromChan(timed(src, 420*ms)), 100*ms, stage.OnDrop(func(v int) { dropped = append(dropped, v) }))
		want := "1@100ms 2@200ms 4@400ms 5@420ms end@420ms"
		if got := strings.Join(arrivals(t, in, 0), " "); got != want || !slices.Equal(dropped, []int{0, 3}) {
			t.Errorf("%s, want %s; dropped %v", got, want, dropped)
		}
	})
	synctest.Test(t, func(t *testing.T) { // a reader that comes late gets the newest at once
		in := stage.Sample(stage.FromChan(timed(src, 900*ms)), 100*ms)
		want := "1@100ms 4@400ms 5@700ms end@1s"
		if got := strings.Join(arrivals(t, in, 300*ms), " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

func TestErrorsPassDebounceAndSampleInTheirPlaceP8(t *testing.T) {
	for name, op := range map[string]func(stage.Stream[int], time.Duration, ...stage.Option) stage.Stream[int]{"debounce": stage.Debounce[int], "sample": stage.Sample[int]} {
		synctest.Test(t, func(t *testing.T) {
			got := arrivals(t, op(items(errA, 1, 2, errA, errB, 3, 4), time.Hour), 0)
			if want := []string{"error a@0s", "2@0s", "error a@0s", "error b@0s", "4@0s", "end@0s"}; !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		})
	}
}

func TestWhatHoldsTheNewestEndsWithItsRunP5P6(t *testing.T) {
	for name, op := range map[string]func(stage.Stream[int], time.Duration, ...stage.Option) stage.Stream[int]{"debounce": stage.Debounce[int], "sample": stage.Sample[int]} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Minute, func() { cancel(errB) })
			start := time.Now()
			never := make(chan int, 1)
			never <- 1
			if err := stage.Discard(ctx, op(stage.FromChan(never), time.Hour)); err != errB || time.Since(start) != time.Minute {
				t.Error(name, err, time.Since(start))
			}
			src := &tally{t: t, size: 100}
			if v, ok, err := stage.First(t.Context(), op(src.stream(), time.Hour)); v != 99 || !ok || err != nil || !src.allClosed() {
				t.Error(name, v, ok, err)
			}
			p, _ := panicOf(func() {
				_ = stage.Discard(t.Context(), op(items(1, 2, 3), time.Hour, stage.Name(name), stage.OnDrop(func(int) { panic(errA) })))
			}).(*stage.Panic)
			if p == nil || p.Stage != name || !errors.Is(p, errA) {
				t.Error(name, p)
			}
		})
	}
}

// A debounced branch waits for its clock, and that is no stall.
func TestWaitForAClockIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		yes, no := stage.Split(items(numbers(6)...), even)
		start := time.Now()
		in := stage.Zip(yes, stage.Debounce(stage.Concat(no, stage.FromChan(timed(nil, time.Hour))), time.Second))
		k, err := stage.Count(t.Context(), in)
		if err != nil || k != 1 {
			t.Error(k, err, time.Since(start))
		}
	})
}
