package retry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/seed95b73fdc/sluice/examples/retry"
	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

var errFlaky = errors.New("flaky")

// backoff pauses 100 ms, 200 ms, 400 ms before the second to the fourth attempt.
func backoff() failsafe.Policy[int] {
	return retrypolicy.NewBuilder[int]().
		WithMaxRetries(3).
		WithBackoff(100*time.Millisecond, time.Second).
		ReturnLastFailure().
		Build()
}

// flaky fails the first attempts of some items, and notes when attempts begin.
type flaky struct {
	mu       sync.Mutex
	start    time.Time
	failures map[int]int // how many attempts are to fail
	began    map[int][]time.Duration
}

func newFlaky(failures map[int]int) *flaky {
	return &flaky{start: time.Now(), failures: failures, began: map[int][]time.Duration{}}
}

func (f *flaky) call(_ context.Context, i int) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.began[i] = append(f.began[i], time.Since(f.start))
	if f.failures[i] > 0 {
		f.failures[i]--
		return -1, fmt.Errorf("item %d: %w", i, errFlaky)
	}
	return i, nil
}

func (f *flaky) attempts(i int) []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.began[i])
}

func ms(all ...int) []time.Duration {
	var ds []time.Duration
	for _, n := range all {
		ds = append(ds, time.Duration(n)*time.Millisecond)
	}
	return ds
}

func wantTimes(t *testing.T, what string, got, want []time.Duration) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s at %v, want %v", what, got, want)
	}
}

// C117: what is tried again is not overtaken; and (P3) it holds up only what has
// no slot in the window.
func TestItemThatIsTriedAgainHoldsItsPlaceAndBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFlaky(map[int]int{0: 3, 2: 1})
		var out []int
		var at []time.Duration
		in := stage.Of(0, 1, 2, 3, 4, 5)
		err := stage.ForEach(t.Context(), ordered.Map(in, 2, retry.With(f.call, backoff()), stage.Window(4)), 1, func(_ context.Context, i int) error {
			out, at = append(out, i), append(at, time.Since(f.start))
			return nil
		})
		if err != nil || !slices.Equal(out, []int{0, 1, 2, 3, 4, 5}) {
			t.Fatalf("%v, error %v", out, err)
		}
		wantTimes(t, "attempts of 0", f.attempts(0), ms(0, 100, 300, 700))
		// The other call does 1, then 2 and 3 while 0 pauses; the window is full then.
		wantTimes(t, "attempts of 1", f.attempts(1), ms(0))
		wantTimes(t, "attempts of 2", f.attempts(2), ms(0, 100))
		wantTimes(t, "attempts of 3", f.attempts(3), ms(100))
		wantTimes(t, "attempts of 4", f.attempts(4), ms(700))
		wantTimes(t, "results", at, ms(700, 700, 700, 700, 700, 700))
	})
}

func TestErrorOfTheLastAttemptStandsInThePlaceOfTheItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFlaky(map[int]int{1: 99})
		var out []string
		for i, err := range ordered.Map(stage.Of(0, 1, 2), 3, retry.With(f.call, backoff())).Seq(t.Context()) {
			out = append(out, fmt.Sprint(i, err))
		}
		if want := []string{"0 <nil>", "0 item 1: flaky"}; !slices.Equal(out, want) {
			t.Errorf("%q, want %q", out, want)
		}
		wantTimes(t, "attempts", f.attempts(1), ms(0, 100, 300, 700))
	})
}

func TestPauseEndsWithTheRunP6(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("enough")
		time.AfterFunc(150*time.Millisecond, func() { cancel(cause) })
		f := newFlaky(map[int]int{0: 99})
		_, err := stage.Collect(ctx, ordered.Map(stage.Of(0), 1, retry.With(f.call, backoff())))
		if err != cause || time.Since(f.start) != 150*time.Millisecond {
			t.Errorf("error %v after %v", err, time.Since(f.start))
		}
		wantTimes(t, "attempts", f.attempts(0), ms(0, 100))

		// And called without a stage.
		began := time.Now()
		time.AfterFunc(time.Millisecond, func() { cancel(cause) })
		if i, err := retry.With(f.call, backoff())(ctx, 0); i != 0 || err != cause || time.Since(began) != 0 {
			t.Errorf("%d, error %v after %v", i, err, time.Since(began))
		}
	})
}

func TestAttemptSeesTheContextOfTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("enough")
		time.AfterFunc(time.Second, func() { cancel(cause) })
		began := 0
		hang := func(ctx context.Context, _ int) (int, error) {
			began++
			<-ctx.Done()
			return 0, errFlaky
		}
		_, err := stage.Collect(ctx, ordered.Map(stage.Of(0), 1, retry.With(hang, backoff())))
		if err != cause || began != 1 {
			t.Errorf("error %v after %d attempts", err, began)
		}
	})
}

func TestStopFinishesWhatIsBeingTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		time.AfterFunc(50*time.Millisecond, func() { close(stop) })
		f := newFlaky(map[int]int{0: 3})
		endless := stage.Generate(func(_ context.Context, yield func(int) bool) error {
			for i := 0; yield(i); i++ {
			}
			return nil
		})
		all, err := stage.Collect(t.Context(), ordered.Map(stage.Until(endless, stop), 2, retry.With(f.call, backoff()), stage.Window(2)))
		if err != nil || !slices.Equal(all, []int{0, 1}) {
			t.Errorf("%v, error %v", all, err)
		}
		wantTimes(t, "attempts", f.attempts(0), ms(0, 100, 300, 700))
	})
}

func TestWithoutPoliciesAFunctionIsCalledOnce(t *testing.T) {
	f := newFlaky(map[int]int{0: 1})
	call := retry.With(f.call)
	if _, err := call(t.Context(), 0); !errors.Is(err, errFlaky) {
		t.Error(err)
	}
	if i, err := call(t.Context(), 7); i != 7 || err != nil {
		t.Error(i, err)
	}
}

func TestNilFunctionPanicsAtConstructionP11(t *testing.T) {
	defer func() {
		if got := recover(); got != "retry.With: f is nil" {
			t.Errorf("panic %v", got)
		}
	}()
	retry.With[int, int](nil)
}
