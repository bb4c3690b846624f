package stage_test

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

	"github.com/seed95b73fdc/sluice/stage"
)

// yielder generates 0, 1, 2, … without an end and counts.
type yielder struct {
	begun, closed atomic.Int64
	called        atomic.Int64 // calls of yield
	took          atomic.Int64 // calls that have returned true
	refused       atomic.Int64
}

func (y *yielder) stream() stage.Stream[int] {
	return stage.Generate(func(_ context.Context, yield func(int) bool) error {
		y.begun.Add(1)
		defer y.closed.Add(1)
		for i := 0; ; i++ {
			y.called.Add(1)
			if !yield(i) {
				y.refused.Add(1)
				return nil
			}
			y.took.Add(1)
		}
	})
}

func TestGeneratorIsNeverMoreThanOneItemAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var y yielder
		hands(t, t.Context(), y.stream(), func(rd stage.Reader[int]) {
			buf := make([]stage.Try[int], 100)
			total := 0
			for _, room := range []int{1, 1, 2, 1, 7, 64, 1, 100, 3} {
				for asked := room; asked > 0; {
					k := rd.Next(buf[:asked])
					asked -= k
					total += k
					synctest.Wait()
					took, called := y.took.Load(), y.called.Load()
					// One more at most: the item it was putting when the reader left.
					if took < int64(total) || took > int64(total+1) || called != took+1 {
						t.Errorf("after %d items yield has been called %d times and returned %d times", total, called, took)
					}
				}
			}
		})
		if y.closed.Load() != 1 || y.refused.Load() != 1 {
			t.Errorf("f has returned %d times, and yield false %d times", y.closed.Load(), y.refused.Load())
		}
	})
}

func TestGeneratorIsNotAskedForMoreByAReaderThatLeftWithLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		called := atomic.Int64{}
		in := stage.Generate(func(_ context.Context, yield func(int) bool) error {
			for i := 0; i == 0 || yield(i); i++ {
				if called.Add(1); i == 0 {
					yield(0)
					time.Sleep(time.Second)
				}
			}
			return nil
		})
		hands(t, t.Context(), in, func(rd stage.Reader[int]) {
			var buf [64]stage.Try[int]
			if k := rd.Next(buf[:]); k != 1 {
				t.Errorf("gives %d items, want the one that is there", k)
			}
			time.Sleep(time.Minute)
			if called.Load() != 1 {
				t.Errorf("f has gone on to item %d although nothing was asked for", called.Load())
			}
		})
	})
}

func TestGeneratorWaitsWhileItsReaderIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var y yielder
		err := stage.ForEach(t.Context(), stage.Take(y.stream(), 20), 1, func(_ context.Context, v int) error {
			time.Sleep(time.Second)
			synctest.Wait()
			if took, called := y.took.Load(), y.called.Load(); took != int64(v+1) || called != int64(v+2) && v < 19 {
				t.Errorf("with item %d in hand: yield has been called %d times and returned %d times", v, called, took)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestGeneratedItemsAreEmittedWhenTheyAreYielded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		in := stage.Generate(func(_ context.Context, yield func(int) bool) error {
			for i := range 5 {
				time.Sleep(time.Second)
				yield(i)
			}
			time.Sleep(time.Minute)
			return nil
		})
		for v, err := range in.Seq(t.Context()) {
			if at := time.Since(start); err != nil || at != time.Duration(v+1)*time.Second {
				t.Errorf("item %d at %v, %v", v, at, err)
			}
		}
		if d := time.Since(start); d != 65*time.Second {
			t.Errorf("the end comes after %v", d)
		}
	})
}

func TestGeneratorsErrorIsItsLastItem(t *testing.T) {
	for k := range 4 {
		wantList(t, stage.Generate(func(_ context.Context, yield func(int) bool) error {
			for i := range k {
				yield(i)
			}
			return errA
		}), append(numbers(k), errA)...)
	}
}

func TestGeneratorsErrorIsKeptWhenItOnlyLooksLikeACancellation(t *testing.T) {
	// The run's context has not ended, so this is about something else.
	for _, err := range []error{context.Canceled, context.DeadlineExceeded, stage.ErrClosed} {
		wantList(t, stage.Generate(func(_ context.Context, yield func(int) bool) error {
			yield(1)
			return err
		}), 1, err)
	}
}

func TestGeneratorsErrorThatSaysThatTheRunHasEndedIsDropped(t *testing.T) {
	for name, say := range map[string]func(context.Context) error{"Err": context.Context.Err, "Cause": context.Cause} {
		synctest.Test(t, func(t *testing.T) {
			in := stage.Generate(func(ctx context.Context, yield func(int) bool) error {
				yield(0)
				<-ctx.Done()
				return fmt.Errorf("reading: %w", say(ctx))
			})
			// Stopped by Until, the items of f have simply ended.
			stop := make(chan struct{})
			time.AfterFunc(time.Second, func() { close(stop) })
			if got, err := stage.Collect(t.Context(), stage.Until(in, stop)); err != nil || !slices.Equal(got, []int{0}) {
				t.Errorf("%s: %v, %v", name, got, err)
			}
			// By the context, the terminal returns its cause as it is.
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(errA) })
			if got, err := stage.Collect(ctx, in); err != errA || got != nil {
				t.Errorf("%s: %v, %v", name, got, err)
			}
			// After a Take, nobody asks.
			if got, err := stage.Collect(t.Context(), stage.Take(in, 1)); err != nil || len(got) != 1 {
				t.Errorf("%s: %v, %v", name, got, err)
			}
		})
	}
}

func TestGeneratorOpensAndClosesItsResourceOnceHoweverTheRunEnds(t *testing.T) {
	stop := errors.New("stop")
	roads := map[string]struct {
		run func(ctx context.Context, in stage.Stream[int]) error
		err error
	}{
		"take":  {func(ctx context.Context, in stage.Stream[int]) error { return stage.Discard(ctx, stage.Take(in, 5)) }, nil},
		"first": {func(ctx context.Context, in stage.Stream[int]) error { _, _, err := stage.First(ctx, in); return err }, nil},
		"break": {func(ctx context.Context, in stage.Stream[int]) error {
			for range in.Seq(ctx) {
				break
			}
			return nil
		}, nil},
		"error": {func(ctx context.Context, in stage.Stream[int]) error {
			return stage.ForEach(ctx, in, 4, func(context.Context, int) error { return stop })
		}, stop},
		"panic": {func(ctx context.Context, in stage.Stream[int]) error {
			defer func() { recover() }()
			return stage.ForEach(ctx, in, 4, func(context.Context, int) error { panic(stop) })
		}, nil},
		"cancel": {func(ctx context.Context, in stage.Stream[int]) error {
			ctx, cancel := context.WithCancelCause(ctx)
			return stage.ForEach(ctx, in, 1, func(context.Context, int) error { cancel(stop); return nil })
		}, stop},
		"failed merge": {func(ctx context.Context, in stage.Stream[int]) error {
			return stage.Discard(ctx, stage.Merge(in, stage.Failed[int](stop)))
		}, stop},
	}
	for name, road := range roads {
		t.Run(name, func(t *testing.T) {
			var y yielder
			in := y.stream()
			for run := int64(1); run <= 10; run++ {
				if err := road.run(t.Context(), in); err != road.err {
					t.Fatal(err)
				}
				begun, closed := y.begun.Load(), y.closed.Load()
				if name == "failed merge" && begun == closed {
					continue // the error may come before it is asked
				}
				if begun != run || closed != run {
					t.Fatalf("after %d runs it has been opened %d and closed %d times", run, begun, closed)
				}
			}
		})
	}
}

func TestGeneratorDoesNotStartBeforeItIsAsked(t *testing.T) {
	var y yielder
	wantList(t, stage.Take(y.stream(), 0))
	wantList(t, stage.Zip(stage.Of[int](), y.stream()))
	wantList(t, stage.Take(stage.Concat(stage.Of(1), y.stream()), 1), 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := stage.Discard(ctx, y.stream()); err != context.Canceled {
		t.Fatal(err)
	}
	if y.begun.Load() != 0 {
		t.Fatalf("f has been called %d times", y.begun.Load())
	}
}

func TestYieldAfterFalseReportsFalse(t *testing.T) {
	for _, k := range []int{0, 1, 5} {
		more, again := 0, 0
		in := stage.Generate(func(_ context.Context, yield func(int) bool) error {
			for yield(more) {
				more++
			}
			for range 1000 {
				if yield(-1) {
					again++
				}
			}
			return errA // nobody hears of it
		})
		got, err := stage.Collect(t.Context(), stage.Take(stage.Concat(stage.Of(7), in), k+1))
		if err != nil || len(got) != k+1 || slices.Contains(got, -1) || again > 0 {
			t.Fatal(got, err, again)
		}
	}
}

func TestGeneratorThatIgnoresItsContextIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := false
		in := stage.Generate(func(_ context.Context, yield func(int) bool) error {
			yield(1)
			time.Sleep(time.Hour)
			over = true
			return nil
		})
		start := time.Now()
		if v, _, err := stage.First(t.Context(), in); v != 1 || err != nil || !over || time.Since(start) != time.Hour {
			t.Fatal(v, err, over, time.Since(start))
		}
	})
}

type ctxKey struct{}

func TestGeneratorsContextHasTheValuesOfTheRunsAndEndsWithIt(t *testing.T) {
	ctx := context.WithValue(t.Context(), ctxKey{}, "value")
	var inner context.Context
	in := stage.Generate(func(ctx context.Context, yield func(int) bool) error {
		inner = ctx
		if ctx.Value(ctxKey{}) != "value" || ctx.Err() != nil {
			t.Error(ctx.Value(ctxKey{}), ctx.Err())
		}
		for yield(1) {
		}
		if cause := context.Cause(ctx); cause != stage.ErrClosed {
			t.Errorf("after yield has reported false the cause is %v", cause)
		}
		return nil
	})
	for range 200 {
		err := stage.Discard(ctx, stage.Concat(stage.Take(in, 3), stage.Of(1)))
		if err != nil || inner.Err() == nil || ctx.Err() != nil {
			t.Fatal(err, inner.Err(), ctx.Err())
		}
	}
}

func TestPanicInAGeneratorIsRaisedByTheTerminalAfterItsItems(t *testing.T) {
	for i := range 300 {
		k := []int{0, 1, 100}[i%3]
		asked := false
		in := stage.Generate(func(_ context.Context, yield func(int) bool) error {
			for i := range k {
				yield(i)
			}
			panic(errA)
		})
		next := stage.Generate(func(context.Context, func(int) bool) error { asked = true; return nil })
		seen := 0
		p, _ := panicOf(func() {
			for v, err := range stage.Concat(in, next).Seq(t.Context()) {
				if err != nil || v != seen {
					t.Error(v, err)
				}
				seen++
			}
		}).(*stage.Panic)
		if p == nil || p.Stage != "generate#1" || p.Value != errA || !errors.Is(p, errA) || !strings.Contains(string(p.Stack), "generate_test.go") {
			t.Fatalf("the terminal panics with %v", p)
		}
		if asked {
			t.Fatal("the panic has been taken for the end of the items")
		}
		// Those that the panic overtook are gone; none is there that was not yielded.
		if seen > k {
			t.Fatal(seen)
		}
	}
}

func TestGoexitInAGeneratorIsAnError(t *testing.T) {
	asked := false
	in := stage.Generate(func(_ context.Context, yield func(int) bool) error {
		yield(1)
		runtime.Goexit()
		return nil
	})
	next := stage.Generate(func(context.Context, func(int) bool) error { asked = true; return nil })
	for range 300 {
		got, err := stage.Collect(t.Context(), stage.Concat(in, next))
		if !errors.Is(err, stage.ErrGoexit) || !strings.Contains(err.Error(), "generate#1") || got != nil || asked {
			t.Fatal(got, err, asked)
		}
	}
}

func TestGeneratorAndReaderNeverMissEachOther(t *testing.T) {
	// Each comes to wait at about the time when the other is done.
	const k = 20_000
	idle := func(r *rand.Rand) {
		for range 8 + r.IntN(40) {
			runtime.Gosched()
		}
	}
	seed := rand.Uint64()
	in := stage.Generate(func(_ context.Context, yield func(int) bool) error {
		r := rand.New(rand.NewPCG(seed, 1))
		for i := range k {
			idle(r)
			yield(i)
		}
		return nil
	})
	err := hands(t, t.Context(), in, func(rd stage.Reader[int]) {
		r := rand.New(rand.NewPCG(seed, 2))
		var buf [1]stage.Try[int]
		for i := range k {
			if got := rd.Next(buf[:]); got != 1 || buf[0].Value != i {
				t.Errorf("seed %d, item %d: gives %d items, %v", seed, i, got, buf[0])
				return
			}
			idle(r)
		}
	})
	if err != nil {
		t.Fatal(seed, err)
	}
}

func TestGeneratorFeedsParallelStages(t *testing.T) {
	in := stage.Generate(func(_ context.Context, yield func(int) bool) error {
		for i := range 50_000 {
			if !yield(i) {
				return nil
			}
		}
		return nil
	})
	sum := 0
	for v, err := range stage.Map(in, 4, id).Seq(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		sum += v
	}
	if want := 50_000 * 49_999 / 2; sum != want {
		t.Fatalf("the sum is %d, want %d", sum, want)
	}
}
