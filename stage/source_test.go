package stage_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// sources makes a stream of the values given in each way that there is.
var sources = map[string]func(values []int) stage.Stream[int]{
	"Of":        func(v []int) stage.Stream[int] { return stage.Of(v...) },
	"FromSlice": func(v []int) stage.Stream[int] { return stage.FromSlice(v) },
	"FromSeq":   func(v []int) stage.Stream[int] { return stage.FromSeq(slices.Values(v)) },
	"FromSeq2": func(v []int) stage.Stream[int] {
		return stage.FromSeq2(func(yield func(int, error) bool) {
			for _, x := range v {
				if !yield(x, nil) {
					return
				}
			}
		})
	},
	"Generate": func(v []int) stage.Stream[int] {
		return stage.Generate(func(_ context.Context, yield func(int) bool) error {
			for _, x := range v {
				if !yield(x) {
					return nil
				}
			}
			return nil
		})
	},
	"FromChan": func(v []int) stage.Stream[int] { return stage.FromChan(filled(v)) },
	"FromRill": func(v []int) stage.Stream[int] {
		ch := make(chan stage.Try[int], len(v))
		for _, x := range v {
			ch <- stage.Try[int]{Value: x}
		}
		close(ch)
		return stage.FromRill(ch)
	},
}

// filled is a closed channel that holds the values given.
func filled(values []int) <-chan int {
	ch := make(chan int, len(values))
	for _, v := range values {
		ch <- v
	}
	close(ch)
	return ch
}

func TestSourcesEmitTheirValuesInOrderAndEnd(t *testing.T) {
	for name, source := range sources {
		for _, k := range []int{0, 1, 2, 63, 64, 65, 1000} {
			t.Run(fmt.Sprint(name, "/", k), func(t *testing.T) {
				wantList(t, source(upTo(k)), numbers(k)...)
			})
		}
	}
}

func TestRunningAStreamTwiceRunsItTwice(t *testing.T) {
	for name, source := range sources {
		if name == "FromChan" || name == "FromRill" {
			continue // what a channel has given is gone
		}
		in := source(upTo(100))
		for range 3 {
			wantList(t, in, numbers(100)...)
		}
	}
	src := &script{items: numbers(10)}
	in := stage.Scan(stage.Take(stage.Drop(src.stream(), 2), 5), 0, plus)
	for run := range int64(3) {
		wantList(t, in, 2, 5, 9, 14, 20)
		if o, c := src.opened.Load(), src.closed.Load(); o != run+1 || c != run+1 {
			t.Fatalf("after %d runs the source has been opened %d and closed %d times", run+1, o, c)
		}
	}
}

func TestZeroStreamIsEmpty(t *testing.T) {
	var zero stage.Stream[int]
	wantList(t, zero)
	wantList(t, stage.Merge(zero, zero))
	wantList(t, stage.Concat(zero, stage.Of(1), zero), 1)
	yes, no := stage.Split(zero, even)
	wantList(t, stage.Merge(yes, no))
	if _, found, err := stage.First(t.Context(), zero); found || err != nil {
		t.Fatal(found, err)
	}
}

func TestSourceGivenAnErrorEmitsOnlyThat(t *testing.T) {
	ch := make(chan int, 1)
	ch <- 7
	wantList(t, stage.FromSlice([]int{1, 2}, errA), errA)
	wantList(t, stage.FromSlice[int](nil, errA), errA)
	wantList(t, stage.FromSeq(slices.Values([]int{1, 2}), errA), errA)
	wantList(t, stage.FromSeq[int](nil, errA), errA)
	wantList(t, stage.FromChan(ch, errA), errA)
	wantList(t, stage.FromChan[int](nil, errA), errA)
	wantList(t, stage.Failed[int](errA), errA)
	if len(ch) != 1 {
		t.Fatal("the channel has been read")
	}
}

func TestSourceGivenANilErrorEmitsItsValues(t *testing.T) {
	wantList(t, stage.FromSlice([]int{1, 2}, nil), 1, 2)
	wantList(t, stage.FromSeq(slices.Values([]int{1, 2}), nil), 1, 2)
	wantList(t, stage.FromChan(filled([]int{1, 2}), nil), 1, 2)
	wantList(t, stage.Failed[int](nil))
	pair := func() ([]int, error) { return []int{1}, errB }
	wantList(t, stage.FromSlice(pair()), errB)
}

func TestFromSeq2EmitsErrorsInTheirPlaceWithoutTheirValues(t *testing.T) {
	seq := func(items ...any) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for _, item := range items {
				err, _ := item.(error)
				v, ok := item.(int)
				if !ok {
					v = 99 // comes with the error and must not be seen
				}
				if !yield(v, err) {
					return
				}
			}
		}
	}
	for _, want := range [][]any{{}, {errA}, {1, errA}, {errA, 1}, {errA, errB}, {errA, 1, 2, errB, 3, errA}} {
		wantList(t, stage.FromSeq2(seq(want...)), want...)
	}
}

func TestFromSeqStopsItsSequenceWhenNoMoreIsNeeded(t *testing.T) {
	left := 0
	in := stage.FromSeq(func(yield func(int) bool) {
		defer func() { left++ }()
		for i := 0; yield(i); i++ {
		}
	})
	wantList(t, stage.Take(in, 3), 0, 1, 2)
	if left != 1 {
		t.Fatalf("the sequence has been left %d times", left)
	}
}

func TestBadArgumentOfASourcePanicsAtConstructionC05(t *testing.T) {
	for text, f := range map[string]func(){
		"stage.FromSlice: 2 errors, want at most 1": func() { stage.FromSlice([]int{1}, nil, nil) },
		"stage.FromSeq: 2 errors, want at most 1":   func() { stage.FromSeq(slices.Values([]int{1}), errA, errB) },
		"stage.FromChan: 2 errors, want at most 1":  func() { stage.FromChan(filled(nil), nil, errB) },
		"stage.FromSeq: seq is nil":                 func() { stage.FromSeq[int](nil) },
		"stage.FromSeq2: seq is nil":                func() { stage.FromSeq2[int](nil) },
		"stage.FromChan: ch is nil":                 func() { stage.FromChan[int](nil) },
		"stage.FromRill: ch is nil":                 func() { stage.FromRill[int](nil) },
		"stage.Generate: f is nil":                  func() { stage.Generate[int](nil) },
		"stage.New: open is nil":                    func() { stage.New[int](nil) },
	} {
		if got := panicOf(f); got != text {
			t.Errorf("panics with %v, want %s", got, text)
		}
	}
}

// leave runs a stream from a channel whose sender never closes it, ends the
// run early, and returns what is left to be received.
func leave(t *testing.T, run func(ctx context.Context, in stage.Stream[int])) (left int) {
	ch := make(chan int)
	stop := make(chan struct{})
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for i := 1; ; i++ {
			select {
			case ch <- i:
			case <-stop:
				return
			}
		}
	}()
	run(t.Context(), stage.FromChan(ch))
	synctest.Wait()
	select {
	case v := <-ch:
		left = v
	default:
		t.Error("the sender has been stopped, or the channel is read by somebody else")
	}
	close(stop)
	<-gone
	return left
}

func TestFromChanLeavesTheChannelAsItIsC01(t *testing.T) {
	stop := errors.New("stop at the 5th")
	for _, n := range []int{stage.Inline, 1, 8} {
		synctest.Test(t, func(t *testing.T) {
			left := leave(t, func(ctx context.Context, in stage.Stream[int]) {
				err := stage.ForEach(ctx, in, n, func(_ context.Context, v int) error {
					time.Sleep(time.Millisecond) // slow: no more than one item each is taken
					if v == 5 {
						return stop
					}
					return nil
				})
				if err != stop {
					t.Errorf("n = %d: %v", n, err)
				}
			})
			// What ForEach held is gone, the next item is still the sender's.
			if left < 6 || left > 5+max(1, 2*n) || n <= 1 && left != 6 {
				t.Errorf("n = %d: the next item of the channel is %d", n, left)
			}
		})
	}
}

func TestFromChanWhoseSenderNeverClosesEndsWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := make(chan int)
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			synctest.Wait()
			cancel(errA)
		}()
		if got, err := stage.Collect(ctx, stage.FromChan(ch)); err != errA || got != nil {
			t.Fatal(got, err)
		}
		go func() { ch <- 1 }()
		synctest.Wait()
		if v := <-ch; v != 1 {
			t.Fatal(v)
		}
	})
}

func TestFromChanEmitsWhatIsThereAndDoesNotWaitForMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ch := make(chan int, 10)
		for i := range 3 {
			ch <- i
		}
		hands(t, t.Context(), stage.FromChan(ch), func(rd stage.Reader[int]) {
			var buf [10]stage.Try[int]
			if k := rd.Next(buf[:2]); k != 2 {
				t.Errorf("gives %d of 3 items for which it has room for 2", k)
			}
			if k := rd.Next(buf[:]); k != 1 || buf[0].Value != 2 {
				t.Errorf("gives %d items, want the third", k)
			}
			go func() { ch <- 3 }()
			if k := rd.Next(buf[:]); k != 1 || buf[0].Value != 3 {
				t.Errorf("gives %d items, want the fourth", k)
			}
			close(ch)
			for range 3 {
				if k := rd.Next(buf[:]); k != 0 {
					t.Errorf("gives %d items after the end", k)
				}
			}
		})
	})
}

func TestFromChanIsSharedByTheRunsThatReadIt(t *testing.T) {
	// Each item goes to one of them, as with any receivers of a channel.
	ch := filled(upTo(1000))
	wantSet(t, stage.Merge(stage.FromChan(ch), stage.FromChan(ch), stage.FromChan(ch)), numbers(1000)...)
}

func TestSourcesGiveNothingOnceTheContextIsDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, source := range sources {
		if got, err := stage.Collect(ctx, source(upTo(10))); err != context.Canceled || got != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := stage.Collect(ctx, stage.Failed[int](errA)); err != context.Canceled {
		t.Errorf("Failed: %v", err)
	}
}
