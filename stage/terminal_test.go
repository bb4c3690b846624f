package stage_test

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
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

func isEven(_ context.Context, v int) (bool, error) { return v%2 == 0, nil }

func TestCollectCountAndDiscard(t *testing.T) {
	for _, k := range []int{0, 1, 2, 64, 65, 1000} {
		got, err := stage.Collect(t.Context(), items(numbers(k)...))
		if err != nil || len(got) != k || k > 0 && got[k-1] != k-1 {
			t.Error(len(got), err)
		}
		if n, err := stage.Count(t.Context(), items(numbers(k)...)); n != k || err != nil {
			t.Error(n, err)
		}
		if err := stage.Discard(t.Context(), items(numbers(k)...)); err != nil {
			t.Error(err)
		}
	}
}

func TestFirstReturnsTheFirstItemAndAsksForNoMore(t *testing.T) {
	src := &script{items: []any{5, errA}}
	if v, found, err := stage.First(t.Context(), src.stream()); v != 5 || !found || err != nil || src.gave.Load() != 1 {
		t.Error(v, found, err, src.gave.Load())
	}
	if v, found, err := stage.First(t.Context(), items()); v != 0 || found || err != nil {
		t.Error(v, found, err)
	}
}

func TestWithAnErrorEveryCompanionResultIsZeroC03(t *testing.T) {
	// The error first, in the middle, and last; the answer as far as it goes would be true.
	yes := func(context.Context, int) (bool, error) { return true, nil }
	no := func(context.Context, int) (bool, error) { return false, nil }
	for _, in := range []stage.Stream[int]{items(1, errA, 2), items(errA, 1), items(1, 2, errA), items(errA)} {
		for _, n := range []int{stage.Inline, 1, 4} {
			if got, err := stage.All(t.Context(), in, n, yes); got || err != errA {
				t.Errorf("All: %v, %v", got, err)
			}
			if got, err := stage.Any(t.Context(), in, n, no); got || err != errA {
				t.Errorf("Any: %v, %v", got, err)
			}
			sum := func(_ context.Context, a, b int) (int, error) { return a + b, nil }
			if got, ok, err := stage.Reduce(t.Context(), in, n, sum); got != 0 || ok || err != errA {
				t.Errorf("Reduce: %v, %v, %v", got, ok, err)
			}
		}
		if got, err := stage.Collect(t.Context(), in); got != nil || err != errA {
			t.Errorf("Collect: %v, %v", got, err)
		}
		if got, err := stage.Count(t.Context(), in); got != 0 || err != errA {
			t.Errorf("Count: %v, %v", got, err)
		}
	}
	if v, found, err := stage.First(t.Context(), items(errA, 1)); v != 0 || found || err != errA {
		t.Errorf("First: %v, %v, %v", v, found, err)
	}
	fails := func(_ context.Context, v int) (bool, error) { return true, errB }
	if got, err := stage.Any(t.Context(), items(1), 2, fails); got || err != errB {
		t.Errorf("Any: %v, %v", got, err)
	}
	if got, err := stage.All(t.Context(), items(1), 2, fails); got || err != errB {
		t.Errorf("All: %v, %v", got, err)
	}
}

func TestOrderedFirstReturnsTheFirstMatchWhateverComesAfter(t *testing.T) {
	for _, n := range []int{stage.Inline, 1, 4} {
		synctest.Test(t, func(t *testing.T) {
			match := func(_ context.Context, v int) (bool, error) {
				time.Sleep(time.Duration(10-v) * time.Second) // later values are known sooner
				return v%2 == 0, nil
			}
			for _, c := range []struct {
				items []any
				value int
				found bool
				err   error
			}{
				{nil, 0, false, nil}, {[]any{1, 3}, 0, false, nil}, {[]any{1, 4, 6}, 4, true, nil},
				{[]any{1, 4, errA}, 4, true, nil}, {[]any{1, errA, 4}, 0, false, errA}, {[]any{errA}, 0, false, errA},
			} {
				value, found, err := ordered.First(t.Context(), items(c.items...), n, match)
				if value != c.value || found != c.found || err != c.err {
					t.Errorf("n = %d, %v: %v, %v, %v", n, c.items, value, found, err)
				}
			}
		})
	}
}

func TestAnyAndAllAnswerAsSoonAsTheyKnow(t *testing.T) {
	for _, n := range []int{stage.Inline, 1, 4} {
		var y yielder
		if got, err := stage.Any(t.Context(), y.stream(), n, func(_ context.Context, v int) (bool, error) { return v == 50, nil }); !got || err != nil {
			t.Error(n, got, err)
		}
		if got, err := stage.All(t.Context(), y.stream(), n, func(_ context.Context, v int) (bool, error) { return v < 50, nil }); got || err != nil {
			t.Error(n, got, err)
		}
		if y.begun.Load() != 2 || y.closed.Load() != 2 {
			t.Error(n, y.begun.Load(), y.closed.Load())
		}
		for _, c := range []struct {
			items    []any
			any, all bool
		}{{nil, false, true}, {[]any{1}, false, false}, {[]any{2}, true, true}, {[]any{1, 2}, true, false}, {[]any{2, 4, 6}, true, true}, {[]any{1, 3}, false, false}} {
			any, err1 := stage.Any(t.Context(), items(c.items...), n, isEven)
			all, err2 := stage.All(t.Context(), items(c.items...), n, isEven)
			if any != c.any || all != c.all || err1 != nil || err2 != nil {
				t.Errorf("%v: any %v, all %v, %v, %v", c.items, any, all, err1, err2)
			}
		}
	}
}

func TestReduceCombinesEveryValueOnce(t *testing.T) {
	sum := func(_ context.Context, a, b int) (int, error) { return a + b, nil }
	for _, n := range []int{stage.Inline, 1, 2, 8} {
		for _, k := range []int{0, 1, 2, 3, 1000} {
			got, ok, err := stage.Reduce(t.Context(), items(numbers(k)...), n, sum)
			if got != k*(k-1)/2 || ok != (k > 0) || err != nil {
				t.Errorf("n = %d, %d items: %d, %v, %v", n, k, got, ok, err)
			}
		}
		if _, ok, err := stage.Reduce(t.Context(), items(1, 2, 3), n, func(context.Context, int, int) (int, error) { return 0, errB }); ok || err != errB {
			t.Error(n, ok, err)
		}
	}
	// One at a time, it goes from left to right.
	join := func(_ context.Context, a, b string) (string, error) { return "(" + a + b + ")", nil }
	for _, n := range []int{stage.Inline, 1} {
		if got, _, err := stage.Reduce(t.Context(), stage.Of("a", "b", "c", "d"), n, join); got != "(((ab)c)d)" || err != nil {
			t.Error(got, err)
		}
	}
}

func TestSeqYieldsTheValuesAndAtTheEndTheErrorThatEndedIt(t *testing.T) {
	for _, c := range []struct{ in, want []any }{
		{nil, nil}, {[]any{1}, []any{1}}, {[]any{errA}, []any{errA}}, {[]any{1, 2, errA, 3}, []any{1, 2, errA}},
	} {
		var got []any
		for v, err := range items(c.in...).Seq(t.Context()) {
			if err != nil {
				if v != 0 {
					t.Error("a value comes with the error:", v)
				}
				got = append(got, err)
				continue
			}
			got = append(got, v)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
	// It may be ranged over again, which runs it again, and nothing runs before.
	src := &script{items: []any{1, 2}}
	seq := src.stream().Seq(t.Context())
	for run := int64(0); run < 3; run++ {
		if src.opened.Load() != run {
			t.Fatal(src.opened.Load())
		}
		for range seq {
		}
	}
}

func TestSeqSaysNothingMoreAfterABreak(t *testing.T) {
	// What goes wrong while the run ends has nobody to be told to; a yield would
	// be called after its loop, which panics.
	in := stage.Generate(func(_ context.Context, yield func(int) bool) error {
		for yield(1) {
		}
		runtime.Goexit()
		return nil
	})
	for range in.Seq(t.Context()) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range in.Seq(ctx) {
		cancel()
		break
	}
}

func TestSeqIsSettledHoweverItsLoopIsLeftC01(t *testing.T) {
	leave := map[string]func(t *testing.T, in stage.Stream[int]){
		"break": func(t *testing.T, in stage.Stream[int]) {
			for range in.Seq(t.Context()) {
				break
			}
		},
		"return": func(t *testing.T, in stage.Stream[int]) {
			for range in.Seq(t.Context()) {
				return
			}
		},
		"outer continue": func(t *testing.T, in stage.Stream[int]) {
		outer:
			for i := range 3 {
				for range in.Seq(t.Context()) {
					if i < 3 {
						continue outer
					}
				}
			}
		},
		"panic": func(t *testing.T, in stage.Stream[int]) {
			value := &struct{ x int }{5}
			got := panicOf(func() {
				for range in.Seq(t.Context()) {
					panic(value)
				}
			})
			if got != value {
				t.Errorf("the panic of the body has become %v", got)
			}
		},
		"goexit": func(t *testing.T, in stage.Stream[int]) {
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				for range in.Seq(t.Context()) {
					runtime.Goexit()
				}
			}()
			<-gone
		},
		"cancel": func(t *testing.T, in stage.Stream[int]) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var last error
			for _, err := range in.Seq(ctx) {
				cancel(errB)
				last = err
			}
			if last != errB {
				t.Error(last)
			}
		},
	}
	for name, leave := range leave {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var y yielder
				calls := atomic.Int64{}
				in := ordered.Map(stage.Map(y.stream(), 4, id), 4, func(ctx context.Context, v int) (int, error) {
					calls.Add(1)
					defer calls.Add(-1)
					if v > 100 {
						<-ctx.Done()
					}
					return v, nil
				})
				leave(t, in)
				if calls.Load() != 0 || y.begun.Load() != y.closed.Load() || y.begun.Load() == 0 {
					t.Errorf("after the loop %d calls run, %d of %d generators are closed", calls.Load(), y.closed.Load(), y.begun.Load())
				}
			})
		})
	}
}

func TestToChanSendsEachValueAndClosesTheChannel(t *testing.T) {
	for _, c := range []struct {
		in   []any
		sent []int
		err  error
	}{{nil, nil, nil}, {[]any{1, 2, 3}, []int{1, 2, 3}, nil}, {[]any{1, errA, 2}, []int{1}, errA}, {[]any{errA}, nil, errA}} {
		for _, buffer := range []int{0, 1, 10} {
			out, got := make(chan int, buffer), []int(nil)
			received := make(chan struct{})
			go func() {
				defer close(received)
				for v := range out {
					got = append(got, v)
				}
			}()
			err := stage.ToChan(t.Context(), items(c.in...), out)
			<-received // out is closed
			if err != c.err || !slices.Equal(got, c.sent) {
				t.Errorf("%v: sends %v, %v", c.in, got, err)
			}
		}
	}
}

func TestToChanEndsWithTheContextWhileNobodyReceives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var y yielder
		out := make(chan int)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Hour, func() { cancel(errB) })
		start := time.Now()
		err := stage.ToChan(ctx, stage.Map(y.stream(), 3, id), out)
		if _, open := <-out; err != errB || open || time.Since(start) != time.Hour || y.closed.Load() != 1 {
			t.Error(err, open, time.Since(start), y.closed.Load())
		}
		// Also after a panic the channel is closed.
		out = make(chan int, 1)
		p, _ := panicOf(func() { stage.ToChan(t.Context(), stage.Tap(items(1), func(int) { panic(errA) }), out) }).(*stage.Panic)
		if _, open := <-out; open || p == nil || p.Value != errA {
			t.Error(open, p)
		}
	})
	if got := panicOf(func() { stage.ToChan[int](t.Context(), items(), nil) }); got != "stage.ToChan: out is nil" {
		t.Error(got)
	}
}

func TestRunCallsEachSinkForTheValuesOfItsStream(t *testing.T) {
	if err := stage.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{stage.Inline, 1, 4} {
		var sums [3]atomic.Int64
		add := func(i int) func(context.Context, int) error {
			return func(_ context.Context, v int) error { sums[i].Add(int64(v)); return nil }
		}
		err := stage.Run(t.Context(), stage.To(items(numbers(10)...), n, add(0)), stage.To(items(), n, add(1)), stage.To(items(7), n, add(2)))
		if err != nil || sums[0].Load() != 45 || sums[1].Load() != 0 || sums[2].Load() != 7 {
			t.Error(err, sums[0].Load(), sums[1].Load(), sums[2].Load())
		}
	}
}

func TestErrorOfOneSinkCancelsTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, n := range []int{stage.Inline, 1, 4} {
			var y yielder
			fail := func(_ context.Context, v int) error {
				time.Sleep(time.Second)
				if v == 5 {
					return errA
				}
				return nil
			}
			start := time.Now()
			err := stage.Run(t.Context(),
				stage.To(y.stream(), n, func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() }),
				stage.To(stage.FromChan(make(chan int)), n, func(context.Context, int) error { return nil }),
				stage.To(items(numbers(8)...), 1, fail))
			if err != errA || time.Since(start) != 6*time.Second || y.closed.Load() != 1 {
				t.Error(err, time.Since(start), y.closed.Load())
			}
		}
	})
}

func TestFirstErrorOfSeveralSinksIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := func(after time.Duration, err error) stage.Sink {
			return stage.To(items(1), 1, func(context.Context, int) error { time.Sleep(after); return err })
		}
		if err := stage.Run(t.Context(), fails(3*time.Second, errB), fails(time.Second, errA), fails(2*time.Second, errB)); err != errA {
			t.Error(err)
		}
	})
}

func TestSinkThatHasEndedIsClosedWhileTheOthersGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &script{items: numbers(2000)}
		yes, no := stage.Split(src.stream(), even)
		short := &script{items: numbers(3)}
		// A reader that leaves without a word, in the middle of its branch.
		leaves := stage.New(func(s *stage.Scope) stage.Reader[int] {
			rd, up := stage.Open(s, yes), stage.Open(s, short.stream())
			return &handsReader{next: func() { rd.Next(make([]stage.Try[int], 1)) }, close: func() { rd.Close(); up.Close() }}
		})
		seen := 0
		err := stage.Run(t.Context(), stage.To(leaves, 1, func(context.Context, int) error { return nil }),
			stage.To(no, 1, func(context.Context, int) error {
				if seen++; seen == 1 {
					synctest.Wait()
					if short.closed.Load() != 1 {
						t.Error("a sink that has ended is kept open")
					}
				}
				return nil
			}))
		if err != nil || seen != 1000 {
			t.Error(err, seen)
		}
	})
}

func TestRunRaisesAPanicWithTheNameOfItsSink(t *testing.T) {
	for _, n := range []int{stage.Inline, 1, 4} {
		p, _ := panicOf(func() {
			stage.Run(t.Context(), stage.To(naturals(), 1, func(context.Context, int) error { return nil }),
				stage.To(items(1), n, func(context.Context, int) error { panic(errA) }, stage.Name("writer")))
		}).(*stage.Panic)
		if p == nil || p.Stage != "writer" || p.Value != errA {
			t.Errorf("n = %d: panics with %v", n, p)
		}
		err := stage.Run(t.Context(), stage.To(items(1), n, func(context.Context, int) error { panic(errA) }, stage.RecoverPanics(), stage.Name("writer")))
		if p = nil; !errors.As(err, &p) || p.Stage != "writer" || !errors.Is(err, errA) {
			t.Errorf("n = %d: %v", n, err)
		}
		err = stage.Run(t.Context(), stage.To(items(1), n, func(context.Context, int) error { runtime.Goexit(); return nil }, stage.Name("writer")))
		if !errors.Is(err, stage.ErrGoexit) {
			t.Errorf("n = %d: %v", n, err)
		}
	}
	if got := fmt.Sprint(panicOf(func() { stage.Run(t.Context(), stage.Sink{}) })); got != "stage.Run: sink 0 is the zero Sink" {
		t.Error(got)
	}
	if got := panicOf(func() { stage.To(items(), 1, nil) }); got != "stage.To: f is nil" {
		t.Error(got)
	}
}

func TestTerminalsMayBeCalledInsideAFunctionOfARunC44(t *testing.T) {
	// Every function of a run runs others, of the same streams too.
	shared := stage.Map(items(numbers(20)...), 2, id)
	yes, no := stage.Split(shared, even)
	count := func(ctx context.Context, v int) (int, error) {
		k, err := stage.Count(ctx, stage.Merge(yes, no))
		return v + k, err
	}
	in := stage.Map(ordered.Map(stage.Merge(yes, no), 4, count), stage.Inline, count)
	in = stage.FlatMap(in, 3, func(ctx context.Context, v int) stage.Stream[int] {
		return stage.FromSlice(stage.Collect(ctx, stage.Map(stage.Of(v), 1, count)))
	})
	in = stage.Tap(in, func(ctx context.Context, _ int) error { return stage.Discard(ctx, yes) })
	var want []any
	for i := range 20 {
		want = append(want, i+60)
	}
	wantSet(t, in, want...)
	err := stage.ForEach(t.Context(), stage.Of(1), 1, func(ctx context.Context, _ int) error {
		_, err := stage.Count(ctx, stage.Map(items(1, errA), 2, id))
		return fmt.Errorf("inner: %w", err)
	})
	if !errors.Is(err, errA) || !strings.HasPrefix(err.Error(), "inner: ") {
		t.Error(err)
	}
}

func TestThousandsOfRunsAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	in := ordered.Map(stage.Generate(func(_ context.Context, yield func(int) bool) error {
		for i := range 20 {
			yield(i)
		}
		return nil
	}), 3, id)
	evens, odds := stage.Split(in, even)
	for i := range share.Times(rounds(5000)) {
		wg.Go(func() {
			got, err := stage.Collect(t.Context(), stage.Take(stage.Merge(evens, odds), 1+i%20))
			if len(got) != 1+i%20 || err != nil {
				t.Error(len(got), err)
			}
		})
	}
	wg.Wait()
}
