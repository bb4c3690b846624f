package stage_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/backpressure"
	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/stage"
)

var overflows = []backpressure.Overflow{backpressure.Block, backpressure.DropOldest, backpressure.DropNewest, backpressure.Latest, backpressure.Fail}

var transports = []backpressure.Transport{backpressure.Ring, backpressure.Chan}

// late reads in, one item at a time, once everything that can happen before it
// does has happened.
func late(t *testing.T, in stage.Stream[int]) (got []any) {
	t.Helper()
	first := true
	err := stage.ForEach(t.Context(), whole(in), 1, func(_ context.Context, item any) error {
		if first {
			synctest.Wait()
			first = false
		}
		got = append(got, item)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return got
}

func TestBufferPassesEverythingOnInOrderWhenItNeverOverflowsP1(t *testing.T) {
	for _, overflow := range overflows {
		for _, transport := range transports {
			for _, k := range []int{0, 1, 2, 63, 64, 65, 1000} {
				size := max(k, 1)
				if overflow == backpressure.Block {
					size = min(size, 10)
				}
				in := stage.Buffer(items(numbers(k)...), size, overflow, stage.Over(transport))
				if got, err := stage.Collect(t.Context(), in); err != nil || len(got) != k || !slices.IsSorted(got) {
					t.Errorf("%v over %v, %d items: %d, %v", overflow, transport, k, len(got), err)
				}
			}
		}
	}
}

func TestFullBufferDoesWhatItsOverflowSays(t *testing.T) {
	for _, transport := range transports {
		for overflow, want := range map[backpressure.Overflow][]any{
			// The reader takes 0 before the others come; three of them fit.
			backpressure.Block:      {0, 1, 2, 3, 4, 5, 6, 7},
			backpressure.DropOldest: {0, 5, 6, 7},
			backpressure.DropNewest: {0, 1, 2, 3},
			backpressure.Latest:     {0, 1, 2, 7},
		} {
			synctest.Test(t, func(t *testing.T) {
				src := make(chan int)
				go func() {
					defer close(src)
					for k := range 8 {
						src <- k
						if k == 0 {
							time.Sleep(time.Second)
						}
					}
				}()
				ctx, stats := stage.WithStats(t.Context())
				var dropped []int
				in := stage.Buffer(stage.FromChan(src), 3, overflow, stage.Over(transport), stage.Name("buf"),
					stage.OnDrop(func(v int) { dropped = append(dropped, v) }))
				var got []any
				err := stage.ForEach(ctx, in, 1, func(_ context.Context, v int) error {
					if v == 0 {
						time.Sleep(2 * time.Second) // until all have come
					}
					got = append(got, v)
					return nil
				})
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%v over %v: %v, %v; want %v", overflow, transport, got, err, want)
				}
				s := statOf(t, stats, "buf")
				if int(s.Dropped) != 8-len(want) || len(dropped) != 8-len(want) || s.In != 8 || int(s.Out) != len(want) || s.InFlight != 0 {
					t.Errorf("%v over %v: dropped %v, %+v", overflow, transport, dropped, s)
				}
				for _, v := range dropped {
					if slices.Contains(got, any(v)) {
						t.Errorf("%v over %v: %d was dropped and passed on", overflow, transport, v)
					}
				}
			})
		}
	}
}

func TestBufferThatFailsEndsBehindWhatItHolds(t *testing.T) {
	for _, transport := range transports {
		synctest.Test(t, func(t *testing.T) {
			src := &tally{t: t, size: 1000}
			got := late(t, stage.Buffer(src.stream(), 3, backpressure.Fail, stage.Over(transport), stage.Name("buf")))
			err, _ := got[len(got)-1].(error)
			if !errors.Is(err, backpressure.ErrOverflow) || !strings.HasPrefix(err.Error(), "buf: ") {
				t.Errorf("it ended with %v", got[len(got)-1])
			}
			for i, v := range got[:len(got)-1] {
				if v != i {
					t.Errorf("got %v", got)
				}
			}
			// Three in the buffer, what the reader had taken before, and the one that overflowed.
			if k := int(src.handed.Load()); k != len(got) || k > 8 || !src.allClosed() {
				t.Errorf("%d items were taken, %d came, closed: %v", k, len(got), src.allClosed())
			}
		})
	}
}

// The reader may come while the pump is about to fail, when what is upstream has been
// cancelled and the pump has not returned. That is no end: what is held comes, and then the
// error.
func TestBufferThatFailsIsNotTakenForOneThatHasEnded(t *testing.T) {
	for range share.Times(10) {
		overflowed := make(chan int, 1)
		in := stage.Generate(func(ctx context.Context, yield func(int) bool) error {
			for range 10_000 { // so that it takes its time to cancel ctx
				_, cancel := context.WithCancel(ctx)
				defer cancel()
			}
			for v := 0; yield(v); v++ {
			}
			return nil
		})
		in = stage.Buffer(in, 4, backpressure.Fail, stage.OnDrop(func(v int) { overflowed <- v }))
		next, dropped := 0, 0
		err := stage.ForEach(t.Context(), in, 1, func(_ context.Context, v int) error {
			if v == 0 {
				dropped = <-overflowed
			}
			if v != next {
				t.Errorf("got %d, want %d", v, next)
			}
			next++
			return nil
		})
		if !errors.Is(err, backpressure.ErrOverflow) || next != dropped {
			t.Fatalf("%d values and then %v, but %d was too much", next, err, dropped)
		}
	}
}

func TestBufferMergesWhatIsTooMuchIfItIsToldHow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := stage.Buffer(items(numbers(101)...), 1, backpressure.Latest, stage.Conflate(func(a, b int) int { return a + b }))
		sum := 0
		got := late(t, in)
		for _, v := range got {
			sum += v.(int)
		}
		if sum != 5050 || len(got) > 5 {
			t.Errorf("%v, which is %d in all", got, sum)
		}
	})
}

func TestBufferNeverDropsAnError(t *testing.T) {
	for _, overflow := range overflows[:4] {
		for _, size := range []int{1, 2, 3} {
			synctest.Test(t, func(t *testing.T) {
				errs := 0
				last := -1
				for _, item := range late(t, stage.Buffer(items(errA, 1, errA, errA, 2, errA, 3, 4, 5, errA, errA, 6), size, overflow)) {
					if item == errA {
						errs++
					} else if v := item.(int); v <= last {
						t.Errorf("%v: %d behind %d", overflow, v, last)
					} else {
						last = v
					}
				}
				if errs != 6 {
					t.Errorf("%v, size %d: %d errors of 6", overflow, size, errs)
				}
			})
		}
	}
}

func TestBufferHoldsNoMoreThanItsSizeP4(t *testing.T) {
	for _, overflow := range overflows[:4] {
		for _, transport := range transports {
			for _, size := range []int{1, 2, 5, 64, 100} {
				synctest.Test(t, func(t *testing.T) {
					src := &tally{t: t, size: 1000}
					ctx, stats := stage.WithStats(t.Context())
					taken := 0
					in := stage.Buffer(src.stream(), size, overflow, stage.Over(transport), stage.Name("buf"))
					rd := stage.New(func(s *stage.Scope) stage.Reader[int] {
						up := stage.Open(s, in)
						return &handsReader{next: func() {
							var one [1]stage.Try[int]
							for up.Next(one[:]) > 0 {
								taken++
								synctest.Wait()
								s := statOf(t, stats, "buf")
								want := min(size, src.size-taken)
								if overflow == backpressure.Block && (int(src.handed.Load()) != taken+want || s.InFlight != want) {
									t.Fatalf("%v: %d handed on when %d were taken, %+v", size, src.handed.Load(), taken, s)
								}
								if s.InFlight > size || s.Window != size {
									t.Fatalf("%v: %+v", overflow, s)
								}
								if taken > 20 {
									return
								}
							}
						}, close: up.Close}
					})
					if err := stage.Discard(ctx, rd); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

func TestBufferReadsAheadOfDownstream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// An item a second, and a reader that takes a second for one: they overlap.
		start := time.Now()
		slow := stage.Map(items(numbers(10)...), stage.Inline, func(_ context.Context, v int) (int, error) { time.Sleep(time.Second); return v, nil })
		err := stage.ForEach(t.Context(), stage.Buffer(slow, 2, backpressure.Block), 1, func(context.Context, int) error { time.Sleep(time.Second); return nil })
		if d := time.Since(start); err != nil || d != 11*time.Second {
			t.Error(err, d)
		}
	})
}

func TestBufferEndsWithItsRunP5P6(t *testing.T) {
	for _, overflow := range overflows {
		for _, transport := range transports {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				never := make(chan int)
				time.AfterFunc(time.Second, func() { cancel(errB) })
				if err := stage.Discard(ctx, stage.Buffer(stage.FromChan(never), 2, overflow, stage.Over(transport))); err != errB {
					t.Error(overflow, err)
				}
				src := &tally{t: t, size: 1000}
				if _, _, err := stage.First(t.Context(), stage.Buffer(src.stream(), 2, overflow, stage.Over(transport))); err != nil || !src.allClosed() {
					t.Error(overflow, err)
				}
				if err := stage.Discard(t.Context(), stage.Buffer(items(1, errA, 2, 3, 4, 5, 6), 2, backpressure.Block, stage.Over(transport))); err != errA {
					t.Error(err)
				}
			})
		}
	}
}

func TestBufferOfABranchLetsTheOtherOneGoOn(t *testing.T) {
	yes, no := stage.Split(items(numbers(500)...), even)
	in := stage.Concat(yes, stage.Buffer(no, 1000, backpressure.Block))
	// The buffer of no does not run before it is read, so this is stuck all the same:
	if _, err := stage.Collect(t.Context(), in); !errors.Is(err, stage.ErrStalled) {
		t.Error(err)
	}
	// Read side by side they go on, however uneven their pace.
	yes, no = stage.Split(items(numbers(500)...), even)
	if k, err := stage.Count(t.Context(), stage.Zip(yes, stage.Buffer(no, 3, backpressure.Block))); k != 250 || err != nil {
		t.Error(k, err)
	}
}

func TestPanicsOfTheFunctionsOfABufferHaveItsNameP9(t *testing.T) {
	boom := func(int) { panic(errA) }
	for name, in := range map[string]stage.Stream[int]{
		"OnDrop": stage.Buffer(items(numbers(100)...), 1, backpressure.DropNewest, stage.OnDrop(boom), stage.Name("buf")),
		"Conflate": stage.Buffer(items(numbers(100)...), 1, backpressure.Latest,
			stage.Conflate(func(int, int) int { panic(errA) }), stage.Name("buf")),
	} {
		synctest.Test(t, func(t *testing.T) {
			p, _ := panicOf(func() {
				_ = stage.ForEach(t.Context(), in, 1, func(context.Context, int) error { time.Sleep(time.Second); return nil })
			}).(*stage.Panic)
			if p == nil || p.Stage != "buf" || p.Value != errA {
				t.Errorf("%s: %v", name, p)
			}
		})
	}
}

func TestBadArgumentsOfABufferPanicP11(t *testing.T) {
	for want, f := range map[string]func(){
		"stage.Buffer: size is 0, want at least 1":                  func() { stage.Buffer(items(), 0, backpressure.Block) },
		"stage.Buffer: overflow is Overflow(9)":                     func() { stage.Buffer(items(), 1, 9) },
		"stage.Buffer: OnDrop has a func(string), want a func(int)": func() { stage.Buffer(items(), 1, backpressure.Block, stage.OnDrop(func(string) {})) },
		"stage.OnDrop: f is nil":                                    func() { stage.OnDrop[int](nil) },
		"stage.Conflate: merge is nil":                              func() { stage.Conflate[int](nil) },
		"stage.Over: transport is Transport(7), want Ring or Chan":  func() { stage.Over(7) },
		"stage.Resizable: p is nil":                                 func() { stage.Resizable(nil) },
		"stage.With: key is nil":                                    func() { stage.With(nil, 1) },
		"stage.With: key is a []int, which cannot be compared":      func() { stage.With([]int{}, 1) },
		"stage.Parallelism.Set: n is 0, want 1 to 1048576":          func() { new(stage.Parallelism).Set(0) },
		"stage.NewParallelism: n is -1, want 1 to 1048576":          func() { stage.NewParallelism(-1) },
		"stage.Debounce: quiet is 0s, want at least 1ns":            func() { stage.Debounce(items(), 0) },
		"stage.Sample: every is -1ns, want at least 1ns":            func() { stage.Sample(items(), -1) },
		"stage.Throttle: limiter is nil":                            func() { stage.Throttle(items(), nil) },
		"stage.ForEach: n is 0 (Inline), which cannot be resized": func() {
			_ = stage.ForEach(t.Context(), items(), 0, func(context.Context, int) error { return nil }, stage.Resizable(new(stage.Parallelism)))
		},
		"stage.FlatMap: n is 0 (Inline), which cannot be resized": func() {
			stage.FlatMap(items(), 0, func(context.Context, int) stage.Stream[int] { return items() }, stage.Resizable(new(stage.Parallelism)))
		},
		"stage.Sample: OnDrop has a func(string), want a func(int)": func() { stage.Sample(items(), 1, stage.OnDrop(func(string) {})) },
		"stage.Buffer: Conflate has a func(string, string) string, ": func() {
			stage.Buffer(items(), 1, backpressure.Latest, stage.Conflate(func(a, _ string) string { return a }))
		},
	} {
		if v := fmt.Sprint(panicOf(f)); !strings.HasPrefix(v, want) {
			t.Errorf("%q, want %q", v, want)
		}
	}
}
