package batch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/batch"
	"github.com/seed95b73fdc/sluice/stage"
)

// answer is what a caller of Do got, and when.
type answer struct {
	result string
	err    error
	at     time.Duration
}

// ask calls Do for each item, one goroutine each, at the times given.
func ask(c *batch.Coalescer[int, string], at ...time.Duration) []answer {
	answers := make([]answer, len(at))
	start := time.Now()
	var wg sync.WaitGroup
	for i, d := range at {
		wg.Go(func() {
			time.Sleep(d)
			r, err := c.Do(context.Background(), i)
			answers[i] = answer{r, err, time.Since(start)}
		})
	}
	wg.Wait()
	return answers
}

// recorder is a flush that takes a time for each call and notes what it got.
type recorder struct {
	mu   sync.Mutex
	took time.Duration
	got  []string
}

func (r *recorder) flush(ctx context.Context, items []int) ([]string, error) {
	r.mu.Lock()
	r.got = append(r.got, fmt.Sprint(items))
	r.mu.Unlock()
	if !sleep(ctx, r.took) {
		return nil, context.Cause(ctx)
	}
	results := make([]string, len(items))
	for i, v := range items {
		results[i] = fmt.Sprint("r", v)
	}
	return results, nil
}

func closeNow[A, B any](t *testing.T, c *batch.Coalescer[A, B]) {
	t.Helper()
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestCoalescerFlushesBySizeAndAgeExactlyP13(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := &recorder{took: ms}
		c := batch.NewCoalescer(r.flush, 3, batch.Within(10*ms))
		defer closeNow(t, c)
		got := ask(c, 0, 4*ms, 9*ms, 20*ms, 25*ms, 35*ms)
		want := []answer{
			{"r0", nil, 10 * ms}, {"r1", nil, 10 * ms}, {"r2", nil, 10 * ms}, // full at 9 ms
			{"r3", nil, 31 * ms}, {"r4", nil, 31 * ms}, // old at 30 ms
			{"r5", nil, 46 * ms},
		}
		if !slices.Equal(got, want) || !slices.Equal(r.got, []string{"[0 1 2]", "[3 4]", "[5]"}) {
			t.Errorf("got %v, %v", got, r.got)
		}
	})
}

func TestWithoutAnAgeALoneCallerNeverWaitsAndBusyOnesShare(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := &recorder{took: 10 * ms}
		c := batch.NewCoalescer(r.flush, 100)
		defer closeNow(t, c)
		got := ask(c, 0, ms, 2*ms, 15*ms, 100*ms)
		want := []answer{{"r0", nil, 10 * ms}, {"r1", nil, 20 * ms}, {"r2", nil, 20 * ms}, {"r3", nil, 30 * ms}, {"r4", nil, 110 * ms}}
		if !slices.Equal(got, want) || !slices.Equal(r.got, []string{"[0]", "[1 2]", "[3]", "[4]"}) {
			t.Errorf("got %v, %v", got, r.got)
		}
	})
}

// C32
func TestACallerThatGivesUpDoesNotSpoilTheOthers(t *testing.T) {
	for _, opts := range [][]batch.Option{{batch.Within(10 * ms)}, nil} {
		bubble(t, func(t *testing.T) {
			r := &recorder{took: 10 * ms}
			size := 10
			if opts != nil {
				size = 4
			}
			c := batch.NewCoalescer(r.flush, size, opts...)
			defer closeNow(t, c)
			why := errors.New("why")
			ctx, cancel := context.WithCancelCause(context.Background())
			var gone atomic.Int32
			var wg sync.WaitGroup
			wg.Go(func() {
				if r, err := c.Do(context.Background(), 100); err != nil || r != "r100" {
					t.Errorf("%q, %v", r, err)
				}
			})
			// With an age they are in flight when they give up, without they wait
			// for the end of the first flush.
			for i := range 2 {
				wg.Go(func() {
					time.Sleep(time.Duration(1+i*2)*ms - ms/2)
					if r, err := c.Do(ctx, -1-i); err == why && r == "" {
						gone.Add(1)
					}
				})
			}
			wg.Go(func() {
				time.Sleep(5 * ms)
				cancel(why)
			})
			got := ask(c, ms, 3*ms, 4*ms)
			wg.Wait()
			for i, a := range got {
				if a.err != nil || a.result != fmt.Sprint("r", i) {
					t.Errorf("%v", got)
				}
			}
			if gone.Load() != 2 {
				t.Errorf("%d gave up", gone.Load())
			}
			want := []string{"[100]", "[0 1 2]"}
			if opts != nil {
				want = []string{"[100 -1 0 -2]", "[1 2]"}
			}
			if !slices.Equal(r.got, want) {
				t.Errorf("flushed %v, want %v", r.got, want)
			}
		})
	}
}

func TestAnItemIsTakenBackAndTheAgeIsThatOfTheNext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := &recorder{}
		c := batch.NewCoalescer(r.flush, 3, batch.Within(10*ms))
		defer closeNow(t, c)
		ctx, cancel := context.WithTimeout(context.Background(), 8*ms)
		defer cancel()
		go c.Do(ctx, -1)
		synctest.Wait()
		got := ask(c, 3*ms, 9*ms)
		if got[0].at != 13*ms || got[1].at != 13*ms || !slices.Equal(r.got, []string{"[0 1]"}) {
			t.Errorf("%v, %v", got, r.got)
		}
		// A batch that all have left is not flushed, and its timer does no harm.
		ctx, cancel = context.WithTimeout(context.Background(), ms)
		defer cancel()
		if _, err := c.Do(ctx, 7); err != context.DeadlineExceeded {
			t.Error(err)
		}
		if got := ask(c, 5*ms); got[0].at != 15*ms || len(r.got) != 2 {
			t.Errorf("%v, %v", got, r.got)
		}
	})
}

func TestAFlushThatNobodyWaitsForIsCancelledAndNotBefore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		start := time.Now()
		var ended time.Duration
		c := batch.NewCoalescer(func(ctx context.Context, items []int) ([]int, error) {
			<-ctx.Done()
			ended = time.Since(start)
			return items, nil
		}, 2)
		defer closeNow(t, c)
		var wg sync.WaitGroup
		// The second one, alone in its flush behind the first, ends it at 7 ms.
		for _, d := range []time.Duration{5 * ms, 7 * ms} {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), d)
				defer cancel()
				if _, err := c.Do(ctx, 1); err != context.DeadlineExceeded {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		if ended != 5*ms && ended != 7*ms {
			t.Errorf("ended after %v", ended)
		}
	})
}

func TestAFailureIsReportedToExactlyThoseItConcernsP8(t *testing.T) {
	bubble(t, func(t *testing.T) {
		bad := func(_ context.Context, items []int) ([]string, error) {
			results := []string{"a", "b", "c"}
			switch items[0] / 3 {
			case 0:
				return results, errE
			case 1:
				panic(errE)
			case 2:
				runtime.Goexit()
			case 3:
				return results[:2], nil
			case 4:
				return append(results, "d"), nil
			case 5:
				return nil, nil
			}
			return results, nil
		}
		c := batch.NewCoalescer(bad, 3, batch.Within(time.Hour), batch.Name("lookup"))
		defer closeNow(t, c)
		got := ask(c, every(21, ms)...)
		for i, a := range got {
			var p *stage.Panic
			var r *batch.ResultsError
			ok := a.result == "" && a.err != nil
			switch i / 3 {
			case 0:
				ok = ok && a.err == errE
			case 1:
				ok = ok && errors.As(a.err, &p) && p.Stage == "lookup" && errors.Is(a.err, errE) && strings.Contains(string(p.Stack), "coalescer_test.go")
			case 2:
				ok = ok && errors.Is(a.err, stage.ErrGoexit)
			case 3:
				if i%3 < 2 {
					ok = a.err == nil && a.result == string(rune('a'+i%3))
				} else {
					ok = ok && errors.As(a.err, &r) && *r == batch.ResultsError{Items: 3, Results: 2}
				}
			case 4:
				ok = ok && errors.As(a.err, &r) && *r == batch.ResultsError{Items: 3, Results: 4}
			case 5:
				ok = ok && errors.As(a.err, &r) && *r == batch.ResultsError{Items: 3, Results: 0}
			case 6:
				ok = a.err == nil && a.result == string(rune('a'+i%3))
			}
			if !ok {
				t.Errorf("caller %d got %q, %v", i, a.result, a.err)
			}
		}
	})
}

func TestCloseFinishesWhatWasAcceptedAndRefusesTheRestP5(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := &recorder{took: 10 * ms}
		c := batch.NewCoalescer(r.flush, 3, batch.Within(time.Hour))
		var got []answer
		var wg sync.WaitGroup
		wg.Go(func() { got = ask(c, 0, 0, 0, ms, ms) })
		time.Sleep(2 * ms)
		start := time.Now()
		wg.Go(func() { closeNow(t, c) })
		closeNow(t, c)
		if d := time.Since(start); d != 10*ms {
			t.Errorf("closed after %v", d)
		}
		wg.Wait()
		for i, a := range got {
			if a.err != nil || a.result != fmt.Sprint("r", i) {
				t.Errorf("%d: %v", i, a)
			}
		}
		closeNow(t, c) // C23
		if r, err := c.Do(context.Background(), 1); r != "" || err != batch.ErrClosed {
			t.Errorf("%q, %v", r, err)
		}
	})
}

func TestACloseThatGivesUpCancelsTheFlushes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := &recorder{took: time.Hour}
		c := batch.NewCoalescer(r.flush, 1)
		var got []answer
		var wg sync.WaitGroup
		wg.Go(func() { got = ask(c, 0) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 5*ms)
		defer cancel()
		if err := c.Close(ctx); err != context.DeadlineExceeded {
			t.Error(err)
		}
		wg.Wait()
		if got[0].err == nil || got[0].at != 5*ms {
			t.Errorf("%v", got)
		}
		closeNow(t, c)
	})
}

func TestDoWithAnEndedContextBringsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := &recorder{}
		c := batch.NewCoalescer(r.flush, 1)
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errE)
		if _, err := c.Do(ctx, 1); err != errE {
			t.Error(err)
		}
		closeNow(t, c)
		if len(r.got) != 0 {
			t.Errorf("%v", r.got)
		}
	})
}

// C19
func TestAnIdleCoalescerHasNoGoroutine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for range 1000 {
			c := batch.NewCoalescer((&recorder{}).flush, 10, batch.Within(time.Hour))
			go c.Do(context.Background(), 1)
			synctest.Wait()
			closeNow(t, c)
		}
	}) // the bubble ends only when all goroutines have, and no hour has passed
}

// C13: every item that is accepted is flushed once and answered; none else is.
func TestDoAndCloseAtOnceLoseNothing(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	rounds := 60
	if testing.Short() || raceEnabled {
		rounds = 20
	}
	accepted, refused, shared := 0, 0, 0
	for range rounds {
		const callers = 32
		var mu sync.Mutex
		flushed := map[int]int{}
		opts := []batch.Option{}
		if rng.IntN(2) == 0 {
			opts = append(opts, batch.Within(time.Duration(1+rng.IntN(100))*time.Microsecond))
		}
		c := batch.NewCoalescer(func(_ context.Context, items []int) ([]int, error) {
			mu.Lock()
			defer mu.Unlock()
			if len(items) > 1 {
				shared++
			}
			for _, v := range items {
				flushed[v]++
			}
			return items, nil
		}, 1+rng.IntN(8), opts...)
		var wg sync.WaitGroup
		var calls atomic.Int64
		closeAt := int64(1 + rng.IntN(500))
		var answers [callers][]int
		var denied [callers]int
		for g := range callers {
			wg.Go(func() {
				for i := 0; ; i++ {
					v := g*1_000_000 + i
					got, err := c.Do(context.Background(), v)
					if err == batch.ErrClosed {
						denied[g] = v
						return
					}
					if err != nil || got != v {
						t.Errorf("got %d, %v, want %d", got, err, v)
						return
					}
					answers[g] = append(answers[g], v)
					if calls.Add(1) == closeAt {
						wg.Go(func() { closeNow(t, c) })
					}
				}
			})
		}
		wg.Wait()
		for g := range callers {
			for _, v := range answers[g] {
				if flushed[v] != 1 {
					t.Errorf("seed %d: item %d was flushed %d times", seed, v, flushed[v])
				}
				accepted++
			}
			if flushed[denied[g]] != 0 {
				t.Errorf("seed %d: refused item %d was flushed", seed, denied[g])
			}
			refused++
		}
	}
	if accepted == 0 || refused == 0 || shared == 0 {
		t.Errorf("vacuous: %d accepted, %d refused, %d shared flushes", accepted, refused, shared)
	}
}

func TestBadArgumentsOfCoalescersPanicP11(t *testing.T) {
	f := func(_ context.Context, items []int) ([]int, error) { return items, nil }
	for want, make := range map[string]func(){
		"batch.NewCoalescer: flush is nil":                   func() { batch.NewCoalescer[int, int](nil, 1) },
		"batch.NewCoalescer: size is 0, want at least 1":     func() { batch.NewCoalescer(f, 0) },
		"batch.NewCoalescer: option 0 is nil":                func() { batch.NewCoalescer(f, 1, nil) },
		"batch.NewCoalescer: option Reuse does not apply":    func() { batch.NewCoalescer(f, 1, batch.Reuse()) },
		"batch.NewCoalescer: option OpenKeys does not apply": func() { batch.NewCoalescer(f, 1, batch.OpenKeys(1)) },
		"batch.NewCoalescer: option Until does not apply":    func() { batch.NewCoalescer(f, 1, batch.Until(func(int) bool { return true })) },
		"batch.NewCoalescer: option Weigh does not apply":    func() { batch.NewCoalescer(f, 1, batch.Weigh(1, func(int) int { return 1 })) },
		"batch.Coalescer.Do: the context is nil":             func() { batch.NewCoalescer(f, 1).Do(noContext, 1) },
		"batch.Coalescer.Close: the context is nil":          func() { batch.NewCoalescer(f, 1).Close(noContext) },
	} {
		if got := wantPanic(t, make); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// C09: a flush panics when all its callers have given up. Close returns the panic, each
// time, and that of a flush with a caller only to that one.
func TestAPanicThatNoCallerHearsOfIsReturnedByClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		flush := func(_ context.Context, items []string) ([]string, error) {
			time.Sleep(time.Second)
			panic(items[0])
		}
		c := batch.NewCoalescer(flush, 1)
		if _, err := c.Do(t.Context(), "heard"); err == nil {
			t.Error("no error")
		}
		if err := c.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
		c = batch.NewCoalescer(flush, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		for _, item := range []string{"a", "b"} {
			if _, err := c.Do(ctx, item); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Do: %v", err)
			}
		}
		for range 2 {
			var p *stage.Panic
			if err := c.Close(t.Context()); !errors.As(err, &p) || p.Value != "a" {
				t.Errorf("Close: %v", err)
			}
		}
	})
}
