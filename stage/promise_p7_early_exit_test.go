package stage_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/stage"
)

// P7: First, Take, break, an error: upstream is cancelled at once. At most the
// items in the windows were started in vain, counted here.

var errEnough = errors.New("enough")

// quits are the ways in which downstream can stop at its item number k, after
// it has held it for an hour.
var quits = map[string]func(ctx context.Context, in stage.Stream[int], k int) error{
	"error": func(ctx context.Context, in stage.Stream[int], k int) error {
		err := stage.ForEach(ctx, in, 1, func(context.Context, int) error {
			if k--; k < 0 {
				time.Sleep(time.Hour)
				return errEnough
			}
			return nil
		})
		if err != errEnough {
			return errors.Join(errors.New("wrong error"), err)
		}
		return nil
	},
	"break": func(ctx context.Context, in stage.Stream[int], k int) error {
		for _, err := range in.Seq(ctx) {
			if err != nil {
				return err
			}
			if k--; k < 0 {
				time.Sleep(time.Hour)
				break
			}
		}
		return nil
	},
	"TakeWhile": func(ctx context.Context, in stage.Stream[int], k int) error {
		return stage.Discard(ctx, stage.TakeWhile(in, func(int) bool {
			if k--; k < 0 {
				time.Sleep(time.Hour)
			}
			return k >= 0
		}))
	},
}

// Downstream holds an item for so long that the whole window has been started:
// that is exactly what was in vain, and nothing is started any more.
func TestP7ExactlyTheWindowIsStartedInVain(t *testing.T) {
	speeds := map[string]work{
		"cheap": func(context.Context, int) error { return nil },
		"slow":  func(context.Context, int) error { time.Sleep(time.Millisecond); return nil },
	}
	for _, op := range share.Rows(t, cellOps) {
		t.Run(op.name, func(t *testing.T) {
			for speed, f := range speeds {
				for quit, run := range quits {
					for _, n := range sizes(1, 2, 8) {
						for _, w := range sizes(1, 3*n+1, 100) {
							for _, k := range []int{0, 300} {
								synctest.Test(t, func(t *testing.T) {
									src := &tally{t: t, size: 20000}
									var took, calls atomic.Int64
									in := op.over(src.stream(), n, func(ctx context.Context, v int) error {
										calls.Add(1)
										return f(ctx, v)
									}, stage.Window(w))
									err := run(t.Context(), single(counted(in, &took)), k)
									if c := int(calls.Load()); err != nil || c != int(took.Load())+w || c != int(src.handed.Load()) || !src.allClosed() {
										t.Errorf("%s, %s at %d, n=%d window=%d: %d calls for %d items of %d, %v",
											speed, quit, k, n, w, c, took.Load(), src.handed.Load(), err)
									}
								})
							}
						}
					}
				}
			}
		})
	}
}

// Nobody waits: the calls that run when the answer is there are cancelled, all
// of them, and the terminal is back at that very instant.
func TestP7RunningCallsAreCancelledAtOnce(t *testing.T) {
	terminals := map[string]func(ctx context.Context, in stage.Stream[int]) error{
		"First": func(ctx context.Context, in stage.Stream[int]) error { _, _, err := stage.First(ctx, in); return err },
		"Take":  func(ctx context.Context, in stage.Stream[int]) error { return stage.Discard(ctx, stage.Take(in, 1)) },
		"Collect": func(ctx context.Context, in stage.Stream[int]) error {
			_, err := stage.Collect(ctx, stage.Take(in, 1))
			return err
		},
		"break": func(ctx context.Context, in stage.Stream[int]) error {
			for range in.Seq(ctx) {
				break
			}
			return nil
		},
		"error": func(ctx context.Context, in stage.Stream[int]) error {
			if err := stage.ForEach(ctx, in, 1, func(context.Context, int) error { return errEnough }); err != errEnough {
				return err
			}
			return nil
		},
		"ToChan": func(ctx context.Context, in stage.Stream[int]) error {
			out := make(chan int, 1)
			return stage.ToChan(ctx, stage.Take(in, 1), out)
		},
	}
	for name, terminal := range terminals {
		for _, op := range share.Rows(t, engineOps) {
			for _, n := range []int{2, 4, 8} {
				for _, cheap := range []int{0, 300} {
					synctest.Test(t, func(t *testing.T) {
						src := &tally{t: t, size: 5000}
						var m meter
						var cancelled atomic.Int64
						began := time.Now()
						in := op.over(src.stream(), n, func(ctx context.Context, v int) error {
							m.enter()
							defer m.leave()
							switch {
							case v == cheap:
								time.Sleep(time.Second)
							case v > cheap:
								<-ctx.Done()
								if cause := context.Cause(ctx); cause != stage.ErrClosed && cause != stage.ErrEnded {
									t.Errorf("%s %s: the cause is %v", op.name, name, cause)
								}
								cancelled.Add(1)
								return ctx.Err()
							}
							return nil
						}, stage.Window(10*n))
						err := terminal(t.Context(), stage.Drop(in, cheap))
						// The worker whose call has ended may have begun another one.
						vain := int(m.calls.Load()) - cheap - 1
						if err != nil || time.Since(began) != time.Second || int(cancelled.Load()) != vain || vain < n-1 || vain > n || !src.allClosed() {
							t.Errorf("%s %s n=%d cheap=%d: after %v, %d of %d calls in vain cancelled, closed %v, %v",
								op.name, name, n, cheap, time.Since(began), cancelled.Load(), vain, src.allClosed(), err)
						}
					})
				}
			}
		}
	}
}

// Without anything parallel in between, nothing is read in vain at all.
func TestP7TerminalsAndStepsAskForNoMoreThanTheyNeed(t *testing.T) {
	pass := func(in stage.Stream[int]) stage.Stream[int] {
		return stage.Map(in, stage.Inline, func(_ context.Context, v int) (int, error) { return v, nil })
	}
	for name, c := range map[string]struct {
		want int
		run  func(ctx context.Context, in stage.Stream[int]) error
	}{
		"First":  {1, func(ctx context.Context, in stage.Stream[int]) error { _, _, err := stage.First(ctx, in); return err }},
		"Take":   {100, func(ctx context.Context, in stage.Stream[int]) error { return stage.Discard(ctx, stage.Take(in, 100)) }},
		"Take 0": {0, func(ctx context.Context, in stage.Stream[int]) error { return stage.Discard(ctx, stage.Take(in, 0)) }},
		"TakeFirst": {1, func(ctx context.Context, in stage.Stream[int]) error {
			_, _, err := stage.First(ctx, stage.Take(in, 100))
			return err
		}},
		"Any 1": {1, func(ctx context.Context, in stage.Stream[int]) error {
			_, err := stage.Any(ctx, in, stage.Inline, func(context.Context, int) (bool, error) { return true, nil })
			return err
		}},
	} {
		src := &tally{t: t, size: 10000}
		if err := c.run(t.Context(), pass(src.stream())); err != nil || int(src.handed.Load()) != c.want {
			t.Errorf("%s: %d items read, want %d, %v", name, src.handed.Load(), c.want, err)
		}
	}
}

// Any and All stop at the first call that decides.
func TestP7AnyAndAllStopWhenTheyKnow(t *testing.T) {
	for _, n := range []int{stage.Inline, 1, 2, 4, 8} {
		for _, at := range []int{0, 1, 17} {
			for _, all := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					var m meter
					test := func(ctx context.Context, v int) (bool, error) {
						m.enter()
						defer m.leave()
						time.Sleep(time.Millisecond)
						return (v == at) != all, nil
					}
					src := &tally{t: t, size: 1000}
					began := time.Now()
					decide := stage.Any[int]
					if all {
						decide = stage.All[int]
					}
					got, err := decide(t.Context(), src.stream(), n, test)
					par := max(n, 1)
					// Calls that began with the deciding one or later, and one more
					// for each worker that was done at the same instant.
					calls, least := int(m.calls.Load()), at+1
					took := time.Duration(at/par+1) * time.Millisecond
					late := time.Since(began) - took // a call in vain need not heed its context
					if err != nil || got == all || calls < least || calls > at+2*par || late > time.Millisecond || !src.allClosed() {
						t.Errorf("n=%d at=%d all=%v: %v, %v, %d calls, %v late", n, at, all, got, err, calls, late)
					}
					if n == stage.Inline && calls != least {
						t.Errorf("inline: %d calls, want %d", calls, least)
					}
				})
			}
		}
	}
}

// C15: nothing that was queued starts after the first error. In the caller's
// goroutine that is exact; with a Catch, which chooses to go on, all are run.
func TestP7C15QueuedItemsDoNotStartAfterAnError(t *testing.T) {
	for _, r := range engineRuns() {
		for _, n := range []int{stage.Inline, 1, 4} {
			synctest.Test(t, func(t *testing.T) {
				var calls atomic.Int64
				err := r.run(t.Context(), stage.FromSlice(upTo(100)), n, func(_ context.Context, v int) error {
					calls.Add(1)
					time.Sleep(time.Millisecond)
					return oops(v)
				})
				most := max(2*n, 1)
				if n == 1 && (r.name == "ForEach" || r.name == "To") {
					most = 1
				}
				if c := int(calls.Load()); err == nil || c > most {
					t.Errorf("%s n=%d: %d calls, at most %d wanted, %v", r.name, n, c, most, err)
				}
			})
		}
	}
	for _, op := range engineOps {
		for _, n := range []int{stage.Inline, 1, 4} {
			var calls, caught atomic.Int64
			in := op.over(stage.FromSlice(upTo(100)), n, func(_ context.Context, v int) error {
				calls.Add(1)
				return oops(v)
			})
			err := stage.Discard(t.Context(), stage.Catch(in, 1, func(context.Context, error) error { caught.Add(1); return nil }))
			if err != nil || calls.Load() != 100 || caught.Load() != 100 {
				t.Errorf("%s n=%d: %d calls, %d errors, %v", op.name, n, calls.Load(), caught.Load(), err)
			}
		}
	}
}

// C35: an endless source, and the third item fails.
func TestP7C35ErrorEndsAnEndlessSource(t *testing.T) {
	for _, r := range engineRuns() {
		for _, n := range []int{stage.Inline, 1, 2, 8} {
			synctest.Test(t, func(t *testing.T) {
				closed := false
				endless := stage.Generate(func(_ context.Context, yield func(int) bool) error {
					defer func() { closed = true }()
					for v := 0; yield(v); v++ {
					}
					return nil
				})
				err := r.run(t.Context(), endless, n, func(_ context.Context, v int) error {
					if v == 2 {
						return errEnough
					}
					return nil
				})
				if err != errEnough || !closed {
					t.Errorf("%s n=%d: %v, source closed: %v", r.name, n, err, closed)
				}
			})
		}
	}
}
