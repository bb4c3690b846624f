package stage_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

func TestUntilWithoutAStopPassesEverythingOn(t *testing.T) {
	want := append(numbers(1000), errA, 5, errB)
	wantList(t, stage.Until(items(want...), nil), want...)
	wantList(t, stage.Until(items(want...), make(chan struct{})), want...)
	wantList(t, stage.Until(items(), nil))
}

func TestUntilWhoseStopHasFiredBeforeEmitsNothing(t *testing.T) {
	closed := make(chan struct{})
	close(closed)
	var y yielder
	src := &script{items: numbers(5)}
	wantList(t, stage.Until(src.stream(), closed))
	wantList(t, stage.Until(y.stream(), closed))
	wantList(t, stage.Until(stage.FromChan(make(chan int)), closed))
	if src.gave.Load() != 0 || y.begun.Load() != 0 {
		t.Fatal(src.gave.Load(), y.begun.Load())
	}
	// A stop that receives, rather than being closed, fires once.
	one := make(chan struct{}, 1)
	one <- struct{}{}
	in := stage.Until(items(1, 2), one)
	wantList(t, in)
	wantList(t, in, 1, 2)
}

func TestUntilWhoseStopFiresAfterTheEndChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		got, err := stage.Collect(t.Context(), stage.Until(items(1, 2, 3), stop))
		close(stop)
		if err != nil || !slices.Equal(got, []int{1, 2, 3}) {
			t.Fatal(got, err)
		}
	})
}

func TestUntilFinishesWhatHasBeenAccepted(t *testing.T) {
	for _, n := range []int{stage.Inline, 1, 2, 8} {
		synctest.Test(t, func(t *testing.T) {
			// Every item that a yield has accepted comes out, and is finished although
			// the calls take long after the stop.
			accepted, finished := 0, atomic.Int64{}
			stop := make(chan struct{})
			in := stage.Until(stage.Generate(func(ctx context.Context, yield func(int) bool) error {
				for yield(accepted) {
					accepted++
				}
				if ctx.Err() == nil || context.Cause(ctx) != stage.ErrUntil {
					t.Error(context.Cause(ctx))
				}
				return nil
			}), stop)
			time.AfterFunc(10*time.Second+time.Millisecond, func() { close(stop) })
			got, err := stage.Collect(t.Context(), ordered.Map(in, n, func(ctx context.Context, v int) (int, error) {
				time.Sleep(time.Second)
				if ctx.Err() != nil {
					t.Error("a call downstream has been cancelled")
				}
				finished.Add(1)
				return v, nil
			}))
			most := 12 * n
			if n == stage.Inline {
				most = 10 + 64 // a chunk
			}
			if err != nil || len(got) != accepted || int(finished.Load()) != accepted || accepted < 10*max(n, 1) || accepted > most {
				t.Errorf("n = %d: %d items, %v; %d accepted, %d finished", n, len(got), err, accepted, finished.Load())
			}
			for i, v := range got {
				if i != v {
					t.Fatal(got)
				}
			}
		})
	}
}

func TestUntilLosesNothingWhenItFiresAtAnyMoment(t *testing.T) {
	for i := range share.Times(rounds(3000)) { // every number of items, before and behind a stage, several times
		accepted := 0
		stop := make(chan struct{})
		in := stage.Until(stage.Generate(func(_ context.Context, yield func(int) bool) error {
			for yield(accepted) {
				accepted++
			}
			return nil
		}), stop)
		if i%2 == 0 {
			in = stage.Map(in, 2, id)
		}
		seen := 0
		err := stage.ForEach(t.Context(), in, 1, func(context.Context, int) error {
			if seen++; seen == 1+i%100 {
				go close(stop)
			}
			if seen%16 == 0 {
				runtime.Gosched()
			}
			return nil
		})
		if err != nil || seen != accepted {
			t.Fatalf("run %d: %v, %d accepted, %d seen", i, err, accepted, seen)
		}
	}
}

func TestUntilDeliversWhatItsGeneratorFailsWithWhileItStops(t *testing.T) {
	// Also if downstream has not asked for more by then.
	for _, busy := range []time.Duration{0, 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			stop := make(chan struct{})
			in := stage.Until(stage.Generate(func(ctx context.Context, yield func(int) bool) error {
				yield(1)
				<-ctx.Done()
				return errA // closing the source went wrong
			}), stop)
			time.AfterFunc(time.Second, func() { close(stop) })
			var got []any
			for v, err := range whole(in).Seq(t.Context()) {
				got = append(got, v)
				if err != nil {
					t.Error(err)
				}
				time.Sleep(busy)
			}
			if !slices.Equal(got, []any{1, errA}) {
				t.Fatal(got)
			}
		})
	}
}

func TestUntilEndsWhatBlocks(t *testing.T) {
	blocked := map[string]func() stage.Stream[int]{
		"channel": func() stage.Stream[int] { return stage.FromChan(make(chan int)) },
		"rill":    func() stage.Stream[int] { return stage.FromRill(make(chan stage.Try[int])) },
		"merge": func() stage.Stream[int] {
			return stage.Merge(stage.FromChan(make(chan int)), stage.FromChan(make(chan int)))
		},
		"map": func() stage.Stream[int] {
			return stage.Map(naturals(), 3, func(ctx context.Context, _ int) (int, error) { <-ctx.Done(); return 0, ctx.Err() })
		},
		"ordered map": func() stage.Stream[int] {
			return ordered.Map(naturals(), 3, func(ctx context.Context, _ int) (int, error) { <-ctx.Done(); return 0, context.Cause(ctx) })
		},
		"inline": func() stage.Stream[int] {
			return stage.Map(stage.Of(1), stage.Inline, func(ctx context.Context, _ int) (int, error) { <-ctx.Done(); return 0, ctx.Err() })
		},
		"flatmap": func() stage.Stream[int] {
			return stage.FlatMap(naturals(), 2, func(context.Context, int) stage.Stream[int] { return stage.FromChan(make(chan int)) })
		},
		"branch": func() stage.Stream[int] {
			yes, no := stage.Split(stage.FromChan(make(chan int)), even)
			return stage.Merge(yes, no)
		},
		"generator": func() stage.Stream[int] {
			return stage.Generate(func(ctx context.Context, yield func(int) bool) error { <-ctx.Done(); return ctx.Err() })
		},
	}
	for name, in := range blocked {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stop := make(chan struct{})
				time.AfterFunc(time.Hour, func() { close(stop) })
				start := time.Now()
				// It has ended for downstream, which goes on with something else.
				got, err := stage.Collect(t.Context(), stage.Concat(stage.Until(in(), stop), stage.Of(7)))
				if err != nil || !slices.Equal(got, []int{7}) || time.Since(start) != time.Hour {
					t.Error(got, err, time.Since(start))
				}
			})
		})
	}
}

func TestUntilKeepsTheErrorsThatSayMoreThanItsStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		in := stage.Until(ordered.Map(naturals(), 2, func(ctx context.Context, v int) (int, error) {
			<-ctx.Done()
			if v == 1 {
				return 0, errA
			}
			return 0, ctx.Err()
		}), stop)
		time.AfterFunc(time.Second, func() { close(stop) })
		got, err := stage.Collect(t.Context(), whole(in))
		if err != nil || len(got) > 1 || len(got) == 1 && got[0] != errA {
			t.Error(got, err)
		}
	})
	// Before the stop, they are all errors like any other.
	wantList(t, stage.Until(items(1, context.Canceled, 2, context.DeadlineExceeded), make(chan struct{})), 1, context.Canceled, 2, context.DeadlineExceeded)
}

func TestCancelledContextAbortsWhatUntilWouldFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { close(stop) })
		time.AfterFunc(time.Minute, func() { cancel(errB) })
		start := time.Now()
		// The generator does not end when it is stopped, only when it is aborted.
		in := stage.Generate(func(_ context.Context, yield func(int) bool) error {
			yield(1)
			<-ctx.Done()
			return nil
		})
		got, err := stage.Collect(ctx, stage.Until(in, stop))
		if err != errB || got != nil || time.Since(start) != time.Minute {
			t.Error(got, err, time.Since(start))
		}
	})
}

func TestPanicEndsTheWaitForAGeneratorThatDoesNotStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop, release := make(chan struct{}), make(chan struct{})
		defer close(release)
		time.AfterFunc(time.Second, func() { close(stop) })
		deaf := stage.Generate(func(_ context.Context, yield func(int) bool) error {
			yield(1)
			<-release
			return nil
		})
		late := stage.Map(items(1), 1, func(context.Context, int) (int, error) { time.Sleep(time.Minute); panic(errA) })
		start := time.Now()
		p, _ := panicOf(func() { stage.Discard(t.Context(), stage.Merge(stage.Until(deaf, stop), late)) }).(*stage.Panic)
		if p == nil || p.Value != errA || p.Running != 1 || time.Since(start) != time.Minute+stage.PanicGrace {
			t.Error(p, time.Since(start))
		}
	})
}

func TestUntilsNestAndShareAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop, later := make(chan struct{}), make(chan struct{})
		time.AfterFunc(time.Second, func() { close(stop) })
		time.AfterFunc(time.Minute, func() { close(later) })
		blocked := stage.FromChan(make(chan int))
		start := time.Now()
		in := stage.Until(stage.Merge(stage.Until(blocked, stop), stage.Until(stage.Concat(stage.Of(1), blocked), stop), stage.Until(blocked, later)), nil)
		got, err := stage.Collect(t.Context(), in)
		if err != nil || len(got) != 1 || time.Since(start) != time.Minute {
			t.Error(got, err, time.Since(start))
		}
	})
}

func TestUntilInFrontOfASplitEndsBothSides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		ch := make(chan int)
		go func() {
			for i := range 100 {
				ch <- i
			}
			synctest.Wait()
			close(stop)
		}()
		got := gather(t, splitter(stage.Until(stage.FromChan(ch), stop))...)
		if len(got[0]) != 50 || len(got[1]) != 50 {
			t.Error(len(got[0]), len(got[1]))
		}
	})
}

func TestUntilWhoseStopFiresInsideAFunctionOfTheRunC44(t *testing.T) {
	stop := make(chan struct{})
	var y yielder
	seen := 0
	err := stage.ForEach(t.Context(), stage.Until(y.stream(), stop), 1, func(context.Context, int) error {
		if seen++; seen == 10 {
			close(stop)
		}
		return nil
	})
	if err != nil || seen < 10 || y.took.Load() != int64(seen) {
		t.Fatal(err, seen, y.took.Load())
	}
	if errors.Is(err, stage.ErrUntil) {
		t.Fatal("the cause is never returned")
	}
}
