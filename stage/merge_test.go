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
	"github.com/seed95b73fdc/sluice/stage"
)

func TestMergeEmitsTheItemsOfAllAndEachStreamsInOrder(t *testing.T) {
	wantList(t, stage.Merge[int]())
	wantList(t, stage.Merge(items(1, errA, 2)), 1, errA, 2)
	wantList(t, stage.Merge(items(), items(), items()))
	wantSet(t, stage.Merge(items(), items(1), items(2, errA), items(errB)), 1, 2, errA, errB)
	for _, width := range []int{2, 3, 20} {
		for _, step := range []int{0, 1, 7} {
			each := rounds(2000)
			var ins []stage.Stream[int]
			for i := range width {
				src := &script{step: step}
				for k := range each {
					src.items = append(src.items, k*width+i)
				}
				ins = append(ins, src.stream())
			}
			got, err := stage.Collect(t.Context(), stage.Merge(ins...))
			if err != nil || len(got) != width*each {
				t.Fatal(err, len(got))
			}
			last := make([]int, width)
			for i := range last {
				last[i] = i - width
			}
			for _, v := range got {
				if i := v % width; v != last[i]+width {
					t.Fatalf("of stream %d: %d comes after %d", i, v, last[i])
				} else {
					last[i] = v
				}
			}
		}
	}
}

func TestMergeEmitsItemsAsTheyCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ticks := func(every time.Duration, k int) stage.Stream[time.Duration] {
			return stage.Generate(func(_ context.Context, yield func(time.Duration) bool) error {
				for range k {
					time.Sleep(every)
					yield(time.Since(start))
				}
				return nil
			})
		}
		seen := 0
		for at, err := range stage.Merge(ticks(2*time.Second, 10), ticks(3*time.Second, 10), ticks(time.Hour, 1)).Seq(t.Context()) {
			if err != nil || at != time.Since(start) {
				t.Fatalf("the item of %v comes at %v, %v", at, time.Since(start), err)
			}
			seen++
		}
		if seen != 21 || time.Since(start) != time.Hour {
			t.Fatal(seen, time.Since(start))
		}
	})
}

func TestMergeHoldsTwoItemsOfEachStreamWhileItsReaderIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srcs := []*script{{items: numbers(1000)}, {items: numbers(1000)}, {items: numbers(5)}}
		in := stage.Merge(srcs[0].stream(), srcs[1].stream(), srcs[2].stream())
		took := int64(0)
		for range stage.Take(in, 100).Seq(t.Context()) {
			took++
			time.Sleep(time.Second)
			synctest.Wait()
			gave, least := int64(0), int64(0)
			for _, src := range srcs {
				gave += src.gave.Load()
				if src.gave.Load() < int64(len(src.items)) {
					least++ // one more is in hand, or two
				}
			}
			if gave > took+6 || gave < took+least {
				t.Fatalf("with %d items taken it has taken %d", took, gave)
			}
		}
	})
}

func TestMergeReturnsTheErrorThatComesFirst(t *testing.T) {
	for range 100 {
		var y yielder
		got, err := stage.Collect(t.Context(), stage.Merge(y.stream(), items(1, errA, errB), y.stream()))
		if err != errA || got != nil {
			t.Fatal(got, err)
		}
	}
}

func TestMergeClosesEachStreamWhenThatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		short := &script{items: numbers(1)}
		ch := make(chan int)
		go func() {
			synctest.Wait()
			if short.closed.Load() != 1 {
				t.Error("a stream that has ended is kept open")
			}
			close(ch)
		}()
		wantList(t, stage.Merge(short.stream(), stage.FromChan(ch)), 0)
		if short.closed.Load() != 1 {
			t.Error("closed", short.closed.Load(), "times")
		}
	})
}

func TestMergeLetsGoOfEverythingWhenNoMoreIsNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var y yielder
		blocked := stage.FromChan(make(chan int))
		in := stage.Merge(y.stream(), blocked, stage.Map(naturals(), 3, id))
		for _, k := range []int{0, 1, 100} {
			got, err := stage.Collect(t.Context(), stage.Take(in, k))
			if err != nil || len(got) != k || y.begun.Load() != y.closed.Load() {
				t.Fatal(got, err, y.begun.Load(), y.closed.Load())
			}
		}
		// And goes on with others.
		got, err := stage.Collect(t.Context(), stage.Concat(stage.Take(in, 3), items(-1)))
		if err != nil || len(got) != 4 || got[3] != -1 {
			t.Fatal(got, err)
		}
	})
}

func TestPanicAndGoexitInAMergedStreamEndTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := stage.Tap(items(1), func(int) { panic(errA) })
		p, _ := panicOf(func() { stage.Discard(t.Context(), stage.Merge(stage.FromChan(make(chan int)), bad)) }).(*stage.Panic)
		if p == nil || p.Stage != "tap#2" && p.Stage != "tap#1" || p.Value != errA {
			t.Errorf("panics with %v", p)
		}
		gone := stage.Tap(items(1), func(int) { runtime.Goexit() })
		if err := stage.Discard(t.Context(), stage.Merge(stage.FromChan(make(chan int)), gone)); !errors.Is(err, stage.ErrGoexit) {
			t.Error(err)
		}
	})
}

func TestMergesNest(t *testing.T) {
	var ins []stage.Stream[int]
	var want []any
	for i := range 30 {
		ins = append(ins, items(i, i+100))
		want = append(want, i, i+100)
	}
	in := stage.Merge(stage.Merge(ins[:10]...), stage.Merge(stage.Merge(ins[10:15]...), stage.Merge(ins[15:]...)))
	wantSet(t, in, want...)
}

func TestEveryoneIsAskedInAMergeOfFastStreams(t *testing.T) {
	// No stream of three endless ones is left out for good.
	var counts [3]atomic.Int64
	var ins []stage.Stream[int]
	for i := range counts {
		ins = append(ins, stage.Map(naturals(), stage.Inline, func(context.Context, int) (int, error) { return i, nil }))
	}
	for v := range stage.Merge(ins...).Seq(t.Context()) {
		if counts[v].Add(1); counts[0].Load() > 1000 && counts[1].Load() > 1000 && counts[2].Load() > 1000 {
			break
		}
	}
}

func TestMergeOfManyStreamsThatFailAtOnceReturnsOneErrorC37(t *testing.T) {
	// Every stage of each of the streams fails, at once; nobody waits for
	// somebody to take its error.
	fails := func(err error) func(context.Context, int) (int, error) {
		return func(context.Context, int) (int, error) { return 0, err }
	}
	for range share.Times(rounds(1000)) {
		var ins []stage.Stream[int]
		for _, err := range []error{errA, errB} {
			in := stage.Map(naturals(), 2, id)
			in = stage.Map(in, 2, fails(err))
			in = stage.Catch(in, 2, func(_ context.Context, err error) error { return err })
			ins = append(ins, stage.Map(in, 2, fails(err)))
		}
		if err := stage.Discard(t.Context(), stage.Merge(ins...)); !slices.Contains([]error{errA, errB}, err) {
			t.Fatal(err)
		}
	}
}
