package stage_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// wantStall fails unless err is ErrStalled and says each of the things given.
func wantStall(t *testing.T, err error, says ...string) {
	t.Helper()
	if !errors.Is(err, stage.ErrStalled) {
		t.Fatalf("the run ends with %v, want ErrStalled", err)
	}
	if !strings.HasPrefix(err.Error(), "stage: run stalled: ") {
		t.Error(err)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q does not say %q", err, s)
		}
	}
}

func TestConcatOfBothSidesOfASplitStalls(t *testing.T) {
	for range 100 {
		var y yielder
		yes, no := stage.Split(y.stream(), even)
		got, err := stage.Collect(t.Context(), stage.Concat(yes, no))
		wantStall(t, err, "split#2: branch no is full, its reader waits for branch yes")
		if got != nil || y.begun.Load() != 1 || y.closed.Load() != 1 {
			t.Fatal(got, y.begun.Load(), y.closed.Load())
		}
	}
	// While the second side fits into its branch, all is well.
	for _, k := range []int{0, 2, 127, 128} {
		yes, no := stage.Split(items(numbers(k)...), even)
		if got, err := stage.Count(t.Context(), stage.Concat(yes, no)); got != k || err != nil {
			t.Errorf("%d items: %d, %v", k, got, err)
		}
	}
	for _, window := range []int{1, 5, 100} {
		in := func(k int) stage.Stream[int] {
			yes, no := stage.Split(items(numbers(2*k)...), even, stage.Window(window))
			return stage.Concat(yes, no)
		}
		if got, err := stage.Count(t.Context(), in(window)); got != 2*window || err != nil {
			t.Errorf("window %d: %d, %v", window, got, err)
		}
		_, err := stage.Count(t.Context(), in(window+1))
		wantStall(t, err, "split#1: branch no is full")
	}
}

func TestStallNamesStagesAndBranches(t *testing.T) {
	yes, no := stage.Split(naturals(), even, stage.Name("parity"))
	outs := stage.Partition(naturals(), 3, func(v int) int { return v % 3 }, stage.Name("thirds"))
	tees := stage.Tee(naturals(), 2, stage.Window(3))
	rare := func(_ context.Context, v int) (bool, error) { return v%100 == 99, nil }
	for name, c := range map[string]struct {
		in   stage.Stream[int]
		says []string
	}{
		"concat":           {stage.Concat(yes, no), []string{"parity: branch no is full, its reader waits for branch yes"}},
		"concat backwards": {stage.Concat(no, yes), []string{"parity: branch yes is full, its reader waits for branch no"}},
		"through maps": {stage.Concat(stage.Map(yes, 2, id), ordered.Map(no, 2, id)),
			[]string{"parity: branch no is full", "map#2: its reader waits for a result"}},
		"partition":  {stage.Concat(outs[2], outs[0]), []string{"thirds: branch 0 is full, its reader waits for branch 2"}},
		"filter tee": {pairSum(stage.Zip(stage.Filter(tees[0], stage.Inline, rare), tees[1])), []string{"tee#1: branch 1 is full, its reader waits for branch 0"}},
		"filter both": {pairSum(stage.Zip(stage.Filter(tees[0], 2, rare), stage.Filter(tees[1], 2, rare, stage.Window(1)))),
			[]string{"tee#1: branch 1 is full"}},
		"in a flatmap": {stage.FlatMap(stage.Of(1, 2), 2, func(context.Context, int) stage.Stream[int] { return stage.Concat(yes, no) }),
			[]string{"parity: branch no is full, its reader waits for branch yes"}},
		"drop": {stage.Merge(stage.Concat(stage.Drop(yes, 1000), no), items(1)), []string{"parity: branch no is full"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := stage.Count(t.Context(), c.in)
			wantStall(t, err, c.says...)
		})
	}
}

func pairSum(in stage.Stream[pair]) stage.Stream[int] {
	return stage.Map(in, stage.Inline, func(_ context.Context, p pair) (int, error) { return p.First + p.Second, nil })
}

func TestSinksThatWaitForEachOtherStall(t *testing.T) {
	for _, n := range []int{1, 3} {
		a := stage.Tee(naturals(), 2, stage.Name("a"), stage.Window(2))
		b := stage.Tee(naturals(), 2, stage.Name("b"), stage.Window(2))
		// Each waits for a value of the one stream while the other is full.
		err := stage.Run(t.Context(),
			stage.To(stage.Concat(stage.Take(a[0], 10), stage.Take(b[0], 10)), n, func(context.Context, int) error { return nil }),
			stage.To(stage.Concat(stage.Take(b[1], 10), stage.Take(a[1], 10)), n, func(context.Context, int) error { return nil }))
		wantStall(t, err, "a: branch 1 is full", "b: branch 0 is full", "a: branch 0 is empty", "b: branch 1 is empty")
	}
	// One sink of several is enough, once the others have ended.
	yes, no := stage.Split(naturals(), even)
	err := stage.Run(t.Context(),
		stage.To(items(1, 2, 3), 2, func(context.Context, int) error { return nil }),
		stage.To(stage.Concat(yes, no), 1, func(context.Context, int) error { return nil }))
	wantStall(t, err, "split#2: branch no is full, its reader waits for branch yes")
}

func TestStallIsNoticedAtOnceAndLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Not before the last of those that could go on has come to wait.
		start := time.Now()
		yes, no := stage.Split(naturals(), even)
		slow := stage.Map(items(1), 1, func(_ context.Context, v int) (int, error) {
			time.Sleep(time.Minute)
			return v, nil
		})
		_, err := stage.Count(t.Context(), stage.Merge(slow, stage.Concat(yes, no)))
		wantStall(t, err)
		if d := time.Since(start); d != time.Minute {
			t.Error(d)
		}
	})
}

func TestRealErrorIsNotMaskedByAStall(t *testing.T) {
	// The error stands behind what can be read before the stall.
	yes, no := stage.Split(items(append(numbers(100), errA)...), even)
	for range 100 {
		if _, err := stage.Count(t.Context(), stage.Concat(yes, no)); err != errA {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errB)
	if _, err := stage.Count(ctx, stage.Concat(yes, no)); err != errB {
		t.Fatal(err)
	}
}

func TestWaitForTheOutsideIsNoStall(t *testing.T) {
	outside := map[string]func(t *testing.T, event <-chan int) (int, error){
		"a channel": func(t *testing.T, event <-chan int) (int, error) {
			return stage.Count(t.Context(), stage.FromChan(event))
		},
		"a channel behind stages": func(t *testing.T, event <-chan int) (int, error) {
			in := ordered.Map(stage.Map(stage.FromChan(event), 3, id), 2, id)
			yes, no := stage.Split(in, even)
			return stage.Count(t.Context(), stage.Merge(yes, stage.Map(no, 2, id), stage.Take(naturals(), 0)))
		},
		"a function": func(t *testing.T, event <-chan int) (int, error) {
			return stage.Count(t.Context(), stage.Map(stage.Of(1), 4, func(context.Context, int) (int, error) { return <-event, nil }))
		},
		"a generator": func(t *testing.T, event <-chan int) (int, error) {
			return stage.Count(t.Context(), stage.Generate(func(_ context.Context, yield func(int) bool) error { yield(<-event); return nil }))
		},
		"a predicate of a Split": func(t *testing.T, event <-chan int) (int, error) {
			yes, no := stage.Split(stage.Of(1), func(int) bool { <-event; return true })
			return stage.Count(t.Context(), stage.Merge(yes, no))
		},
		"the body of a loop": func(t *testing.T, event <-chan int) (k int, err error) {
			for _, err = range stage.Map(stage.Of(1), 2, id).Seq(t.Context()) {
				<-event
				k++
			}
			return k, err
		},
		"the receiver of ToChan": func(t *testing.T, event <-chan int) (k int, err error) {
			out := make(chan int)
			go func() {
				<-event
				for range out {
				}
			}()
			return 1, stage.ToChan(t.Context(), stage.Map(stage.Of(1), 2, id), out)
		},
		"a run in a function": func(t *testing.T, event <-chan int) (int, error) {
			return stage.Count(t.Context(), stage.Map(stage.Of(1), 2, func(ctx context.Context, _ int) (int, error) {
				return stage.Count(ctx, stage.FromChan(event))
			}))
		},
		"a sink of several": func(t *testing.T, event <-chan int) (int, error) {
			k := 0
			return 1, stage.Run(t.Context(), stage.To(stage.FromChan(event), 1, func(context.Context, int) error { k++; return nil }),
				stage.To(stage.Of(1), 2, func(context.Context, int) error { return nil }))
		},
		"a source of one's own": func(t *testing.T, event <-chan int) (int, error) {
			return stage.Count(t.Context(), stage.Map(stage.New(func(*stage.Scope) stage.Reader[int] {
				return &handsReader{next: func() { <-event }, close: func() {}}
			}), 2, id))
		},
	}
	for name, run := range outside {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				event := make(chan int)
				go func() {
					time.Sleep(time.Hour)
					event <- 1
					close(event)
				}()
				if _, err := run(t, event); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestStageThatIsReleasedByItsScopeIsNoStall(t *testing.T) {
	share.Once(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	// A stop that comes together with an item: the worker leaves without a word,
	// the consumer is released with it, and for a moment nobody is counted.
	for range 40 {
		synctest.Test(t, func(t *testing.T) {
			ch, stop := make(chan int), make(chan struct{})
			in := stage.Until(ordered.Map(stage.FromChan(ch), 2, id), stop)
			go func() {
				ch <- 1
				synctest.Wait()
				ch <- 2
				close(stop)
			}()
			if err := stage.Discard(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		})
	}
	// A Take that lets go of a branch which the split waits for.
	for range 40 {
		yes, no := stage.Split(items(numbers(1000)...), even, stage.Window(1))
		in := stage.Zip(stage.Concat(stage.Take(stage.Merge(yes, stage.Stream[int]{}), 20), naturals()), stage.Map(no, 2, id))
		if k, err := stage.Count(t.Context(), in); k != 500 || err != nil {
			t.Fatal(k, err)
		}
	}
}

func TestRunThatCanGoOnIsNoStall(t *testing.T) {
	// As tight as it can be: branches of one item, read in step.
	for range share.Times(15) {
		tees := stage.Tee(items(numbers(200)...), 3, stage.Window(1))
		var want []any
		for i := range 200 {
			want = append(want, 3*i)
		}
		wantList(t, pairSum(stage.Zip(pairSum(stage.Zip(tees[2], tees[0])), tees[1])), want...)
		// Every branch behind goroutines that hold items.
		var ins []stage.Stream[int]
		for _, b := range stage.Tee(items(numbers(200)...), 3, stage.Window(1)) {
			ins = append(ins, ordered.Map(stage.Map(b, 1, id), 3, id))
		}
		wantList(t, pairSum(stage.Zip(pairSum(stage.Zip(ins[0], ins[2])), ins[1])), want...)
		got := gather(t, stage.Balance(stage.Merge(stage.Balance(items(numbers(200)...), 3, stage.Window(1))...), 4, stage.Window(1))...)
		wantSet(t, items(slices.Concat(got...)...), numbers(200)...)
	}
}
