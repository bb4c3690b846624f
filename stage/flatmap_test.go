package stage_test

import (
	"context"
	"errors"
	"fmt"
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

// flats are the ways to make streams of values, in order or as they come.
var flats = map[string]struct {
	ordered bool
	flat    func(in stage.Stream[int], n int, f func(context.Context, int) stage.Stream[int], opts ...stage.Option) stage.Stream[int]
}{
	"stage.FlatMap":   {false, stage.FlatMap[int, int]},
	"ordered.FlatMap": {true, ordered.FlatMap[int, int]},
}

// everyFlat runs test for each of them, for several n.
func everyFlat(t *testing.T, test func(t *testing.T, n int, flat flatFunc, want wantFunc)) {
	for name, way := range flats {
		for _, n := range share.Rows(t, []int{stage.Inline, 1, 2, 8}) {
			t.Run(fmt.Sprint(name, "/", n), func(t *testing.T) {
				test(t, n, func(in stage.Stream[int], f func(int) stage.Stream[int], opts ...stage.Option) stage.Stream[int] {
					return way.flat(in, n, func(_ context.Context, v int) stage.Stream[int] { return f(v) }, opts...)
				}, func(in stage.Stream[int], items ...any) {
					t.Helper()
					if way.ordered || n <= 1 {
						wantList(t, in, items...)
					} else {
						wantSet(t, in, items...)
					}
				})
			})
		}
	}
}

type flatFunc = func(in stage.Stream[int], f func(int) stage.Stream[int], opts ...stage.Option) stage.Stream[int]
type wantFunc = func(in stage.Stream[int], items ...any)

func TestFlatMapEmitsTheItemsOfTheInnerStreams(t *testing.T) {
	everyFlat(t, func(t *testing.T, _ int, flat flatFunc, want wantFunc) {
		repeat := func(v int) stage.Stream[int] { return stage.FromSlice(slices.Repeat([]int{v}, v)) }
		want(flat(items(), repeat))
		want(flat(items(0, 0, 0), repeat)) // empty inner streams
		want(flat(items(1), repeat), 1)
		want(flat(items(0, 2, 0, 1, 3, 0), repeat), 2, 2, 1, 3, 3, 3)
		want(flat(items(2, 5), func(int) stage.Stream[int] { return stage.Stream[int]{} }))
		want(flat(items(1, 300, 2), func(v int) stage.Stream[int] { return items(numbers(v)...) }),
			slices.Concat(numbers(1), numbers(300), numbers(2))...)
	})
}

func TestErrorsOfBothLevelsOfAFlatMapComeInTheirPlace(t *testing.T) {
	everyFlat(t, func(t *testing.T, _ int, flat flatFunc, want wantFunc) {
		errs := map[int]error{10: errors.New("inner 10"), 20: errors.New("inner 20")}
		in := func(list ...any) stage.Stream[int] {
			return flat(items(list...), func(v int) stage.Stream[int] { return items(v, errs[v], v+1) })
		}
		want(in(errA, 10), errA, 10, errs[10], 11)
		want(in(10, errA, 20, errB), 10, errs[10], 11, errA, 20, errs[20], 21, errB)
		want(in(errA, errB), errA, errB)
		want(flat(items(1, 2), func(v int) stage.Stream[int] { return stage.Failed[int](errA) }), errA, errA)
	})
}

func TestErrorOfAnInnerStreamEndsTheRun(t *testing.T) {
	everyFlat(t, func(t *testing.T, _ int, flat flatFunc, _ wantFunc) {
		var y yielder
		got, err := stage.Collect(t.Context(), flat(y.stream(), func(v int) stage.Stream[int] {
			if v == 100 {
				return items(1, errA)
			}
			return items(v)
		}))
		if err != errA || got != nil || y.begun.Load() != 1 || y.closed.Load() != 1 {
			t.Fatal(got, err, y.begun.Load(), y.closed.Load())
		}
	})
}

func TestEndlessInnerStreamIsPassedOn(t *testing.T) {
	everyFlat(t, func(t *testing.T, _ int, flat flatFunc, _ wantFunc) {
		var y yielder
		got, err := stage.Collect(t.Context(), stage.Take(flat(items(5, 6), func(v int) stage.Stream[int] {
			if v == 5 {
				return y.stream()
			}
			return items()
		}), 1000))
		if err != nil || len(got) != 1000 || !slices.IsSorted(got) || y.closed.Load() != 1 {
			t.Fatal(len(got), err, y.closed.Load())
		}
	})
}

func TestInnerStreamsOfOneRunShareNothingWithEachOther(t *testing.T) {
	everyFlat(t, func(t *testing.T, _ int, flat flatFunc, want wantFunc) {
		src := &script{items: numbers(6)}
		yes, no := stage.Split(src.stream(), even)
		// Each inner stream reads both sides of one run of the source.
		var expect []any
		in := flat(items(1, 2, 3), func(v int) stage.Stream[int] {
			pairs := stage.Zip(yes, no)
			return stage.Map(pairs, stage.Inline, func(_ context.Context, p pair) (int, error) { return 100*v + 10*p.First + p.Second, nil })
		})
		for v := 1; v <= 3; v++ {
			expect = append(expect, 100*v+1, 100*v+23, 100*v+45)
		}
		want(in, expect...)
		if o, c := src.opened.Load(), src.closed.Load(); o != 3 || c != 3 {
			t.Errorf("the source has been opened %d and closed %d times, want 3", o, c)
		}
		// Also when the outer stream is a branch of the same Split.
		src.opened.Store(0)
		want(flat(yes, func(v int) stage.Stream[int] { return stage.Take(no, v/2) }), 1, 1, 3)
		if src.opened.Load() != 4 {
			t.Errorf("the source has been opened %d times, want 4", src.opened.Load())
		}
	})
}

func TestInnerStreamsThatRunAtOnceReadASplitEachForItself(t *testing.T) {
	for name, way := range flats {
		src := &script{items: numbers(2)}
		yes, no := stage.Split(src.stream(), even)
		opened, read := make(chan struct{}), make(chan int)
		in := way.flat(items(0, 1), 2, func(_ context.Context, v int) stage.Stream[int] {
			if v == 0 { // opens one side, and reads it when the other stream has been read
				return stage.Concat(stage.FromChan(read), yes, stage.New(func(*stage.Scope) stage.Reader[int] {
					close(opened)
					return &handsReader{next: func() {}, close: func() {}}
				}))
			}
			<-opened
			return stage.Concat(no, stage.New(func(*stage.Scope) stage.Reader[int] {
				return &handsReader{next: func() { close(read) }, close: func() {}}
			}))
		})
		if k, err := stage.Count(t.Context(), in); k != 2 || err != nil || src.opened.Load() != 2 {
			t.Errorf("%s: %d items, %v; the source has been opened %d times", name, k, err, src.opened.Load())
		}
	}
}

func TestInnerStreamsLeaveNothingBehindInTheRun(t *testing.T) {
	everyFlat(t, func(t *testing.T, _ int, flat flatFunc, _ wantFunc) {
		yes, no := stage.Split(stage.Of(1, 2), even)
		heap := func() uint64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		count, early := 0, uint64(0)
		for range flat(stage.Take(naturals(), 1000), func(int) stage.Stream[int] { return stage.Merge(yes, stage.Map(no, 1, id)) }).Seq(t.Context()) {
			switch count++; count {
			case 300:
				early = heap()
			case 1900:
				if late := heap(); late > early+1<<20 {
					t.Errorf("after 150 streams the heap is %d bytes, after 950 it is %d", early, late)
				}
			}
		}
	})
}

func TestInnerStreamOfAFlatMapIsClosedWhenItHasEnded(t *testing.T) {
	everyFlat(t, func(t *testing.T, n int, flat flatFunc, want wantFunc) {
		var open, most atomic.Int64
		in := flat(items(numbers(50)...), func(v int) stage.Stream[int] {
			return stage.Generate(func(_ context.Context, yield func(int) bool) error {
				for k := open.Add(1); ; {
					if m := most.Load(); k <= m || most.CompareAndSwap(m, k) {
						break
					}
				}
				defer open.Add(-1)
				yield(v)
				return nil
			})
		})
		want(in, numbers(50)...)
		if open.Load() != 0 || most.Load() > int64(max(n, 1)) {
			t.Errorf("%d are open, at most %d at once", open.Load(), most.Load())
		}
	})
}

func TestFlatMapRunsNInnerStreamsAtOnceAndNoMore(t *testing.T) {
	for name, way := range flats {
		for _, c := range []struct{ n, window, want int }{{1, 0, 1}, {3, 0, 3}, {8, 0, 8}, {8, 2, 2}, {2, 5, 2}} {
			synctest.Test(t, func(t *testing.T) {
				var running atomic.Int64
				src := &script{items: numbers(100)}
				var opts []stage.Option
				if c.window > 0 {
					opts = append(opts, stage.Window(c.window))
				}
				in := way.flat(src.stream(), c.n, func(_ context.Context, v int) stage.Stream[int] {
					return stage.Generate(func(ctx context.Context, yield func(int) bool) error {
						running.Add(1)
						defer running.Add(-1)
						time.Sleep(time.Second)
						yield(v)
						return nil
					})
				}, opts...)
				go func() {
					for range 5 {
						time.Sleep(time.Second + time.Millisecond)
						synctest.Wait()
						if k := running.Load(); k != int64(c.want) {
							t.Errorf("%s with n = %d, window %d: %d run", name, c.n, c.window, k)
						}
					}
				}()
				start := time.Now()
				k, err := stage.Count(t.Context(), in)
				took := time.Duration((100+c.want-1)/c.want) * time.Second
				if err != nil || k != 100 || time.Since(start) != took {
					t.Errorf("%s with n = %d, window %d: %d items, %v, %v, want %v", name, c.n, c.window, k, err, time.Since(start), took)
				}
			})
		}
	}
}

func TestOrderedFlatMapHoldsTwoItemsOfEachStreamThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var srcs [4]*script
		for i := range srcs {
			srcs[i] = &script{items: numbers(1000)}
		}
		gate := make(chan int)
		in := ordered.FlatMap(items(0, 1, 2, 3), 3, func(_ context.Context, v int) stage.Stream[int] {
			if v == 0 {
				return stage.FromChan(gate) // the first one gives nothing yet
			}
			return srcs[v].stream()
		})
		go func() {
			synctest.Wait()
			for i, want := range []int64{0, 2, 2, 0} {
				if gave := srcs[i].gave.Load(); gave != want || srcs[i].opened.Load() != min(want, 1) {
					t.Errorf("stream %d has given %d items", i, gave)
				}
			}
			close(gate)
		}()
		if k, err := stage.Count(t.Context(), in); k != 3000 || err != nil {
			t.Error(k, err)
		}
	})
}

func TestContextOfAFlatMapsFunctionEndsWithItsStream(t *testing.T) {
	for name, way := range flats {
		for _, n := range []int{stage.Inline, 1, 3} {
			var ctxs []context.Context
			in := way.flat(items(0, 1, 2), n, func(ctx context.Context, v int) stage.Stream[int] {
				if ctx.Err() != nil {
					t.Error(ctx.Err())
				}
				if v == 0 {
					ctxs = append(ctxs, ctx)
				}
				return items(v)
			})
			if err := stage.Discard(t.Context(), in); err != nil || len(ctxs) != 1 || ctxs[0].Err() == nil {
				t.Errorf("%s/%d: %v", name, n, err)
			}
		}
	}
}

func TestPanicAndGoexitInAFlatMap(t *testing.T) {
	everyFlat(t, func(t *testing.T, n int, flat flatFunc, want wantFunc) {
		boom := func(int) stage.Stream[int] { panic(errA) }
		p, _ := panicOf(func() { stage.Discard(t.Context(), flat(naturals(), boom, stage.Name("name"))) }).(*stage.Panic)
		if p == nil || p.Stage != "name" || p.Value != errA {
			t.Errorf("panics with %v", p)
		}
		inner := func(v int) stage.Stream[int] {
			return stage.Map(items(v), stage.Inline, func(context.Context, int) (int, error) { panic(errB) }, stage.Name("inner"))
		}
		p, _ = panicOf(func() { stage.Discard(t.Context(), flat(naturals(), inner, stage.RecoverPanics())) }).(*stage.Panic)
		if p == nil || p.Stage != "inner" || p.Value != errB {
			t.Errorf("panics with %v", p)
		}
		// Recovered, it is the item of its value.
		sometimes := func(v int) stage.Stream[int] {
			if v == 1 {
				panic(errA)
			}
			return items(v)
		}
		got := list(t, flat(items(0, 1, 2), sometimes, stage.RecoverPanics()))
		panics := 0
		for _, v := range got {
			if p, ok := v.(*stage.Panic); ok && p.Value == errA && errors.Is(p, errA) {
				panics++
			}
		}
		if len(got) != 3 || panics != 1 {
			t.Error(got)
		}
		if n == stage.Inline {
			return // runtime.Goexit would end the terminal's goroutine, which is the test's
		}
		gone := func(int) stage.Stream[int] { runtime.Goexit(); return items() }
		if err := stage.Discard(t.Context(), flat(naturals(), gone)); !errors.Is(err, stage.ErrGoexit) {
			t.Error(err)
		}
	})
}

func TestPanicOfAnInnerStreamIsRaisedAlthoughACallIgnoresItsContext(t *testing.T) {
	for name, way := range flats {
		for _, n := range []int{stage.Inline, 1, 3} {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				defer close(release)
				in := way.flat(items(1), n, func(context.Context, int) stage.Stream[int] {
					deaf := stage.Map(naturals(), 2, func(_ context.Context, v int) (int, error) {
						if v == 1 {
							<-release
						} else {
							synctest.Wait() // the other call is there
						}
						return v, nil
					})
					return stage.Tap(deaf, func(int) { panic(errA) })
				})
				start := time.Now()
				p, _ := panicOf(func() { stage.Discard(t.Context(), in) }).(*stage.Panic)
				if p == nil || p.Value != errA || p.Running == 0 || time.Since(start) != stage.PanicGrace {
					t.Errorf("%s, n = %d: panics with %v after %v", name, n, p, time.Since(start))
				}
			})
		}
	}
}

func TestFlatMapsNest(t *testing.T) {
	everyFlat(t, func(t *testing.T, _ int, flat flatFunc, want wantFunc) {
		var expect []any
		for a := range 5 {
			for b := range 4 {
				for c := range 3 {
					expect = append(expect, 100*a+10*b+c)
				}
			}
		}
		spread := func(k, by int) func(int) stage.Stream[int] {
			return func(v int) stage.Stream[int] {
				return stage.Map(items(numbers(k)...), stage.Inline, func(_ context.Context, x int) (int, error) { return v + by*x, nil })
			}
		}
		want(flat(items(0), func(int) stage.Stream[int] {
			return flat(flat(items(0), spread(5, 100)), func(v int) stage.Stream[int] {
				return flat(spread(4, 10)(v), spread(3, 1))
			})
		}), expect...)
	})
}

func TestFlatMapEndsItsInnerStreamsWhenNoMoreIsNeeded(t *testing.T) {
	everyFlat(t, func(t *testing.T, n int, flat flatFunc, _ wantFunc) {
		synctest.Test(t, func(t *testing.T) {
			var begun, closed atomic.Int64
			in := flat(naturals(), func(v int) stage.Stream[int] {
				return stage.Generate(func(ctx context.Context, yield func(int) bool) error {
					begun.Add(1)
					defer closed.Add(1)
					yield(v)
					<-ctx.Done()
					return ctx.Err()
				})
			})
			got, err := stage.Collect(t.Context(), stage.Take(stage.Tap(in, func(int) { synctest.Wait() }), 1))
			if err != nil || len(got) != 1 || begun.Load() != closed.Load() || begun.Load() != int64(max(n, 1)) {
				t.Error(got, err, begun.Load(), closed.Load())
			}
		})
	})
}
