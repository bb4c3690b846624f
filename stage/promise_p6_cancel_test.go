package stage_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/stage"
)

// P6: once the context is done, no new call of f starts, running calls see
// their context cancelled, blocked stages wake, and the terminal returns
// context.Cause. A real error that came first is never masked.

var errStop = errors.New("stop")

// The calls are stuck, alone or with the unclaimed rest of their cells, when
// the context is cancelled from outside.
func TestP6CancelFromOutsideStartsNoCallAndEndsThoseThatRun(t *testing.T) {
	for _, r := range share.Rows(t, engineRuns()) {
		t.Run(r.name, func(t *testing.T) {
			for _, n := range []int{1, 2, 4, 8} {
				for _, cheap := range []int{0, 1000} {
					synctest.Test(t, func(t *testing.T) { cancelOutside(t, r, n, cheap) })
				}
			}
		})
	}
}

func cancelOutside(t *testing.T, r engineRun, n, cheap int) {
	ctx, cancel := context.WithCancelCause(t.Context())
	src := &tally{t: t, size: 20000}
	var m meter
	var saw atomic.Int64
	over := make(chan error, 1)
	go func() {
		over <- r.run(ctx, src.stream(), n, func(ctx context.Context, v int) error {
			m.enter()
			defer m.leave()
			if v >= cheap {
				<-ctx.Done()
				if context.Cause(ctx) == errStop && errors.Is(ctx.Err(), context.Canceled) {
					saw.Add(1)
				}
			}
			return ctx.Err()
		})
	}()
	time.Sleep(time.Second)
	before, running := m.calls.Load(), m.running.Load()
	began := time.Now()
	cancel(errStop)
	if err := <-over; err != errStop {
		t.Errorf("n=%d cheap=%d: returned %v", n, cheap, err)
	}
	if took := time.Since(began); took != 0 || m.calls.Load() != before || m.running.Load() != 0 || saw.Load() != running || !src.allClosed() {
		t.Errorf("n=%d cheap=%d: after %v, %d more calls, %d running, %d of %d saw the cause, closed %v",
			n, cheap, took, m.calls.Load()-before, m.running.Load(), saw.Load(), running, src.allClosed())
	}
}

// C44: the function cancels the run that it is part of.
func TestP6C44CancelFromInsideF(t *testing.T) {
	for _, r := range share.Rows(t, engineRuns()) {
		t.Run(r.name, func(t *testing.T) {
			for _, n := range []int{stage.Inline, 1, 2, 4, 8} {
				for _, at := range []int{0, 1, 63, 64, 65, 1000} {
					synctest.Test(t, func(t *testing.T) { cancelInside(t, r, n, at) })
				}
			}
		})
	}
}

func cancelInside(t *testing.T, r engineRun, n, at int) {
	ctx, cancel := context.WithCancelCause(t.Context())
	src := &tally{t: t, size: 5000}
	var m meter
	var before atomic.Int64
	err := r.run(ctx, src.stream(), n, func(ctx context.Context, v int) error {
		call := m.enter()
		defer m.leave()
		if call == at+1 {
			cancel(errStop)
			before.Store(m.calls.Load())
			if ctx.Err() == nil || context.Cause(ctx) != errStop {
				t.Errorf("the call's own context is not cancelled: %v", context.Cause(ctx))
			}
		}
		return nil
	})
	// The other workers may each be between their look at the context and f.
	extra := int(m.calls.Load() - before.Load())
	if err != errStop || extra > max(n, 1)-1 || m.running.Load() != 0 || !src.allClosed() {
		t.Errorf("n=%d at=%d: %v, %d more calls, closed %v", n, at, err, extra, src.allClosed())
	}
}

func TestP6DoneContextStartsNothing(t *testing.T) {
	for _, r := range engineRuns() {
		for _, n := range []int{stage.Inline, 1, 4} {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errStop)
			src := &tally{t: t, size: 10}
			err := r.run(ctx, src.stream(), n, func(context.Context, int) error {
				t.Errorf("%s n=%d: f is called", r.name, n)
				return nil
			})
			if err != errStop || src.handed.Load() != 0 || !src.allClosed() {
				t.Errorf("%s n=%d: %v, %d items taken, closed %v", r.name, n, err, src.handed.Load(), src.allClosed())
			}
		}
	}
}

// What the terminal returns for each way in which a context can end.
func TestP6TerminalReturnsTheCause(t *testing.T) {
	own := errors.New("own")
	endings := []struct {
		name string
		ctx  func(context.Context) (context.Context, context.CancelFunc)
		want error
	}{
		{"cancel", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		}, context.Canceled},
		{"cause", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(time.Second, func() { cancel(own) })
			return ctx, func() { cancel(nil) }
		}, own},
		{"timeout", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		}, context.DeadlineExceeded},
		{"timeout cause", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(ctx, time.Second, own)
		}, own},
	}
	// Where the run is when it happens: the f of the stage returns its
	// context's error, or nothing; or the stage waits for its source.
	fs := map[string]work{
		"heeds":  func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() },
		"wraps":  func(ctx context.Context, _ int) error { <-ctx.Done(); return fmt.Errorf("call: %w", ctx.Err()) },
		"silent": func(ctx context.Context, _ int) error { <-ctx.Done(); return nil },
		"cheap":  func(context.Context, int) error { return nil },
	}
	for _, e := range endings {
		for _, r := range share.Rows(t, engineRuns()) {
			for _, n := range []int{stage.Inline, 1, 3} {
				for name, f := range fs {
					synctest.Test(t, func(t *testing.T) {
						ctx, cancel := e.ctx(t.Context())
						defer cancel()
						began := time.Now()
						silence := make(chan int, 100)
						for v := range 100 {
							silence <- v
						}
						err := r.run(ctx, stage.FromChan(silence), n, f)
						if err != e.want || time.Since(began) != time.Second {
							t.Errorf("%s, %s n=%d, f %s: %v after %v, want %v", e.name, r.name, n, name, err, time.Since(began), e.want)
						}
					})
				}
			}
		}
	}
}

// Whatever a stage waits for, the end of the context wakes it: its source, a
// full window, a call; at each place of a chain.
func TestP6BlockedStagesWake(t *testing.T) {
	for _, op := range engineOps {
		t.Run(op.name, func(t *testing.T) {
			for _, n := range []int{1, 3} {
				for _, w := range []int{0, 1, 10} {
					synctest.Test(t, func(t *testing.T) {
						ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errStop)
						defer cancel()
						quick := func(context.Context, int) error { return nil }
						src := &tally{t: t, size: 5000}
						in := op.over(op.over(src.stream(), n, quick, windowed(w)...), n, quick, windowed(w)...)
						began := time.Now()
						// The terminal's f holds everything up, and heeds its context.
						err := stage.ForEach(ctx, in, 1, func(ctx context.Context, _ int) error { <-ctx.Done(); return nil })
						if err != errStop || time.Since(began) != time.Minute || !src.allClosed() {
							t.Errorf("n=%d window=%d: %v after %v, closed %v", n, w, err, time.Since(began), src.allClosed())
						}
					})
				}
			}
		})
	}
}

// The error is there when the context is cancelled, next in line behind the
// value that the terminal works on, and is what the terminal returns.
func TestP6RealErrorThatCameFirstIsNotMasked(t *testing.T) {
	answers := map[string]func(context.Context) error{
		"nil":     func(context.Context) error { return nil },
		"its own": context.Context.Err,
		"wrapped": func(ctx context.Context) error { return fmt.Errorf("call: %w", ctx.Err()) },
		"cause":   context.Cause,
	}
	for _, op := range engineOps {
		t.Run(op.name, func(t *testing.T) {
			for name, answer := range answers {
				for _, n := range []int{stage.Inline, 1, 2, 4} {
					synctest.Test(t, func(t *testing.T) {
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						// Enough room for the error, and slow enough that the first
						// value comes alone.
						in := op.over(stage.Of(0, 1), n, func(_ context.Context, v int) error {
							time.Sleep(time.Duration(v+1) * time.Millisecond)
							if v == 1 {
								return errStop
							}
							return nil
						}, stage.Window(2))
						err := stage.ForEach(ctx, in, 1, func(ctx context.Context, v int) error {
							if n == stage.Inline {
								return nil // the error is made when it is asked for
							}
							time.Sleep(time.Second)
							cancel()
							return answer(ctx)
						})
						if err != errStop {
							t.Errorf("n=%d, f returns %s: %v", n, name, err)
						}
					})
				}
			}
		})
	}
}

// The same, where the worker that has made the error goes on to the item at
// which the run is cancelled, and the terminal waits for what comes first.
func TestP6ErrorOfTheItemBeforeTheCancelIsNotMasked(t *testing.T) {
	for _, op := range share.Rows(t, engineOps) {
		for range 50 {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				in := op.over(stage.FromSlice(upTo(100)), 1, func(_ context.Context, v int) error {
					switch v {
					case 30:
						return errStop
					case 31:
						cancel()
					}
					return nil
				}, stage.Window(50))
				if err := stage.Discard(ctx, in); err != errStop {
					t.Errorf("%s: %v", op.name, err)
				}
			})
		}
	}
}

// C40: what is handed out by a run that has ended well is not cancelled for
// others: the caller's context goes on, with what it carries, and f's carries
// the same.
func TestP6C32C40ContextsAreTheCallersOwn(t *testing.T) {
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "mine")
	ctx, stats := stage.WithStats(ctx)
	for _, r := range engineRuns() {
		for _, n := range []int{stage.Inline, 1, 4} {
			for range 2 { // the second run with the context of the first
				var calls atomic.Int64
				err := r.run(ctx, stage.FromSlice(upTo(100)), n, func(ctx context.Context, _ int) error {
					calls.Add(1)
					if ctx.Value(key{}) != "mine" {
						return errors.New("f's context carries nothing")
					}
					return ctx.Err()
				})
				if err != nil || ctx.Err() != nil || calls.Load() != 100 {
					t.Errorf("%s n=%d: %v, %v, %d calls", r.name, n, err, ctx.Err(), calls.Load())
				}
			}
		}
	}
	if len(stats.Stages()) == 0 {
		t.Error("nothing was reported")
	}
}

// C32: one of two runs at once is cancelled, of one stream; the other is not.
func TestP6C32CancelEndsOneRunOnly(t *testing.T) {
	for _, op := range engineOps {
		synctest.Test(t, func(t *testing.T) {
			s := op.over(stage.FromSlice(upTo(100)), 3, func(ctx context.Context, _ int) error {
				select {
				case <-time.After(time.Second):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
			ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, errStop)
			defer cancel()
			other := make(chan error, 1)
			go func() { other <- stage.Discard(ctx, s) }()
			k, err := stage.Count(t.Context(), s)
			if err2 := <-other; k != 100 || err != nil || err2 != errStop {
				t.Errorf("%s: %d, %v; the other one: %v", op.name, k, err, err2)
			}
		})
	}
}

// C07: every slot waits for a cancel that only a later item would bring. The
// caller's own ends it, and C15: nothing that was queued starts.
func TestP6C07AllSlotsWaitForACancel(t *testing.T) {
	for _, r := range engineRuns() {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			began := time.Now()
			var calls atomic.Int64
			err := r.run(ctx, stage.FromSlice(upTo(90)), 10, func(ctx context.Context, v int) error {
				calls.Add(1)
				if v == 10 {
					return errStop
				}
				<-ctx.Done()
				return nil
			})
			if err != context.DeadlineExceeded || calls.Load() != 10 || time.Since(began) != 200*time.Millisecond {
				t.Errorf("%s: %v after %v, %d calls", r.name, err, time.Since(began), calls.Load())
			}
		})
	}
}

// ownContext is a context that package context knows nothing of.
type ownContext struct {
	context.Context
	done  chan struct{}
	ended atomic.Bool
}

func (c *ownContext) Done() <-chan struct{} { return c.done }

func (c *ownContext) Err() error {
	if c.ended.Load() {
		return errStop
	}
	return nil
}

func TestP6ContextOfAnotherMake(t *testing.T) {
	for _, r := range engineRuns() {
		for _, n := range []int{stage.Inline, 1, 4} {
			synctest.Test(t, func(t *testing.T) {
				ctx := &ownContext{Context: t.Context(), done: make(chan struct{})}
				src := &tally{t: t, size: 1000}
				var before, calls atomic.Int64
				time.AfterFunc(time.Second, func() {
					before.Store(calls.Load())
					ctx.ended.Store(true)
					close(ctx.done)
				})
				err := r.run(ctx, src.stream(), n, func(ctx context.Context, v int) error {
					calls.Add(1)
					if v >= 100 {
						<-ctx.Done()
					}
					return nil
				})
				if err != errStop || calls.Load() != before.Load() || !src.allClosed() {
					t.Errorf("%s n=%d: %v, %d more calls, closed %v", r.name, n, err, calls.Load()-before.Load(), src.allClosed())
				}
			})
		}
	}
}
