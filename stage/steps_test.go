package stage_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

type pair = stage.Pair[int, int]

func TestTakePassesOnTheFirstValuesAndTheErrorsAmongThem(t *testing.T) {
	for _, step := range []int{0, 1, 2} {
		for _, c := range []struct {
			in   []any
			k    int
			want []any
		}{
			{numbers(3), 0, nil},
			{numbers(3), 1, numbers(1)},
			{numbers(3), 3, numbers(3)},
			{numbers(3), 4, numbers(3)},
			{nil, 1, nil},
			{[]any{errA, 1, errB, 2, errA, 3}, 2, []any{errA, 1, errB, 2}},
			{[]any{errA, errB}, 1, []any{errA, errB}},
			{[]any{1, errA}, 1, []any{1}},
		} {
			src := &script{items: c.in, step: step}
			wantList(t, stage.Take(src.stream(), c.k), c.want...)
			if c.k == 0 && src.asked.Load() != 0 {
				t.Fatal("Take(0) has asked for something")
			}
		}
	}
}

func TestTakeAsksUpstreamForNoMoreThanIsMissing(t *testing.T) {
	for _, k := range []int{1, 2, 3, 64, 65, 200, 1000} {
		src := &script{items: numbers(5000)}
		wantList(t, stage.Take(src.stream(), k), numbers(k)...)
		if gave := src.gave.Load(); gave != int64(k) {
			t.Errorf("Take(%d) has taken %d items", k, gave)
		}
	}
}

func TestTakeCancelsUpstreamAsSoonAsItsLastValueIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cancelled time.Duration
		start := time.Now()
		in := stage.Generate(func(ctx context.Context, yield func(int) bool) error {
			for i := 0; yield(i); i++ {
				if i == 2 {
					<-ctx.Done()
					cancelled = time.Since(start)
				}
			}
			return nil
		})
		err := stage.ForEach(t.Context(), stage.Take(in, 3), 1, func(context.Context, int) error {
			time.Sleep(time.Second)
			return nil
		})
		// The third value comes after two seconds; it takes another one.
		if err != nil || cancelled != 2*time.Second {
			t.Fatal(err, cancelled)
		}
	})
}

func TestTakeWhilePassesOnWhatComesBeforeTheFirstMiss(t *testing.T) {
	small := func(v int) bool { return v < 3 }
	fails := func(_ context.Context, v int) (bool, error) {
		if v == 1 {
			return false, errB
		}
		return v < 3, nil
	}
	for _, step := range []int{0, 1, 2} {
		stream := func(items ...any) stage.Stream[int] { return (&script{items: items, step: step}).stream() }
		wantList(t, stage.TakeWhile(stream(), small))
		wantList(t, stage.TakeWhile(stream(5, errA), small))
		wantList(t, stage.TakeWhile(stream(0, errA, 1, 5, errB, 0), small), 0, errA, 1)
		wantList(t, stage.TakeWhile(stream(0, 1, 2), small), 0, 1, 2)
		wantList(t, stage.TakeWhile(stream(0, 1, 2, 3), fails), 0, errB, 2)
		wantList(t, stage.TakeWhile(naturals(), small), 0, 1, 2)
	}
}

func TestDropSkipsTheFirstValuesAndNoErrors(t *testing.T) {
	for _, step := range []int{0, 1, 2} {
		stream := func(items ...any) stage.Stream[int] { return (&script{items: items, step: step}).stream() }
		wantList(t, stage.Drop(stream(), 1))
		wantList(t, stage.Drop(stream(numbers(3)...), 0), 0, 1, 2)
		wantList(t, stage.Drop(stream(numbers(3)...), 3))
		wantList(t, stage.Drop(stream(numbers(3)...), 4))
		wantList(t, stage.Drop(stream(errA, 1, errB, 2, errA, 3), 2), errA, errB, errA, 3)
		wantList(t, stage.Drop(stream(numbers(200)...), 150), numbers(200)[150:]...)
	}
}

func TestDropWhilePassesOnEverythingFromTheFirstMissOn(t *testing.T) {
	small := func(v int) bool { return v < 3 }
	calls := 0
	fails := func(_ context.Context, v int) (bool, error) {
		calls++
		if v == 1 {
			return true, errB
		}
		return v < 3, nil
	}
	wantList(t, stage.DropWhile(items(), small))
	wantList(t, stage.DropWhile(items(0, 1, 2), small))
	wantList(t, stage.DropWhile(items(0, errA, 1, 5, errB, 0), small), errA, 5, errB, 0)
	wantList(t, stage.DropWhile(items(0, 1, 2, 5, 1, 0), fails), errB, 5, 1, 0)
	if calls != 4 {
		t.Errorf("pred has been called %d times, want 4: no more after the first miss", calls)
	}
}

func TestScanEmitsTheStateAfterEachValue(t *testing.T) {
	wantList(t, stage.Scan(items(), 10, plus))
	wantList(t, stage.Scan(items(1, 2, 3), 10, plus), 11, 13, 16)
	wantList(t, stage.Scan(items(errA, 1, errB, 2), 0, plus), errA, 1, errB, 3)
	fails := func(_ context.Context, s, v int) (int, error) {
		if v == 2 {
			return 1000, errB
		}
		return s + v, nil
	}
	wantList(t, stage.Scan(items(1, 2, 3), 0, fails), 1, errB, 4) // the state stays as it is
	text := stage.Scan(items(1, 2), "", func(s string, v int) string { return s + fmt.Sprint(v) })
	wantList(t, text, "1", "12")
}

func TestTapSeesTheValuesInOrderAndPassesThemOn(t *testing.T) {
	var seen []int
	wantList(t, stage.Tap(items(1, errA, 2, 3), func(v int) { seen = append(seen, v) }), 1, errA, 2, 3)
	if !slices.Equal(seen, []int{1, 2, 3}) {
		t.Error(seen)
	}
	wantList(t, stage.Tap(items(1, 2, 3), func(_ context.Context, v int) error {
		if v == 2 {
			return errB
		}
		return nil
	}), 1, errB, 3)
}

func TestStepsGiveTheirFunctionsTheContextOfTheRun(t *testing.T) {
	ctx := context.WithValue(t.Context(), ctxKey{}, "value")
	calls := 0
	see := func(ctx context.Context) {
		calls++
		if ctx.Value(ctxKey{}) != "value" || ctx.Err() != nil {
			t.Error(ctx.Value(ctxKey{}), ctx.Err())
		}
	}
	test := func(ctx context.Context, v int) (bool, error) { see(ctx); return v < 10, nil }
	in := stage.Tap(stage.Of(1), func(ctx context.Context, _ int) error { see(ctx); return nil })
	in = stage.Scan(in, 0, func(ctx context.Context, s, v int) (int, error) { see(ctx); return s + v, nil })
	in = stage.TakeWhile(in, test)
	yes, _ := stage.Split(in, test)
	in = stage.Partition(yes, 1, func(ctx context.Context, _ int) (int, error) { see(ctx); return 0, nil })[0]
	in = stage.DropWhile(stage.Concat(in, stage.Of(20)), test)
	if got, err := stage.Collect(ctx, in); err != nil || !slices.Equal(got, []int{20}) || calls != 7 {
		t.Fatal(got, err, calls)
	}
}

func TestStepsTakeFunctionsOfNamedTypes(t *testing.T) {
	type plain func(int) bool
	type full func(context.Context, int) (bool, error)
	type effect func(int)
	type fullEffect func(context.Context, int) error
	type fold func(int, int) int
	type fullFold func(context.Context, int, int) (int, error)
	type route func(int) int
	type fullRoute func(context.Context, int) (int, error)
	small := func(v int) bool { return v < 2 }
	wantList(t, stage.TakeWhile(stage.Of(0, 1, 2), plain(small)), 0, 1)
	wantList(t, stage.DropWhile(stage.Of(0, 1, 2), full(func(_ context.Context, v int) (bool, error) { return small(v), nil })), 2)
	wantList(t, stage.Tap(stage.Of(0), effect(func(int) {})), 0)
	wantList(t, stage.Tap(stage.Of(0), fullEffect(func(context.Context, int) error { return errA })), errA)
	wantList(t, stage.Scan(stage.Of(1, 2), 0, fold(plus)), 1, 3)
	wantList(t, stage.Scan(stage.Of(1, 2), 0, fullFold(func(_ context.Context, a, b int) (int, error) { return a - b, nil })), -1, -3)
	wantList(t, stage.Partition(stage.Of(0, 1), 2, route(func(v int) int { return v }))[1], 1)
	wantList(t, stage.Partition(stage.Of(0, 1), 2, fullRoute(func(_ context.Context, v int) (int, error) { return v, nil }))[0], 0)
}

func TestConcatEmitsOneStreamAfterTheOther(t *testing.T) {
	wantList(t, stage.Concat[int]())
	wantList(t, stage.Concat(items(), items(1, errA), items(), items(errB, 2), items()), 1, errA, errB, 2)
	wantList(t, stage.Concat(items(numbers(100)...)), numbers(100)...)
}

func TestConcatClosesEachStreamBeforeItReadsTheNext(t *testing.T) {
	var srcs []*script
	var ins []stage.Stream[int]
	for i := range 3 {
		srcs = append(srcs, &script{items: []any{i}})
		ins = append(ins, srcs[i].stream())
	}
	in := stage.Tap(stage.Concat(ins...), func(v int) {
		for i, src := range srcs {
			if closed := src.closed.Load() == 1; closed != (i < v) {
				t.Errorf("with value %d: source %d closed: %v", v, i, closed)
			}
		}
	})
	wantList(t, in, 0, 1, 2)
	first, second := &script{items: []any{1}}, &script{items: []any{2}}
	wantList(t, stage.Take(stage.Concat(first.stream(), second.stream()), 1), 1)
	if first.closed.Load() != 1 || second.closed.Load() != 1 || second.asked.Load() != 0 {
		t.Error("closed", first.closed.Load(), second.closed.Load(), "asked", second.asked.Load())
	}
}

func TestConcatDoesNotTakeACancellationForAnEnd(t *testing.T) {
	next := &script{items: []any{errB}}
	for name, second := range map[string]stage.Stream[int]{"failed": stage.Failed[int](errB), "script": next.stream()} {
		// The context ends: its cause is returned, not an error that was not reached.
		ctx, cancel := context.WithCancelCause(t.Context())
		err := stage.ForEach(ctx, stage.Concat(items(numbers(1000)...), second), 1, func(_ context.Context, v int) error {
			if v == 5 {
				cancel(errA)
			}
			return nil
		})
		if err != errA {
			t.Errorf("%s: %v", name, err)
		}
		// A stop fires: the streams that come after have ended with the first one.
		stop, ch := make(chan struct{}), make(chan int, 1)
		ch <- 1
		err = stage.ForEach(t.Context(), stage.Until(stage.Concat(stage.FromChan(ch), second), stop), 1, func(context.Context, int) error {
			close(stop)
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if next.asked.Load() != 0 {
		t.Error("the second stream has been asked")
	}
}

func TestNoPredicateIsCalledOnceTheRunIsCancelled(t *testing.T) {
	for _, errs := range []bool{false, true} {
		for name, step := range map[string]func(in stage.Stream[int], see func()) stage.Stream[int]{
			"takewhile": func(in stage.Stream[int], see func()) stage.Stream[int] {
				return stage.TakeWhile(in, func(int) bool { see(); return true })
			},
			"dropwhile": func(in stage.Stream[int], see func()) stage.Stream[int] {
				return stage.DropWhile(in, func(int) bool { see(); return true })
			},
			"tap": func(in stage.Stream[int], see func()) stage.Stream[int] { return stage.Tap(in, func(int) { see() }) },
			"split": func(in stage.Stream[int], see func()) stage.Stream[int] {
				yes, _ := stage.Split(in, func(int) bool { see(); return true })
				return yes
			},
			"partition": func(in stage.Stream[int], see func()) stage.Stream[int] {
				return stage.Partition(in, 2, func(int) int { see(); return 1 })[1]
			},
		} {
			for _, at := range []int{0, 1, 200} {
				ctx, cancel := context.WithCancelCause(t.Context())
				done, after := false, 0
				list := numbers(1000)
				if errs {
					list = append(list[:at+1:at+1], errB) // and an error that is there already is not lost
				}
				in := stage.Tap(items(list...), func(v int) {
					if v == at {
						cancel(errA)
						done = true
					}
				})
				err := stage.Discard(ctx, step(in, func() {
					if done {
						after++
					}
				}))
				if after != 0 || err != errA && (!errs || err != errB) {
					t.Errorf("%s: %d calls after the cancellation, %v", name, after, err)
				}
			}
		}
	}
}

func TestZipPairsTheValuesAndEndsWithTheShorter(t *testing.T) {
	for _, step := range []int{0, 1, 3} {
		stream := func(items ...any) stage.Stream[int] { return (&script{items: items, step: step}).stream() }
		wantList(t, stage.Zip(stream(), stream()))
		wantList(t, stage.Zip(stream(1), stream()))
		wantList(t, stage.Zip(stream(), stream(1)))
		wantList(t, stage.Zip(stream(1, 2), stream(3, 4)), pair{1, 3}, pair{2, 4})
		wantList(t, stage.Zip(stream(1, 2, 5, 6), stream(3, 4)), pair{1, 3}, pair{2, 4})
		wantList(t, stage.Zip(stream(1, 2), stream(3, 4, 5, 6)), pair{1, 3}, pair{2, 4})
		wantList(t, stage.Zip(naturals(), stream(7, 8)), pair{0, 7}, pair{1, 8})
		wantList(t, stage.Zip(stream(7, 8), naturals()), pair{7, 0}, pair{8, 1})
		for _, k := range []int{63, 64, 65, 1000} {
			var want []any
			for i := range k {
				want = append(want, pair{i, i})
			}
			wantList(t, stage.Zip(stream(numbers(k)...), stream(numbers(k+1)...)), want...)
		}
	}
}

func TestErrorsOfAZipTakeNoPartner(t *testing.T) {
	for _, step := range []int{0, 1, 3} {
		stream := func(items ...any) stage.Stream[int] { return (&script{items: items, step: step}).stream() }
		wantList(t, stage.Zip(stream(errA, 1), stream(2)), errA, pair{1, 2})
		wantList(t, stage.Zip(stream(1), stream(errB, 2)), errB, pair{1, 2})
		wantList(t, stage.Zip(stream(errA, 1), stream(errB, 2)), errA, errB, pair{1, 2})
		wantList(t, stage.Zip(stream(1, errA, 2), stream(3, errB, 4)), pair{1, 3}, errA, errB, pair{2, 4})
		wantList(t, stage.Zip(stream(1, errA), stream(3)), pair{1, 3}, errA)
		wantList(t, stage.Zip(stream(1), stream(3, errB)), pair{1, 3})
	}
}

func TestZipHandsOnWhatItHasBeforeItWaitsForMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fast, slow := make(chan int, 100), make(chan int, 100)
		for i := range 10 {
			fast <- i
		}
		slow <- 0
		slow <- 1
		hands(t, t.Context(), stage.Zip(stage.FromChan(fast), stage.FromChan(slow)), func(rd stage.Reader[pair]) {
			var buf [64]stage.Try[pair]
			if k := rd.Next(buf[:]); k != 2 {
				t.Errorf("gives %d of 2 pairs", k)
			}
			close(slow)
			if k := rd.Next(buf[:]); k != 0 {
				t.Errorf("gives %d pairs after the end", k)
			}
		})
	})
}

func TestZipClosesTheLongerStreamWhenTheShorterEnds(t *testing.T) {
	var y yielder
	long := y.stream()
	wantList(t, stage.Concat(
		stage.Transform("drop", stage.Zip(long, items(1)), stage.Inline, stage.InOrder, stage.MapFunc("test", func(_ context.Context, p pair) (int, error) { return p.Second, nil })),
		stage.Tap(items(2), func(int) {
			if y.closed.Load() != 1 {
				t.Error("the longer one is still open")
			}
		})), 1, 2)
}

func TestErrorOfAStepIsReturnedByTheTerminalInItsPlace(t *testing.T) {
	for _, in := range []stage.Stream[int]{
		items(1, errA, errB), items(errA, 1), stage.Take(items(1, errA), 2), stage.Concat(items(1), items(errA)),
		stage.Scan(items(1, errA), 0, plus), stage.Drop(items(1, errA), 1), stage.Until(items(1, errA), nil),
	} {
		if got, err := stage.Collect(t.Context(), in); err != errA || got != nil {
			t.Error(got, err)
		}
	}
}

func TestSlowStepHandsOnEachItemWhenItIsDone(t *testing.T) {
	slow := func(v int) bool { time.Sleep(time.Second); return v >= 0 }
	yes, _ := stage.Split(items(numbers(100)...), slow)
	for name, in := range map[string]stage.Stream[int]{
		"tap":       stage.Tap(items(numbers(100)...), func(v int) { slow(v) }),
		"map":       stage.Map(items(numbers(100)...), stage.Inline, nap(time.Second)),
		"scan":      stage.Scan(items(numbers(100)...), 0, func(_, v int) int { slow(v); return v }),
		"takewhile": stage.TakeWhile(items(numbers(100)...), slow),
		"split":     yes,
		"partition": stage.Partition(items(numbers(100)...), 2, func(v int) int { slow(v); return 1 })[1],
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			for v, err := range in.Seq(t.Context()) {
				if at := time.Since(start); err != nil || at != time.Duration(v+1)*time.Second {
					t.Fatalf("%s: item %d comes after %v, %v", name, v, at, err)
				}
			}
		})
	}
}

func TestPanicOfAStepsFunctionNamesTheStep(t *testing.T) {
	boom := func(int) bool { panic(errA) }
	for name, in := range map[string]stage.Stream[int]{
		"tap#1":       stage.Tap(stage.Of(1), func(int) { panic(errA) }),
		"takewhile#1": stage.TakeWhile(stage.Of(1), boom),
		"dropwhile#1": stage.DropWhile(stage.Of(1), boom),
		"scan#1":      stage.Scan(stage.Of(1), 0, func(int, int) int { panic(errA) }),
		"split#1":     func() stage.Stream[int] { yes, _ := stage.Split(stage.Of(1), boom); return yes }(),
		"partition#1": stage.Partition(stage.Of(1), 3, func(int) int { panic(errA) })[1],
	} {
		in = stage.Take(stage.Concat(in, in), 5)
		p, _ := panicOf(func() { stage.Discard(t.Context(), in) }).(*stage.Panic)
		if p == nil || p.Stage != name || p.Value != errA || !errors.Is(p, errA) {
			t.Errorf("%s: the terminal panics with %v", name, p)
		}
	}
}

func TestBadArgumentOfAStepPanicsAtConstructionC05(t *testing.T) {
	var pred func(int) bool
	var full func(context.Context, int) (bool, error)
	for text, f := range map[string]func(){
		"stage.Take: k is -1, want at least 0": func() { stage.Take(stage.Of(1), -1) },
		"stage.Drop: k is -3, want at least 0": func() { stage.Drop(stage.Of(1), -3) },
		"stage.TakeWhile: pred is nil":         func() { stage.TakeWhile(stage.Of(1), pred) },
		"stage.DropWhile: pred is nil":         func() { stage.DropWhile(stage.Of(1), full) },
		"stage.Tap: f is nil":                  func() { stage.Tap(stage.Of(1), (func(int))(nil)) },
		"stage.Scan: f is nil":                 func() { stage.Scan(stage.Of(1), 0, (func(int, int) int)(nil)) },
	} {
		if got := panicOf(f); got != text {
			t.Errorf("panics with %v, want %s", got, text)
		}
	}
}
