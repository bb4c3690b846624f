package stage_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// gather runs all streams in one run and returns what each of them emits,
// errors too.
func gather(t *testing.T, ins ...stage.Stream[int]) [][]any {
	t.Helper()
	out := make([][]any, len(ins))
	var sinks []stage.Sink
	for i, in := range ins {
		sinks = append(sinks, stage.To(whole(in), 1, func(_ context.Context, v any) error {
			out[i] = append(out[i], v)
			return nil
		}))
	}
	if err := stage.Run(t.Context(), sinks...); err != nil {
		t.Fatal(err)
	}
	return out
}

func wantBranches(t *testing.T, ins []stage.Stream[int], want ...[]any) {
	t.Helper()
	got := gather(t, ins...)
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Fatalf("branch %d emits %v, want %v", i, brief(got[i]), brief(want[i]))
		}
	}
}

func splitter(in stage.Stream[int], opts ...stage.Option) []stage.Stream[int] {
	yes, no := stage.Split(in, even, opts...)
	return []stage.Stream[int]{yes, no}
}

func TestSplitSendsEachValueToOneSideAndErrorsToBoth(t *testing.T) {
	wantBranches(t, splitter(items()), nil, nil)
	wantBranches(t, splitter(items(errA, 0, 1, 2, errB, 3, errA)), []any{errA, 0, 2, errB, errA}, []any{errA, 1, errB, 3, errA})
	wantBranches(t, splitter(items(2)), []any{2}, nil)
	yes, no := stage.Split(items(1, 2, 3), func(_ context.Context, v int) (bool, error) {
		if v == 2 {
			return true, errB
		}
		return true, nil
	})
	wantBranches(t, []stage.Stream[int]{yes, no}, []any{1, errB, 3}, []any{errB})
	for _, window := range []int{1, 2, 63, 64, 65, 1000} {
		for _, step := range []int{0, 1, 5} {
			src := &script{items: numbers(1000), step: step}
			var evens, odds []any
			for i := range 500 {
				evens, odds = append(evens, 2*i), append(odds, 2*i+1)
			}
			wantBranches(t, splitter(src.stream(), stage.Window(window)), evens, odds)
			if src.opened.Load() != 1 || src.closed.Load() != 1 {
				t.Fatalf("the source has been opened %d and closed %d times", src.opened.Load(), src.closed.Load())
			}
		}
	}
}

func TestPartitionSendsEachValueWhereItsRouteSays(t *testing.T) {
	mod := func(v int) int { return v % 3 }
	wantBranches(t, stage.Partition(items(0, 1, errA, 2, 3, 4, 8), 3, mod), []any{0, errA, 3}, []any{1, errA, 4}, []any{errA, 2, 8})
	wantBranches(t, stage.Partition(items(5, errA), 1, func(int) int { return 0 }), []any{5, errA})
	// A route to nowhere, or that fails, is an error in the item's place, in all.
	for _, bad := range []int{-1, 2, 1 << 30} {
		got := gather(t, stage.Partition(items(0, 7, 1), 2, func(v int) int {
			if v == 7 {
				return bad
			}
			return v
		})...)
		want := fmt.Sprintf("partition#1: route is %d, want 0 to 1", bad)
		if len(got[0]) != 2 || got[0][0] != 0 || fmt.Sprint(got[0][1]) != want || len(got[1]) != 2 || got[1][1] != 1 || got[1][0] != got[0][1] {
			t.Fatal(got)
		}
	}
	fails := func(_ context.Context, v int) (int, error) {
		if v == 7 {
			return 0, errB
		}
		return v, nil
	}
	wantBranches(t, stage.Partition(items(0, 7, 1), 2, fails), []any{0, errB}, []any{errB, 1})
}

func TestTeeSendsEveryItemToAll(t *testing.T) {
	for _, k := range []int{1, 2, 5} {
		want := append(numbers(200), errA, 7)
		wantBranches(t, stage.Tee(items(want...), k, stage.Window(3)), slices.Repeat([][]any{want}, k)...)
	}
}

func TestBalanceSendsEachItemToOne(t *testing.T) {
	for _, k := range []int{1, 2, 7} {
		want := append(numbers(2000), errA, errB)
		wantSet(t, stage.Merge(stage.Balance(items(want...), k, stage.Window(3))...), want...)
		got := slices.Concat(gather(t, stage.Balance(items(want...), k)...)...)
		wantSet(t, items(got...), want...)
	}
}

func TestBalanceGivesToWhoHasWaitedLongest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// An item a second, and readers that wait for it: each gets every third.
		var got [3][]int
		var sinks []stage.Sink
		for i, b := range stage.Balance(stage.FromChan(ticking(time.Second, 12)), 3) {
			sinks = append(sinks, stage.To(b, 1, func(_ context.Context, v int) error { got[i] = append(got[i], v); return nil }))
		}
		if err := stage.Run(t.Context(), sinks...); err != nil {
			t.Error(err)
		}
		for i := range got {
			for k, v := range got[i] {
				if v != got[i][0]+3*k || len(got[i]) != 4 {
					t.Errorf("they got %v", got)
				}
			}
		}
	})
}

func TestBalanceGivesToEachReaderWhatItHasTimeFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var counts [3]atomic.Int64
		var sinks []stage.Sink
		for i, b := range stage.Balance(naturals(), 3) {
			// They take 1, 2 and 4 seconds for an item.
			sinks = append(sinks, stage.To(b, 1, func(context.Context, int) error {
				time.Sleep(time.Second << i)
				counts[i].Add(1)
				return nil
			}))
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Second+time.Millisecond, errA)
		defer cancel()
		if err := stage.Run(ctx, sinks...); err != errA {
			t.Error(err)
		}
		if a, b, c := counts[0].Load(), counts[1].Load(), counts[2].Load(); a != 101 || b != 51 || c != 26 {
			t.Errorf("they got %d, %d and %d items, want 101, 51 and 26", a, b, c)
		}
	})
}

func TestBalanceGivesNothingToAReaderThatHasLeft(t *testing.T) {
	// The first reader asks, is stopped before the next item comes, and cannot
	// close because it is busy with its first one. The other one asks later.
	synctest.Test(t, func(t *testing.T) {
		outs := stage.Balance(stage.FromChan(ticking(2*time.Second, 5)), 2, stage.Window(1))
		stop := make(chan struct{})
		time.AfterFunc(3*time.Second, func() { close(stop) })
		busy := stage.Map(stage.Until(outs[0], stop), 2, nap(time.Hour))
		var got []int
		err := stage.Run(t.Context(),
			stage.To(busy, 1, func(context.Context, int) error { return nil }),
			stage.To(stage.Concat(items(-1), outs[1]), 1, func(_ context.Context, v int) error {
				if v < 0 {
					time.Sleep(5 * time.Second)
				} else {
					got = append(got, v)
				}
				return nil
			}))
		if err != nil || !slices.Equal(got, []int{1, 2, 3, 4}) {
			t.Error(err, got)
		}
	})
}

// rooms is a source of k items that notes how much it has been asked for at
// once, and gives one item, after a gate has opened, when it has given half.
type rooms struct {
	k, gave, most int
	gate          <-chan struct{}
}

func (r *rooms) Next(dst []stage.Try[int]) int {
	r.most = max(r.most, len(dst))
	k := min(len(dst), r.k-r.gave)
	if half := r.k / 2; r.gate != nil && r.gave < half {
		k = min(k, half-r.gave)
	} else if r.gate != nil {
		<-r.gate
		r.gate, k = nil, 1
	}
	for i := range dst[:k] {
		dst[i] = stage.Try[int]{Value: r.gave}
		r.gave++
	}
	return k
}

func (r *rooms) Close() {}

func (r *rooms) stream() stage.Stream[int] {
	return stage.New(func(*stage.Scope) stage.Reader[int] { return r })
}

func TestBalanceDoesNotPileUpItemsAtASlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// When many items come at once, one reader has waited long for a single one,
		// and another one, for less long, for as many as there are.
		gate := make(chan struct{})
		time.AfterFunc(3*time.Second, func() { close(gate) })
		src := &rooms{k: 2000, gate: gate}
		outs := stage.Balance(src.stream(), 3)
		counts := make([]int, 3)
		reader := func(i int, wait time.Duration, room, most int) stage.Sink {
			in := stage.New(func(s *stage.Scope) stage.Reader[int] {
				rd := stage.Open(s, outs[i])
				return &handsReader{next: func() {
					time.Sleep(wait)
					buf := make([]stage.Try[int], room)
					for k := 1; k > 0 && counts[i] < most; {
						k = rd.Next(buf[:min(room, most-counts[i])])
						counts[i] += k
					}
					time.Sleep(time.Hour) // busy with what it has got
				}, close: rd.Close}
			})
			return stage.To(in, 1, func(context.Context, int) error { return nil })
		}
		err := stage.Run(t.Context(), reader(0, 0, 64, 1001), reader(1, time.Second, 1, 1), reader(2, 2*time.Second, 64, 2000))
		if err != nil || !slices.Equal(counts, []int{1001, 1, 998}) || src.most != 64 {
			t.Errorf("%v: they got %v, at most %d at once", err, counts, src.most)
		}
	})
}

func TestBranchesAskForNoMoreThanTheirWindowAtOnce(t *testing.T) {
	for _, window := range []int{1, 5, 64, 1000} {
		src := &rooms{k: 5000}
		got := gather(t, stage.Tee(src.stream(), 2, stage.Window(window))...)
		if len(got[0]) != 5000 || len(got[1]) != 5000 || src.most > min(window, 64) {
			t.Errorf("window %d: %d has been asked for at once", window, src.most)
		}
	}
}

func TestOrderedSplitKeepsOrderWhateverTheCallsTake(t *testing.T) {
	for _, n := range []int{stage.Inline, 1, 2, 8} {
		synctest.Test(t, func(t *testing.T) {
			yes, no := ordered.Split(items(append(numbers(100), errA, 5, 4)...), n, func(_ context.Context, v int) (bool, error) {
				time.Sleep(time.Duration(7*v%11) * time.Second)
				if v == 50 {
					return true, errB
				}
				return even(v), nil
			}, stage.Name("decide"))
			var evens, odds []any
			for i := range 100 {
				switch {
				case i == 50:
					evens, odds = append(evens, errB), append(odds, errB)
				case even(i):
					evens = append(evens, i)
				default:
					odds = append(odds, i)
				}
			}
			wantBranches(t, []stage.Stream[int]{yes, no}, append(evens, errA, 4), append(odds, errA, 5))
		})
	}
}

func TestBranchesOfARunShareOneRunOfTheirUpstream(t *testing.T) {
	src := &script{items: numbers(30)}
	outs := stage.Tee(src.stream(), 3)
	for run := int64(1); run <= 3; run++ {
		got := gather(t, outs...)
		if len(got[0]) != 30 || len(got[1]) != 30 || len(got[2]) != 30 {
			t.Fatal(got)
		}
		if src.opened.Load() != run || src.closed.Load() != run {
			t.Fatalf("after %d runs the source has been opened %d and closed %d times", run, src.opened.Load(), src.closed.Load())
		}
	}
	if src.gave.Load() != 90 {
		t.Fatal("items taken:", src.gave.Load())
	}
}

func TestBranchReadTwiceInARunRunsItsUpstreamTwice(t *testing.T) {
	src := &script{items: numbers(10)}
	yes, no := stage.Split(src.stream(), even)
	wantSet(t, stage.Merge(yes, yes, no), 0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7, 8, 8, 9)
	if src.opened.Load() != 2 || src.closed.Load() != 2 {
		t.Fatalf("the source has been opened %d and closed %d times, want 2", src.opened.Load(), src.closed.Load())
	}
	// One after the other, too: nothing is lost by reading it once more.
	wantList(t, stage.Concat(yes, yes), 0, 2, 4, 6, 8, 0, 2, 4, 6, 8)
}

func TestBranchThatTheRunDoesNotReachIsDropped(t *testing.T) {
	yes, no := stage.Split(items(numbers(10_000)...), even, stage.Window(1))
	if k, err := stage.Count(t.Context(), yes); k != 5000 || err != nil {
		t.Fatal(k, err)
	}
	if k, err := stage.Count(t.Context(), no); k != 5000 || err != nil {
		t.Fatal(k, err)
	}
	for i, b := range stage.Partition(items(numbers(9000)...), 3, func(v int) int { return v % 3 }, stage.Window(1)) {
		wantList(t, stage.Take(b, 2), i, i+3)
	}
	if k, err := stage.Count(t.Context(), stage.Balance(items(numbers(1000)...), 5, stage.Window(1))[3]); k != 1000 || err != nil {
		t.Fatal(k, err)
	}
}

func TestBranchThatEndsEarlyLetsTheOthersGoOn(t *testing.T) {
	early := map[string]func(in stage.Stream[int]) stage.Stream[int]{
		"Take(0)": func(in stage.Stream[int]) stage.Stream[int] { return stage.Take(in, 0) },
		"Take(3)": func(in stage.Stream[int]) stage.Stream[int] { return stage.Take(in, 3) },
		"TakeWhile": func(in stage.Stream[int]) stage.Stream[int] {
			return stage.TakeWhile(in, func(v int) bool { return v < 6 })
		},
		"Zip": func(in stage.Stream[int]) stage.Stream[int] {
			return stage.Map(stage.Zip(items(1, 2), in), stage.Inline, func(_ context.Context, p pair) (int, error) { return p.Second, nil })
		},
		"FlatMap": func(in stage.Stream[int]) stage.Stream[int] {
			return stage.Take(stage.FlatMap(in, 2, func(_ context.Context, v int) stage.Stream[int] { return items(v, v) }), 1)
		},
		"Map": func(in stage.Stream[int]) stage.Stream[int] { return stage.Take(stage.Map(in, 3, id), 2) },
	}
	together := map[string]func(t *testing.T, short, long stage.Stream[int]) int{
		"Run": func(t *testing.T, short, long stage.Stream[int]) int { return len(gather(t, short, long)[1]) },
		"Merge": func(t *testing.T, short, long stage.Stream[int]) int {
			k, err := stage.Count(t.Context(), stage.Merge(long, stage.Filter(short, stage.Inline, func(context.Context, int) (bool, error) { return false, nil })))
			if err != nil {
				t.Error(err)
			}
			return k
		},
		"Concat": func(t *testing.T, short, long stage.Stream[int]) int {
			// What long has missed while short was read fits into its branch.
			k, err := stage.Count(t.Context(), stage.Concat(stage.Filter(short, stage.Inline, func(context.Context, int) (bool, error) { return false, nil }), long))
			if err != nil {
				t.Error(err)
			}
			return k
		},
	}
	for how, run := range together {
		for name, end := range early {
			t.Run(how+"/"+name, func(t *testing.T) {
				src := &script{items: numbers(4_000)}
				yes, no := stage.Split(src.stream(), even)
				if k := run(t, end(yes), no); k != 2_000 {
					t.Errorf("the other branch has emitted %d items, want 2000", k)
				}
				if src.gave.Load() != 4_000 || src.closed.Load() != 1 {
					t.Errorf("the source has given %d items and been closed %d times", src.gave.Load(), src.closed.Load())
				}
			})
		}
	}
}

func TestBranchThatHasAllItWantsIsPassedOverBeforeItIsClosed(t *testing.T) {
	// The reader of yes is busy with its last value for as long as the other one
	// needs for everything, and cannot close yet.
	synctest.Test(t, func(t *testing.T) {
		yes, no := stage.Split(items(numbers(4_000)...), even, stage.Window(5))
		all := make(chan struct{})
		count := 0
		err := stage.Run(t.Context(),
			stage.To(stage.Take(yes, 3), 1, func(_ context.Context, v int) error {
				if v == 4 {
					<-all
				}
				return nil
			}),
			stage.To(no, 1, func(context.Context, int) error {
				if count++; count == 2_000 {
					close(all)
				}
				return nil
			}))
		if err != nil || count != 2_000 {
			t.Error(err, count)
		}
	})
	// The same for a reader that itself goes on to read the other one.
	yes, no := stage.Split(items(numbers(4_000)...), even, stage.Window(5))
	pairs := stage.Zip(stage.Concat(stage.Take(yes, 3), naturals()), no)
	if k, err := stage.Count(t.Context(), pairs); k != 2_000 || err != nil {
		t.Error(k, err)
	}
	wantList(t, stage.Zip(stage.Take(yes, 1), stage.Drop(no, 1000)), pair{0, 2_001})
}

func TestSplitsNest(t *testing.T) {
	src := &script{items: numbers(4000)}
	evens, odds := stage.Split(src.stream(), even)
	by4 := func(v int) bool { return v%4 < 2 }
	a, b := stage.Split(evens, by4)
	c, d := stage.Split(odds, by4)
	got := gather(t, a, b, c, d)
	for i, first := range []int{0, 2, 1, 3} {
		for k, v := range got[i] {
			if v != first+4*k {
				t.Fatalf("branch %d emits %v", i, brief(got[i]))
			}
		}
		if len(got[i]) != 1000 {
			t.Fatalf("branch %d emits %d items", i, len(got[i]))
		}
	}
	if src.opened.Load() != 1 || src.gave.Load() != 4000 {
		t.Fatal("the source has been opened", src.opened.Load(), "times")
	}
	// With one inner branch only, and behind transforms with goroutines.
	tees := stage.Tee(stage.Map(d, 2, id), 3)
	deep, _ := stage.Split(tees[2], func(v int) bool { return v < 100 })
	if k, err := stage.Count(t.Context(), stage.Merge(deep, stage.Take(a, 5))); k != 25+5 || err != nil {
		t.Fatal(k, err)
	}
}

func TestTeeHoldsExactlyItsWindowForASlowReaderC41(t *testing.T) {
	for _, window := range []int{1, 4, 50} {
		synctest.Test(t, func(t *testing.T) {
			src := &script{items: numbers(1000), step: 1}
			tees := stage.Tee(src.stream(), 2, stage.Window(window))
			gate, fast := make(chan struct{}), atomic.Int64{}
			ctx, cancel := context.WithCancelCause(t.Context())
			first := true
			go func() {
				synctest.Wait()
				// The slow reader has one in hand; window more are held for it, and
				// the next one is in hand of the tee, after the first branch.
				if gave := src.gave.Load(); gave != int64(1+window+1) || fast.Load() != gave {
					t.Errorf("window %d: %d items have been taken, the fast reader has got %d", window, gave, fast.Load())
				}
				gate <- struct{}{} // one more
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if gave := src.gave.Load(); gave != int64(2+window+1) || fast.Load() != gave {
					t.Errorf("window %d: %d items have been taken, the fast reader has got %d", window, gave, fast.Load())
				}
				cancel(errA)
			}()
			err := stage.Run(ctx,
				stage.To(tees[0], 1, func(context.Context, int) error { fast.Add(1); return nil }),
				stage.To(tees[1], 1, func(ctx context.Context, _ int) error {
					select {
					case <-gate:
					case <-ctx.Done():
					}
					if first {
						first = false
						time.Sleep(time.Second) // slow: it is given one item at a time
					}
					return nil
				}))
			if err != errA {
				t.Error(err)
			}
		})
	}
}

func TestReaderThatNeverReadsHoldsUpTheOthersUntilTheContextEndsC41(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tees := stage.Tee(items(numbers(100)...), 2, stage.Window(4))
		got := 0
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errA)
		defer cancel()
		err := stage.Run(ctx,
			stage.To(tees[0], 1, func(ctx context.Context, _ int) error { <-ctx.Done(); return nil }),
			stage.To(tees[1], 1, func(context.Context, int) error { got++; return nil }))
		if err != errA || got != 5 {
			t.Errorf("%v, the other reader has got %d items, want 5: one in hand, four held", err, got)
		}
	})
}

func TestBranchesTakeTheErrorOfTheRunOnce(t *testing.T) {
	yes, no := stage.Split(items(1, 2, errA, 3), even)
	for range 100 {
		if err := stage.Run(t.Context(), stage.To(yes, 1, func(context.Context, int) error { return nil }),
			stage.To(no, 3, func(context.Context, int) error { return nil })); err != errA {
			t.Fatal(err)
		}
		if _, err := stage.Collect(t.Context(), stage.Merge(yes, no)); err != errA {
			t.Fatal(err)
		}
		// Caught on one side only, it comes from the other.
		caught := stage.Catch(yes, stage.Inline, func(context.Context, error) error { return nil })
		if _, err := stage.Collect(t.Context(), stage.Merge(caught, no)); err != errA {
			t.Fatal(err)
		}
		wantList(t, caught, 2)
	}
}

func TestBranchesOfOneSplitMayBeReadByManyRunsAtOnce(t *testing.T) {
	src := &script{items: numbers(100)}
	yes, no := stage.Split(src.stream(), even)
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			if k, err := stage.Count(t.Context(), stage.Merge(yes, no)); k != 100 || err != nil {
				t.Error(k, err)
			}
		})
	}
	wg.Wait()
	if src.opened.Load() != 200 || src.closed.Load() != 200 {
		t.Error(src.opened.Load(), src.closed.Load())
	}
}

func TestUpstreamOfBranchesIsCancelledWhenTheLastOneNeedsNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun, ended atomic.Int64
		slow := stage.Map(naturals(), 4, func(ctx context.Context, v int) (int, error) {
			if v < 20 {
				return v, nil
			}
			begun.Add(1)
			<-ctx.Done()
			ended.Add(1)
			return 0, ctx.Err()
		})
		yes, no := stage.Split(slow, even)
		in := stage.Concat(stage.Take(stage.Merge(stage.Take(yes, 3), stage.Take(no, 3)), 6), stage.Tap(items(-1), func(int) {
			if ended.Load() != begun.Load() {
				t.Errorf("%d of %d calls have been ended", ended.Load(), begun.Load())
			}
		}))
		if k, err := stage.Count(t.Context(), in); k != 7 || err != nil {
			t.Error(k, err)
		}
	})
}

func TestPanicUpstreamOfBranchesIsNotTheirEnd(t *testing.T) {
	for range 400 {
		after := &script{items: numbers(3)}
		yes, no := stage.Split(stage.Tap(naturals(), func(v int) {
			if v == 10 {
				panic(errA)
			}
		}), even)
		p, _ := panicOf(func() {
			stage.Run(t.Context(),
				stage.To(stage.Concat(yes, after.stream()), 1, func(context.Context, int) error { return nil }),
				stage.To(stage.Concat(no, after.stream()), 1, func(context.Context, int) error { return nil }))
		}).(*stage.Panic)
		if p == nil || p.Stage != "tap#1" || p.Value != errA || after.gave.Load() != 0 {
			t.Fatalf("panics with %v; what comes after has given %d items", p, after.gave.Load())
		}
	}
}

func TestBadArgumentOfAManyOutPanicsAtConstructionC05(t *testing.T) {
	var none func(int) bool
	for text, f := range map[string]func(){
		"stage.Split: pred is nil":                   func() { stage.Split(stage.Of(1), none) },
		"stage.Split: option 1 is nil":               func() { stage.Split(stage.Of(1), even, stage.Name("x"), nil) },
		"stage.Partition: k is 0, want at least 1":   func() { stage.Partition(stage.Of(1), 0, func(int) int { return 0 }) },
		"stage.Partition: route is nil":              func() { stage.Partition(stage.Of(1), 2, (func(int) int)(nil)) },
		"stage.Tee: k is -1, want at least 1":        func() { stage.Tee(stage.Of(1), -1) },
		"stage.Balance: k is 0, want at least 1":     func() { stage.Balance(stage.Of(1), 0) },
		"stage.Window: window is 0, want at least 1": func() { stage.Tee(stage.Of(1), 2, stage.Window(0)) },
		"ordered.Split: f is nil":                    func() { ordered.Split(stage.Of(1), 1, nil) },
		"ordered.Split: n is -1, want 0 (Inline) to 1048576": func() {
			ordered.Split(stage.Of(1), -1, func(context.Context, int) (bool, error) { return true, nil })
		},
	} {
		if got := panicOf(f); got != text {
			t.Errorf("panics with %v, want %s", got, text)
		}
	}
	if errors.Is(errA, errB) {
		t.Fatal("the errors of the tests are not distinct")
	}
}
