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

// P4: a parallel stage holds at most Window items, taken from upstream and not
// yet taken by downstream. An explicit window is exact.

// held runs op between a source and a reader that both count, and calls look
// with the number of the value while downstream holds just that one, after an
// hour in which the stage could do whatever it may.
func held(t *testing.T, op engineOp, size, n, w int, f work, stops []int, look func(v, held int)) {
	src := &tally{t: t, size: size}
	var took atomic.Int64
	at := map[int]bool{}
	for _, k := range stops {
		at[k] = true
	}
	limit := w
	if w == 0 {
		limit = 64 * n
	}
	seen := 0
	out := counted(op.over(src.stream(), n, f, windowed(w)...), &took)
	err := stage.ForEach(t.Context(), out, 1, func(context.Context, int) error {
		if h := int(src.handed.Load() - took.Load()); h > limit {
			t.Errorf("n=%d window=%d: holds %d", n, w, h)
			return errors.New("enough")
		}
		if at[seen] {
			time.Sleep(time.Hour)
			look(seen, int(src.handed.Load()-took.Load()))
		}
		seen++
		return nil
	})
	if err != nil || seen != size {
		t.Errorf("n=%d window=%d: %d of %d, %v", n, w, seen, size, err)
	}
}

func TestP4ExplicitWindowIsExact(t *testing.T) {
	speeds := map[string]work{
		"cheap": func(context.Context, int) error { return nil },
		"slow":  func(context.Context, int) error { time.Sleep(time.Millisecond); return nil },
		"mixed": func(_ context.Context, v int) error {
			if v%600 > 400 {
				time.Sleep(time.Duration(v%7) * 30 * time.Microsecond)
			}
			return nil
		},
	}
	const size = 900
	for _, op := range share.Rows(t, engineOps) {
		t.Run(op.name, func(t *testing.T) {
			for name, f := range speeds {
				for _, n := range sizes(1, 2, 8) {
					for _, w := range sizes(1, n, 2*n+1, 150) {
						synctest.Test(t, func(t *testing.T) {
							held(t, op, size, n, w, f, []int{0, 1, 10, 500, 650, size - 3, size - 1}, func(v, held int) {
								exact := held == w
								if op.flat {
									// The stream of an item that has been taken may not have ended.
									exact = v > 0 || held == w || held == w-1
								}
								if !exact && size-v > w+64 {
									t.Errorf("%s, n=%d window=%d: holds %d at %d", name, n, w, held, v)
								}
							})
						})
					}
				}
			}
		})
	}
}

func TestP4DefaultWindowIsNWhileSlow(t *testing.T) {
	for _, op := range share.Rows(t, engineOps) {
		t.Run(op.name, func(t *testing.T) {
			for _, n := range []int{1, 2, 3, 8, 32} {
				synctest.Test(t, func(t *testing.T) {
					slow := func(context.Context, int) error { time.Sleep(time.Millisecond); return nil }
					held(t, op, 300, n, 0, slow, []int{0, 5, 100}, func(v, held int) {
						if held != n && !(op.flat && (v > 0 || held == n-1)) {
							t.Errorf("n=%d: holds %d at %d", n, held, v)
						}
					})
				})
			}
		})
	}
}

// At most 64·n while cheap, and n again once it has become slow.
func TestP4DefaultWindowShrinksToNWhenCheapBecomesSlow(t *testing.T) {
	const cheap = 5000
	for _, op := range share.Rows(t, cellOps) {
		t.Run(op.name, func(t *testing.T) {
			for _, n := range []int{1, 2, 3, 8} {
				synctest.Test(t, func(t *testing.T) {
					f := func(_ context.Context, v int) error {
						if v >= cheap {
							time.Sleep(time.Millisecond)
						}
						return nil
					}
					wide := false
					held(t, op, cheap+2000, n, 0, f, []int{0, 100, 2000, cheap + 1500}, func(v, held int) {
						wide = wide || held > n
						if held > 64*n || (v > cheap && held != n) {
							t.Errorf("n=%d: holds %d at %d", n, held, v)
						}
					})
					if !wide {
						t.Errorf("n=%d: never held more than n", n)
					}
				})
			}
		})
	}
}

// C45: the first item is stuck, and all others are cheap. In order, nothing
// leaves, so exactly a window has been accepted, whatever n.
func TestP4C45NothingPilesUpBehindOneStuckItem(t *testing.T) {
	for _, op := range share.Rows(t, engineOps) {
		if op.order != stage.InOrder {
			continue
		}
		t.Run(op.name, func(t *testing.T) {
			for _, n := range []int{2, 8} {
				for _, w := range sizes(0, 1, 16, 500) {
					for _, stuck := range []int{0, 1, 777} {
						synctest.Test(t, func(t *testing.T) { pileUp(t, op, n, w, stuck) })
					}
				}
			}
		})
	}
}

func pileUp(t *testing.T, op engineOp, n, w, stuck int) {
	src := &tally{t: t, size: 1500}
	f := func(_ context.Context, v int) error {
		if v == stuck {
			time.Sleep(time.Hour)
		}
		return nil
	}
	over := make(chan error, 1)
	var next int
	go func() {
		over <- stage.ForEach(t.Context(), op.over(src.stream(), n, f, windowed(w)...), 1, func(_ context.Context, v int) error {
			if v != next {
				return fmt.Errorf("%d came, not %d", v, next)
			}
			next++
			return nil
		})
	}()
	synctest.Wait()
	got := int(src.handed.Load())
	if exact := stuck + w; (w > 0 && got != exact) || (w == 0 && got > stuck+64*n) {
		t.Errorf("n=%d window=%d, %d stuck: %d accepted", n, w, stuck, got)
	}
	if err := <-over; err != nil || next != src.size {
		t.Errorf("n=%d window=%d: %d came out, %v", n, w, next, err)
	}
}

// A slow terminal holds the one item that it works on, also after it was fast.
func TestP4SlowConsumerHoldsOneItem(t *testing.T) {
	for _, quick := range []int{0, 3000} {
		synctest.Test(t, func(t *testing.T) {
			var took atomic.Int64
			src := &tally{t: t, size: quick + 500}
			done := 0
			err := stage.ForEach(t.Context(), counted(src.stream(), &took), 1, func(context.Context, int) error {
				if done >= quick {
					time.Sleep(time.Millisecond)
				}
				done++
				if extra := int(took.Load()) - done; done > quick+64 && extra > 0 || extra > 63 {
					return fmt.Errorf("%d items wait at item %d", extra, done)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// The bound of ForEach and its kind is on what they have not finished.
func TestP4TerminalsHoldAtMostTheirWindow(t *testing.T) {
	for _, r := range share.Rows(t, ends) {
		for _, n := range []int{2, 4, 8} {
			for _, w := range []int{0, 1, n, 3 * n} {
				if !r.opts && w > 0 {
					continue
				}
				synctest.Test(t, func(t *testing.T) {
					limit := max(w, 64*n*(1-min(w, 1)))
					// By here, what was taken while f was cheap is done.
					slowFrom := 2000 + 64*(n+1)
					src := &tally{t: t, size: 3000}
					var done atomic.Int64
					err := r.run(t.Context(), src.stream(), n, func(_ context.Context, v int) error {
						if v > 2000 {
							time.Sleep(time.Millisecond)
						}
						if h := int(src.handed.Load() - done.Load()); h > limit || (v > slowFrom && w == 0 && h > n) {
							return fmt.Errorf("holds %d", h)
						}
						done.Add(1)
						return nil
					}, windowed(w)...)
					if err != nil {
						t.Errorf("%s n=%d window=%d: %v", r.name, n, w, err)
					}
				})
			}
		}
	}
}

// The items that a filter drops leave the window at once.
func TestP4DroppedItemsLeaveTheWindow(t *testing.T) {
	for _, order := range []stage.Order{stage.AnyOrder, stage.InOrder} {
		for _, n := range sizes(1, 2, 4) {
			for _, w := range sizes(1, n, 100) {
				for _, every := range []int{2, 10, 5000} {
					synctest.Test(t, func(t *testing.T) {
						src := &tally{t: t, size: 3000}
						few := stage.Transform("few", src.stream(), n, order, stage.FilterFunc("few", func(_ context.Context, v int) (bool, error) {
							return v%every == every-1, nil
						}), stage.Window(w))
						got, err := stage.Collect(t.Context(), few)
						if err != nil || len(got) != 3000/every {
							t.Errorf("order=%d n=%d window=%d every=%d: %d, %v", order, n, w, every, len(got), err)
						}
					})
				}
			}
		}
	}
}

// A source is asked for no more than the window has room for, however cheap
// the calls are.
func TestP4UpstreamIsNeverOfferedMoreThanTheRoom(t *testing.T) {
	for _, op := range engineOps {
		for _, n := range []int{1, 3} {
			for _, w := range sizes(1, 5, 70) {
				synctest.Test(t, func(t *testing.T) {
					src := &tally{t: t, size: rounds(1200)}
					var took atomic.Int64
					var worst atomic.Int64
					watch := stage.New(func(s *stage.Scope) stage.Reader[int] {
						return &watchReader{stage.Open(s, src.stream()), func(room int) {
							if h := src.handed.Load() + int64(room) - took.Load(); h > worst.Load() {
								worst.Store(h)
							}
						}}
					})
					// One item at a time, so that took is never far behind.
					out := counted(op.over(watch, n, func(context.Context, int) error { return nil }, stage.Window(w)), &took)
					err := stage.Discard(t.Context(), single(out))
					if err != nil || int(worst.Load()) > w+1 {
						t.Errorf("%s n=%d window=%d: asked up to %d, %v", op.name, n, w, worst.Load(), err)
					}
				})
			}
		}
	}
}

type watchReader struct {
	stage.Reader[int]
	look func(room int)
}

func (r *watchReader) Next(dst []stage.Try[int]) int {
	r.look(len(dst))
	return r.Reader.Next(dst)
}

// single reads in one item at a time.
func single(in stage.Stream[int]) stage.Stream[int] {
	return stage.New(func(s *stage.Scope) stage.Reader[int] { return &singleReader{stage.Open(s, in)} })
}

type singleReader struct{ stage.Reader[int] }

func (r *singleReader) Next(dst []stage.Try[int]) int { return r.Reader.Next(dst[:1]) }
