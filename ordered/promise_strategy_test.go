package ordered_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// What an engine owes to the run it is part of, by every strategy.

// P5: by whatever road a run ends, its calls have returned and its source is
// closed before the terminal does.
func TestP5EveryRoadOutOfARunLeavesNothing(t *testing.T) {
	for _, o := range share.Rows(t, all) {
		for road, f := range map[string]func(context.Context, stage.Stream[int]) error{
			"end": func(ctx context.Context, in stage.Stream[int]) error { return stage.Discard(ctx, stage.Take(in, 90)) },
			"error": func(ctx context.Context, in stage.Stream[int]) error {
				return stage.Discard(ctx, edited(in, func(a *stage.Try[int]) { a.Error = errStop }))
			},
			"break": func(ctx context.Context, in stage.Stream[int]) error {
				for range in.Seq(ctx) {
					break
				}
				return nil
			},
			"unread": func(ctx context.Context, in stage.Stream[int]) error { return stage.Discard(ctx, stage.Take(in, 0)) },
			"cancel": func(ctx context.Context, in stage.Stream[int]) error {
				ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
				defer cancel()
				return stage.Discard(ctx, in)
			},
			"panic": func(ctx context.Context, in stage.Stream[int]) error {
				v := raised(func() { stage.ForEach(ctx, in, 1, func(_ context.Context, v int) error { panic(errStop) }) })
				return v.(*stage.Panic).Value.(error)
			},
			"goexit": func(ctx context.Context, in stage.Stream[int]) error {
				over := make(chan struct{})
				go func() {
					defer close(over)
					stage.ForEach(ctx, in, 1, func(_ context.Context, v int) error { runtime.Goexit(); return nil })
				}()
				<-over
				return nil
			},
		} {
			for _, n := range []int{1, 3} {
				synctest.Test(t, func(t *testing.T) {
					var m meter
					opened, closed := 0, 0
					src := stage.Generate(func(ctx context.Context, yield func(int) bool) error {
						opened++
						defer func() { closed++ }()
						for v := 0; yield(v); v++ {
						}
						return nil
					})
					err := f(t.Context(), o.over(src, n, func(ctx context.Context, v int) error {
						m.enter()
						defer m.leave()
						select {
						case <-time.After(time.Duration(1+v%4) * 100 * time.Millisecond):
						case <-ctx.Done():
						}
						return nil
					}, stage.Window(2*n)))
					if m.running.Load() != 0 || opened != closed || (err != nil) != (road == "error" || road == "cancel" || road == "panic") {
						t.Errorf("%s n=%d, %s: %v, %d calls run, source opened %d times, closed %d", o.name, n, road, err, m.running.Load(), opened, closed)
					}
				})
			}
		}
	}
}

// cut reads k items of in, closes it when all that it has begun stands still, and goes
// on with next. In a bubble.
func cut(in stage.Stream[int], k int, next stage.Stream[int]) stage.Stream[int] {
	return stage.New(func(s *stage.Scope) stage.Reader[int] {
		return &cutter{first: stage.Open(s, in), Reader: stage.Open(s, next), k: k}
	})
}

type cutter struct {
	first stage.Reader[int]
	stage.Reader[int]
	k int
}

func (c *cutter) Next(dst []stage.Try[int]) int {
	if c.k > 0 {
		if c.k--; c.k == 0 {
			defer func() {
				synctest.Wait()
				c.first.Close()
			}()
		}
		return c.first.Next(dst[:1])
	}
	return c.Reader.Next(dst)
}

func (c *cutter) Close() {
	c.first.Close()
	c.Reader.Close()
}

// P5, P7: a stage that is closed while its run goes on has ended its calls, and
// has closed its source, when Close returns.
func TestP5P7ClosedStageIsOverWhileItsRunGoesOn(t *testing.T) {
	for _, o := range all {
		for k, n := range []int{1, 3, 1, 3} {
			closing := time.Duration(k/2) * 2 * time.Hour // of the source: shorter than the calls, or longer
			synctest.Test(t, func(t *testing.T) {
				var m meter
				closed := false
				src := stage.Generate(func(ctx context.Context, yield func(int) bool) error {
					defer func() {
						time.Sleep(closing)
						closed = true
					}()
					for v := 0; yield(v); v++ {
					}
					return nil
				})
				in := o.over(src, n, func(ctx context.Context, v int) error {
					m.enter()
					defer m.leave()
					if v >= 3 {
						<-ctx.Done()
						if cause := context.Cause(ctx); cause != stage.ErrClosed && cause != stage.ErrEnded {
							t.Errorf("%s: the cause is %v", o.name, cause)
						}
						time.Sleep(time.Hour) // Close has all the time in the world
					}
					return nil
				})
				later := stage.Map(stage.Of(7), stage.Inline, func(_ context.Context, v int) (int, error) {
					if m.running.Load() != 0 || !closed {
						t.Errorf("%s n=%d: %d calls run, source closed: %v", o.name, n, m.running.Load(), closed)
					}
					return v, nil
				})
				if got := list(t, cut(in, 3, later)); !slices.Equal(got, []int{0, 1, 2, 7}) {
					t.Errorf("%s n=%d: %v", o.name, n, got)
				}
			})
		}
	}
}

// A stream is read by one at a time, however many workers there are.
func TestUpstreamIsPulledByOneWorkerAtATime(t *testing.T) {
	for _, o := range all {
		synctest.Test(t, func(t *testing.T) {
			src := stage.New(func(s *stage.Scope) stage.Reader[int] {
				return &hermit{Reader: stage.Open(s, stage.FromSlice(upTo(12))), t: t, name: o.name}
			})
			if got := list(t, o.over(src, 3, func(context.Context, int) error { return nil })); !slices.Equal(got, upTo(12)) {
				t.Errorf("%s: %v", o.name, got)
			}
		})
	}
}

// hermit is a reader that takes its time, and has nobody beside it.
type hermit struct {
	stage.Reader[int]
	t       *testing.T
	name    string
	callers atomic.Int32
}

func (h *hermit) Next(dst []stage.Try[int]) int {
	if k := h.callers.Add(1); k > 1 {
		h.t.Errorf("%s: %d in Next", h.name, k)
	}
	time.Sleep(time.Second)
	k := 0
	if h.callers.Load() == 1 {
		k = h.Reader.Next(dst[:1])
	}
	h.callers.Add(-1)
	return k
}

// A run that waits for itself says so, and names the stage.
func TestEveryStrategyTakesPartInTheSearchForStalls(t *testing.T) {
	for _, o := range all {
		none := func(context.Context, int) error { return nil }
		yes, no := stage.Split(stage.FromSlice(upTo(100)), func(v int) bool { return v > 90 }, stage.Window(2))
		in := stage.Concat(o.over(yes, 2, none), o.over(no, 2, none))
		if _, err := stage.Collect(t.Context(), in); !errors.Is(err, stage.ErrStalled) {
			t.Errorf("%s: %v", o.name, err)
		}
		// Its own window is what is full.
		branches := stage.Tee(o.over(stage.FromSlice(upTo(100)), 2, none, stage.Name("mine"), stage.Window(3)), 2, stage.Window(1))
		_, err := stage.Collect(t.Context(), stage.Concat(branches...))
		if !errors.Is(err, stage.ErrStalled) || !o.flat && !strings.Contains(err.Error(), "mine: window is full") {
			t.Errorf("%s: %v", o.name, err)
		}
	}
}

// C44: what f may call from within, it may call from within.
func TestC44CallsMayLookAtTheirRunAndEndIt(t *testing.T) {
	for _, o := range all {
		synctest.Test(t, func(t *testing.T) {
			ctx, stats := stage.WithStats(t.Context())
			ctx, cancel := context.WithCancelCause(ctx)
			p := stage.NewParallelism(3)
			looked := 0
			seen := make(chan struct{})
			err := stage.Discard(ctx, o.over(stage.FromSlice(upTo(100)), 3, func(_ context.Context, v int) error {
				switch v {
				case 5:
					looked = len(stats.Stages())
					close(seen)
				case 6:
					p.Set(5)
				case 50:
					if !o.inner {
						<-seen // another worker may be behind
					}
					cancel(errStop)
				}
				return nil
			}, stage.Resizable(p)))
			if err != errStop || looked == 0 && !o.inner {
				t.Errorf("%s: %v, %d stages", o.name, err, looked)
			}
		})
	}
}

// P9: a call that ignores its context does not hide the panic of another one.
func TestP9PanicIsRaisedAlsoWhileACallIgnoresItsContext(t *testing.T) {
	for _, o := range all {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			begun, stuck := make(chan struct{}), make(chan struct{})
			p, ok := raised(func() {
				stage.Discard(t.Context(), o.over(stage.FromSlice(upTo(10)), 3, func(_ context.Context, v int) error {
					switch v {
					case 0:
						close(begun)
						<-stuck
					case 2:
						<-begun
						panic(errStop)
					}
					return nil
				}))
			}).(*stage.Panic)
			if !ok || p.Value != errStop || p.Running != 1 || time.Since(start) != stage.PanicGrace {
				t.Errorf("%s: %v after %v", o.name, p, time.Since(start))
			}
			close(stuck)
		})
	}
}

// P9: a panic, and the end of a goroutine, in upstream's Next.
func TestP9WhatUpstreamDoesToAWorkerEndsTheRun(t *testing.T) {
	for _, o := range all {
		none := func(context.Context, int) error { return nil }
		torn := stage.Tap(stage.Of(1, 2, 3), func(v int) {
			if v == 2 {
				panic(errStop)
			}
		})
		p, ok := raised(func() { stage.Discard(t.Context(), o.over(torn, 2, none)) }).(*stage.Panic)
		if !ok || p.Value != errStop || p.Stage != "tap#1" {
			t.Errorf("%s: raised %v", o.name, p)
		}
		gone := stage.Tap(stage.Of(1, 2, 3), func(v int) {
			if v == 2 {
				runtime.Goexit()
			}
		})
		if err := stage.Discard(t.Context(), o.over(gone, 2, none)); !errors.Is(err, stage.ErrGoexit) {
			t.Errorf("%s: %v", o.name, err)
		}
	}
}

// P6: an error that is there, in its place, is not masked by a cancellation.
func TestP6ErrorThatCameFirstIsNotMasked(t *testing.T) {
	for _, o := range all {
		for _, n := range []int{2, 8} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				err := stage.ForEach(ctx, o.over(stage.FromSlice(upTo(10)), n, func(_ context.Context, v int) error {
					if v == 1 {
						return oops(1)
					}
					return nil
				}), 1, func(_ context.Context, v int) error {
					synctest.Wait() // the error is there
					cancel()
					return nil
				})
				if err != oops(1) {
					t.Errorf("%s n=%d: %v", o.name, n, err)
				}
			})
		}
	}
}

// P6: upstream has an item, but meanwhile the run has been cancelled.
func TestP6ItemThatComesWithTheCancellationIsNotCalled(t *testing.T) {
	for _, o := range all {
		ctx, cancel := context.WithCancelCause(t.Context())
		src := stage.New(func(*stage.Scope) stage.Reader[int] {
			return &scripted{next: func(v int) {
				if v == 3 {
					cancel(errStop)
				}
			}}
		})
		var m meter
		err := stage.Discard(ctx, o.over(src, 1, func(context.Context, int) error { m.calls.Add(1); return nil }))
		if calls := m.calls.Load(); err != errStop || calls > 3 {
			t.Errorf("%s: %v, %d calls", o.name, err, calls)
		}
	}
}

// scripted emits 0, 1, 2, …, one at a time, and calls next before each.
type scripted struct {
	next   func(v int)
	at     int
	closed *atomic.Int64
}

func (r *scripted) Next(dst []stage.Try[int]) int {
	r.next(r.at)
	dst[0] = stage.Try[int]{Value: r.at}
	r.at++
	return 1
}

func (r *scripted) Close() {
	if r.closed != nil {
		r.closed.Add(1)
	}
}

// P5, P9: a stream that panics is closed like any other.
func TestP5P9StreamThatPanicsIsClosed(t *testing.T) {
	for _, by := range strategies {
		for _, n := range []int{1, 3} {
			var closed atomic.Int64
			in := ordered.FlatMap(stage.Of(1), n, func(context.Context, int) stage.Stream[int] {
				return stage.New(func(*stage.Scope) stage.Reader[int] {
					return &scripted{closed: &closed, next: func(v int) {
						if v == 2 {
							panic(errStop)
						}
					}}
				})
			}, ordered.By(by))
			p, ok := raised(func() { stage.Discard(t.Context(), in) }).(*stage.Panic)
			if !ok || p.Value != errStop || closed.Load() == 0 {
				t.Errorf("%v n=%d: raised %v, closed %d times", by, n, p, closed.Load())
			}
		}
	}
}

// P4: of the streams that wait for their turn, each holds two chunks of what the
// reader asks for at most; here that is one item.
func TestP4FlatMapHoldsTwoChunksOfAStreamThatWaits(t *testing.T) {
	for _, by := range strategies {
		for _, n := range []int{2, 5} {
			synctest.Test(t, func(t *testing.T) {
				made := make([]atomic.Int64, n)
				in := ordered.FlatMap(stage.FromSlice(upTo(100)), n, func(_ context.Context, v int) stage.Stream[int] {
					return stage.Map(stage.FromSlice(upTo(1000)), stage.Inline, func(_ context.Context, k int) (int, error) {
						if v == 0 && k == 0 {
							time.Sleep(time.Hour)
							for other := 1; other < n; other++ {
								if m := made[other].Load(); m < 1 || m > 2 {
									t.Errorf("%v n=%d: %d items of stream %d", by, n, m, other)
								}
							}
						}
						made[v%n].Add(1)
						return 1000*v + k, nil
					})
				}, ordered.By(by))
				if got := list(t, stage.Take(in, 2500)); !slices.Equal(got, upTo(2500)) {
					t.Errorf("%v n=%d: %d items", by, n, len(got))
				}
			})
		}
	}
}

// P4: nor does the stream that is being passed on run ahead of a slow reader.
func TestP4FlatMapPassesAStreamOnAtThePaceOfItsReader(t *testing.T) {
	for _, by := range strategies {
		synctest.Test(t, func(t *testing.T) {
			var made atomic.Int64
			in := ordered.FlatMap(stage.Of(0), 2, func(context.Context, int) stage.Stream[int] {
				return stage.Map(stage.FromSlice(upTo(1000)), stage.Inline, func(_ context.Context, v int) (int, error) {
					made.Add(1)
					return v, nil
				})
			}, ordered.By(by))
			err := stage.ForEach(t.Context(), in, 1, func(_ context.Context, v int) error {
				time.Sleep(time.Second)
				if ahead := int(made.Load()) - v - 1; ahead > 2 {
					return oops(ahead)
				}
				return nil
			})
			if err != nil {
				t.Errorf("%v: ahead by %v", by, err)
			}
		})
	}
}

// P12: counts and times, to the nanosecond.
func TestP12StatsTellWhatAStageDoes(t *testing.T) {
	for _, by := range strategies[1:] {
		synctest.Test(t, func(t *testing.T) {
			ctx, stats := stage.WithStats(t.Context())
			src := stage.Map(stage.FromSlice(upTo(6)), stage.Inline, func(_ context.Context, v int) (int, error) {
				time.Sleep(time.Second)
				return v, nil
			})
			in := ordered.Map(src, 2, func(_ context.Context, v int) (int, error) {
				time.Sleep(4 * time.Second)
				if v == 3 {
					return 0, oops(3)
				}
				return v, nil
			}, ordered.By(by), stage.Name("mine"), stage.Window(3))
			caught := stage.Catch(in, stage.Inline, func(context.Context, error) error { return nil })
			during := make(chan []stage.StageStats, 1)
			time.AfterFunc(2500*time.Millisecond, func() { during <- stats.Stages() })
			k, err := stage.Count(ctx, caught)
			if k != 5 || err != nil {
				t.Errorf("%v: %d, %v", by, k, err)
			}
			s := (<-during)[0]
			s.Starved = 0
			if want := (stage.StageStats{Name: "mine", N: 2, In: 2, InFlight: 2, Window: 3, Calls: 2}); s != want {
				t.Errorf("%v: %+v, want %+v", by, s, want)
			}
			s = stats.Stages()[0]
			if s.In != 6 || s.Out != 6 || s.Errors != 1 || s.InFlight != 0 || s.Calls != 0 || s.Busy != 24*time.Second || s.Starved != 6*time.Second {
				t.Errorf("%v: %+v", by, s)
			}
		})
		synctest.Test(t, func(t *testing.T) {
			ctx, stats := stage.WithStats(t.Context())
			in := ordered.Map(stage.FromSlice(upTo(10)), 2, func(_ context.Context, v int) (int, error) { return v, nil }, ordered.By(by))
			err := stage.ForEach(ctx, in, 1, func(context.Context, int) error { time.Sleep(time.Second); return nil })
			if s := stats.Stages()[0]; err != nil || s.Blocked < 7*time.Second || s.Blocked > 8*time.Second || s.Busy != 0 {
				t.Errorf("%v: %v, %+v", by, err, s)
			}
		})
	}
}

// A stage that is resized has as many calls at once as it was told, at once when
// it grows, and as calls end when it shrinks; and keeps the order.
func TestP3ResizableStageFollowsItsParallelism(t *testing.T) {
	for _, o := range all {
		synctest.Test(t, func(t *testing.T) {
			var m meter
			p := stage.NewParallelism(2)
			running := func(want int64) {
				t.Helper()
				synctest.Wait()
				if got := m.running.Load(); got != want {
					t.Errorf("%s: %d calls run, want %d", o.name, got, want)
				}
			}
			go func() {
				time.Sleep(2500 * time.Millisecond)
				running(2)
				p.Set(7)
				running(7)
				time.Sleep(time.Second)
				running(7)
				p.Set(3)
				running(7)
				time.Sleep(time.Second)
				running(3)
			}()
			in := o.over(stage.FromSlice(upTo(60)), 4, func(_ context.Context, v int) error {
				m.enter()
				defer m.leave()
				time.Sleep(time.Second)
				return nil
			}, stage.Resizable(p))
			if got := list(t, in); !slices.Equal(got, upTo(60)) || m.most.Load() != 7 {
				t.Errorf("%s: %v, %d at once", o.name, got, m.most.Load())
			}
		})
	}
}

// A stage may be resized by somebody else until it has ended, and while it does.
func TestP5ResizingAStageThatEndsIsHarmless(t *testing.T) {
	for _, o := range share.Rows(t, all) {
		p := stage.NewParallelism(1)
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for k := 0; ; k++ {
				select {
				case <-stop:
					return
				default:
					p.Set(1 + k%16)
					runtime.Gosched()
				}
			}
		}()
		for range share.Times(200) {
			in := o.over(stage.FromSlice(upTo(50)), 1, func(context.Context, int) error { return nil }, stage.Resizable(p))
			if _, ok, err := stage.First(t.Context(), in); !ok || err != nil {
				t.Errorf("%s: %v, %v", o.name, ok, err)
			}
		}
		close(stop)
		<-stopped
	}
}
