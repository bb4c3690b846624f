package stage_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/stage"
)

// P5: when a terminal returns, or a range over Seq ends, by whatever road, no
// goroutine of the run is alive and every source is closed.

// alive returns how many goroutines have begun in the package under test.
func alive() int {
	stacksMu.Lock()
	defer stacksMu.Unlock()
	for {
		k := runtime.Stack(stacks, true)
		if k < len(stacks) {
			return bytes.Count(stacks[:k], []byte("created by github.com/seed95b73fdc/sluice/stage.(*Scope).spawn "))
		}
		stacks = make([]byte, 2*len(stacks))
	}
}

var (
	stacksMu sync.Mutex
	stacks   = make([]byte, 1<<16)
)

// roads are the ways in which a run can end. Each returns after that.
var roads = map[string]func(ctx context.Context, in stage.Stream[int]){
	"end":     func(ctx context.Context, in stage.Stream[int]) { stage.Discard(ctx, in) },
	"Collect": func(ctx context.Context, in stage.Stream[int]) { stage.Collect(ctx, in) },
	"Count":   func(ctx context.Context, in stage.Stream[int]) { stage.Count(ctx, in) },
	"First":   func(ctx context.Context, in stage.Stream[int]) { stage.First(ctx, in) },
	"Take":    func(ctx context.Context, in stage.Stream[int]) { stage.Discard(ctx, stage.Take(in, 3)) },
	"Any": func(ctx context.Context, in stage.Stream[int]) {
		stage.Any(ctx, in, 3, func(_ context.Context, v int) (bool, error) { return v == 10, nil })
	},
	"Reduce": func(ctx context.Context, in stage.Stream[int]) {
		stage.Reduce(ctx, in, 2, func(_ context.Context, a, b int) (int, error) { return a + b, nil })
	},
	"ForEach": func(ctx context.Context, in stage.Stream[int]) {
		stage.ForEach(ctx, in, 4, func(context.Context, int) error { return nil })
	},
	"error": func(ctx context.Context, in stage.Stream[int]) {
		stage.ForEach(ctx, in, 1, func(context.Context, int) error { return errStop })
	},
	"error of four": func(ctx context.Context, in stage.Stream[int]) {
		stage.ForEach(ctx, in, 4, func(context.Context, int) error { return errStop })
	},
	"Run": func(ctx context.Context, in stage.Stream[int]) {
		none := func(context.Context, int) error { return nil }
		stage.Run(ctx, stage.To(in, 1, none), stage.To(in, 3, none))
	},
	"Run fails": func(ctx context.Context, in stage.Stream[int]) {
		stage.Run(ctx, stage.To(in, 1, func(context.Context, int) error { return errStop }),
			stage.To(in, 3, func(ctx context.Context, _ int) error { <-ctx.Done(); return nil }))
	},
	"cancel": func(ctx context.Context, in stage.Stream[int]) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stage.ForEach(ctx, in, 1, func(context.Context, int) error { cancel(); return nil })
	},
	"timeout": func(ctx context.Context, in stage.Stream[int]) {
		ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		stage.ForEach(ctx, in, 2, func(ctx context.Context, _ int) error { <-ctx.Done(); return nil })
	},
	"range":    func(ctx context.Context, in stage.Stream[int]) { drain(in.Seq(ctx)) },
	"no range": func(ctx context.Context, in stage.Stream[int]) { _ = in.Seq(ctx) },
	"break": func(ctx context.Context, in stage.Stream[int]) {
		for range in.Seq(ctx) {
			break
		}
	},
	"return": func(ctx context.Context, in stage.Stream[int]) {
		func() int {
			for v := range in.Seq(ctx) {
				return v
			}
			return 0
		}()
	},
	"panic in range": func(ctx context.Context, in stage.Stream[int]) {
		if v := raised(func() {
			for range in.Seq(ctx) {
				panic(errStop)
			}
		}); v != errStop {
			panic(v)
		}
	},
	"Goexit in range": func(ctx context.Context, in stage.Stream[int]) {
		exits(func() {
			for range in.Seq(ctx) {
				runtime.Goexit()
			}
		})
	},
	"Pull": func(ctx context.Context, in stage.Stream[int]) {
		next, stop := iter.Pull2(in.Seq(ctx))
		next()
		stop()
	},
	"panic in f": func(ctx context.Context, in stage.Stream[int]) {
		raised(func() { stage.ForEach(ctx, in, 1, func(context.Context, int) error { panic(1) }) })
	},
	"panic in one of four": func(ctx context.Context, in stage.Stream[int]) {
		raised(func() { stage.ForEach(ctx, in, 4, func(context.Context, int) error { panic(1) }) })
	},
	"Goexit in f": func(ctx context.Context, in stage.Stream[int]) {
		exits(func() { stage.ForEach(ctx, in, 1, func(context.Context, int) error { runtime.Goexit(); return nil }) })
	},
	"Goexit in one of four": func(ctx context.Context, in stage.Stream[int]) {
		stage.ForEach(ctx, in, 4, func(context.Context, int) error { runtime.Goexit(); return nil })
	},
	"ToChan": func(ctx context.Context, in stage.Stream[int]) {
		ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		stage.ToChan(ctx, in, make(chan int)) // nobody receives
	},
	"ToRill": func(ctx context.Context, in stage.Stream[int]) {
		for range stage.ToRill(ctx, in) {
		}
	},
	"ToRill cancelled": func(ctx context.Context, in stage.Stream[int]) {
		ctx, cancel := context.WithCancel(ctx)
		out := stage.ToRill(ctx, in)
		<-out
		cancel()
		for range out {
		}
	},
}

func drain(seq iter.Seq2[int, error]) {
	for range seq {
	}
}

// exits calls f in a goroutine that f may end, and waits for that.
func exits(f func()) {
	var wg sync.WaitGroup
	wg.Go(f)
	wg.Wait()
}

func TestP5NothingIsLeftWhateverRoadTheRunTakes(t *testing.T) {
	speeds := map[string]work{
		"cheap": func(context.Context, int) error { return nil },
		"slow": func(ctx context.Context, v int) error {
			select {
			case <-time.After(time.Duration(v%5) * time.Millisecond):
			case <-ctx.Done():
			}
			return nil
		},
		// Does not heed its context, so the terminal has to wait for it; after a
		// panic it would do so for PanicGrace only.
		"deaf": func(_ context.Context, v int) error {
			time.Sleep(time.Duration(v%3) * stage.PanicGrace / 3)
			return nil
		},
		"fails": func(_ context.Context, v int) error { time.Sleep(time.Millisecond); return oops(v) },
	}
	for road, run := range roads {
		t.Run(road, func(t *testing.T) {
			for _, op := range share.Rows(t, engineOps) {
				if op.name == "Filter" || op.name == "FilterMap" || op.name == "TryFunc/AnyOrder" {
					continue // Map's and Catch's will do
				}
				for _, n := range sizes(stage.Inline, 3) {
					for speed, f := range speeds {
						synctest.Test(t, func(t *testing.T) {
							src := &tally{t: t, size: 100}
							var m meter
							// Two stages, so that one is upstream of the other's workers.
							in := op.over(src.stream(), 2, func(context.Context, int) error { return nil })
							run(t.Context(), op.over(in, n, func(ctx context.Context, v int) error {
								m.enter()
								defer m.leave()
								return f(ctx, v)
							}))
							if m.running.Load() != 0 || !src.allClosed() {
								t.Errorf("%s n=%d %s: %d running, %d of %d sources closed", op.name, n, speed, m.running.Load(), src.closed.Load(), src.opened.Load())
							}
							synctest.Wait()
							if k := alive(); k > 0 {
								t.Errorf("%s n=%d %s: %d goroutines left", op.name, n, speed, k)
							}
						})
					}
				}
			}
		})
	}
}

// C01: a generator is done when the terminal is, for one worker and for many.
func TestP5C01EarlyStopEndsTheProducer(t *testing.T) {
	for _, n := range []int{stage.Inline, 1, 8} {
		for _, op := range engineOps {
			for _, m := range []int{stage.Inline, 1, 8} {
				done := false
				source := stage.Generate(func(_ context.Context, yield func(int) bool) error {
					defer func() { done = true }()
					for v := range 1000 {
						if !yield(v + 1) {
							break
						}
					}
					return nil
				})
				var seen atomic.Int64
				in := op.over(source, m, func(context.Context, int) error { return nil })
				err := stage.ForEach(t.Context(), in, n, func(context.Context, int) error {
					if seen.Add(1) == 5 {
						return errStop
					}
					return nil
				})
				if err != errStop || !done {
					t.Errorf("%s n=%d m=%d: %v, producer done: %v", op.name, n, m, err, done)
				}
			}
		}
	}
}

// C37: all stages of a chain fail at the same time, in each of many runs.
func TestP5C37FourStagesFailAtOnce(t *testing.T) {
	for _, op := range share.Rows(t, engineOps) {
		for range 100 {
			synctest.Test(t, func(t *testing.T) {
				src := &tally{t: t, size: 100}
				in := src.stream()
				for i := range 4 {
					in = op.over(in, 2, func(_ context.Context, v int) error {
						time.Sleep(time.Millisecond)
						if i > 0 && v == 1-i%2 {
							return oops(i)
						}
						return nil
					})
				}
				err := stage.Discard(t.Context(), in)
				var o oops
				if !errors.As(err, &o) || !src.allClosed() {
					t.Errorf("%s: %v, closed %v", op.name, err, src.allClosed())
				}
			})
		}
	}
}

// C38: an error in the middle of a queue, with one worker.
func TestP5C38ErrorInTheMiddleOfAQueueOfOne(t *testing.T) {
	for _, r := range share.Rows(t, engineRuns()) {
		for range 300 {
			err := r.run(t.Context(), stage.FromSlice(upTo(7)), 1, func(_ context.Context, v int) error {
				if v == 3 {
					return errStop
				}
				return nil
			}, stage.Window(1))
			if err != errStop {
				t.Fatalf("%s: %v", r.name, err)
			}
		}
	}
}

// C48: the run is ended by eight at once, while its calls unwind.
func TestP5C48EndedByEightAtOnce(t *testing.T) {
	for _, r := range engineRuns() {
		for range 20 {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				src := &tally{t: t, size: 1000}
				var m meter
				for range 8 {
					go func() {
						time.Sleep(time.Second)
						cancel(errStop)
					}()
				}
				err := r.run(ctx, src.stream(), 4, func(ctx context.Context, _ int) error {
					m.enter()
					defer m.leave()
					<-ctx.Done()
					time.Sleep(time.Minute) // unwinds slowly
					return nil
				})
				if err != errStop || m.running.Load() != 0 || !src.allClosed() {
					t.Errorf("%s: %v, %d running, closed %v", r.name, err, m.running.Load(), src.allClosed())
				}
			})
		}
	}
}

// A stream that is never run, or whose run never asks for anything, has
// started nothing.
func TestP5NothingStartsBeforeItIsAskedFor(t *testing.T) {
	src := &tally{t: t, size: 10}
	for _, op := range engineOps {
		for _, n := range []int{stage.Inline, 1, 4} {
			in := op.over(src.stream(), n, func(context.Context, int) error { t.Error("called"); return nil })
			if src.opened.Load() != 0 {
				t.Fatalf("%s: opened by the constructor", op.name)
			}
			if err := stage.Discard(t.Context(), stage.Take(in, 0)); err != nil || src.handed.Load() != 0 || !src.allClosed() {
				t.Errorf("%s n=%d: %v, %d items taken", op.name, n, err, src.handed.Load())
			}
			src.opened.Store(0)
			src.closed.Store(0)
		}
	}
	if k := alive(); k > 0 {
		t.Errorf("%d goroutines", k)
	}
}

// A stage that ends, or is no longer needed, while the run goes on: its
// goroutines and its source have ended before what comes next is read.
func TestP5StageThatIsDoneIsGoneBeforeTheNextOneIsRead(t *testing.T) {
	none := func(context.Context, int) error { return nil }
	for _, op := range share.Rows(t, engineOps) {
		for _, n := range sizes(stage.Inline, 1, 4) {
			synctest.Test(t, func(t *testing.T) {
				all, some, last := &tally{t: t, size: 200}, &tally{t: t, size: 1 << 20}, &tally{t: t, size: 200}
				read := 0
				in := stage.Concat(op.over(all.stream(), n, none), stage.Take(op.over(some.stream(), n, none), 200), op.over(last.stream(), n, none))
				err := stage.ForEach(t.Context(), in, 1, func(context.Context, int) error {
					if read%200 == 100 {
						// One more for the stage that is read, while one of the n waits.
						synctest.Wait()
						if k := alive(); read > 100 && !all.allClosed() || read > 300 && !some.allClosed() || k > n+1 {
							t.Errorf("%s n=%d at %d: closed %v %v, %d goroutines", op.name, n, read, all.allClosed(), some.allClosed(), k)
						}
					}
					read++
					return nil
				})
				if read != 600 || err != nil {
					t.Errorf("%s n=%d: %d, %v", op.name, n, read, err)
				}
				inner := &tally{t: t, size: 100}
				k, err := stage.Count(t.Context(), stage.FlatMap(stage.FromSlice(upTo(50)), 3, func(context.Context, int) stage.Stream[int] {
					if n := inner.opened.Load() - inner.closed.Load(); n > 3 {
						t.Errorf("%s: %d inner sources are open", op.name, n)
					}
					return op.over(inner.stream(), n, none)
				}))
				if k != 50*100 || err != nil || !inner.allClosed() {
					t.Errorf("%s n=%d: %d, %v", op.name, n, k, err)
				}
			})
		}
	}
}
