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
	"github.com/seed95b73fdc/sluice/stage"
)

// P9: RecoverPanics makes a panic the error of its item. runtime.Goexit in f
// ends the run with an error, or its item if that is caught; never a hang.

// survivors runs op over size items, catches the errors for which is reports
// true, and returns the values that came through and the number of errors.
func survivors(ctx context.Context, op engineOp, size, n int, f work, is func(error) bool, opts ...stage.Option) (values []int, caught int, err error) {
	out := op.over(stage.FromSlice(upTo(size)), n, f, opts...)
	out = stage.Catch(out, stage.Inline, func(_ context.Context, err error) error {
		if is(err) {
			caught++
			return nil
		}
		return err
	})
	values, err = stage.Collect(ctx, out)
	return values, caught, err
}

func TestP9RecoverPanicsMakesThemErrorsInTheirPlace(t *testing.T) {
	for _, op := range share.Rows(t, cellOps) {
		t.Run(op.name, func(t *testing.T) {
			for _, n := range []int{stage.Inline, 1, 2, 8} {
				for _, slow := range []bool{false, true} {
					synctest.Test(t, func(t *testing.T) {
						f := func(_ context.Context, v int) error {
							if slow {
								time.Sleep(time.Duration(v%3) * time.Millisecond)
							}
							if v%10 == 7 {
								thrower(v)
							}
							return nil
						}
						got, caught, err := survivors(t.Context(), op, 1000, n, f, func(err error) bool {
							var p *stage.Panic
							if !errors.As(err, &p) {
								return false
							}
							checkPanic(t, op.name, p, "mine", nil)
							v, ok := p.Value.(int)
							return ok && v%10 == 7
						}, stage.RecoverPanics(), stage.Name("mine"))
						if op.order == stage.AnyOrder {
							slices.Sort(got)
						}
						if err != nil || caught != 100 || len(got) != 900 || !slices.IsSorted(got) {
							t.Errorf("n=%d: %d values, %d panics, %v", n, len(got), caught, err)
						}
					})
				}
			}
		})
	}
}

// The terminals and FlatMap return it as their error.
func TestP9RecoverPanicsInTerminalsAndFlatMap(t *testing.T) {
	for _, r := range engineRuns() {
		if !r.opts || r.name == "FlatMapInner/AnyOrder" || r.name == "FlatMapInner/InOrder" {
			continue // f belongs to an inner stage, which has options of its own
		}
		for _, n := range []int{stage.Inline, 1, 4} {
			src := &tally{t: t, size: 1000}
			var err error
			if v := raised(func() {
				err = r.run(t.Context(), src.stream(), n, throwAt(500, "boom"), stage.RecoverPanics(), stage.Name("mine"))
			}); v != nil {
				t.Errorf("%s n=%d: raised %v", r.name, n, v)
			}
			var p *stage.Panic
			if !errors.As(err, &p) {
				t.Errorf("%s n=%d: %v", r.name, n, err)
			} else {
				checkPanic(t, r.name, p, "mine", "boom")
			}
			if !src.allClosed() {
				t.Errorf("%s n=%d: source not closed", r.name, n)
			}
		}
	}
}

// C18: all workers panic, again and again; then ordinary calls go on, as many
// at once as before.
func TestP9C18WorkersThatPanickedAreReplaced(t *testing.T) {
	for _, op := range cellOps {
		for _, n := range []int{1, 2, 8} {
			synctest.Test(t, func(t *testing.T) {
				const bad = 40
				var m meter
				gate := make(chan struct{})
				time.AfterFunc(time.Second, func() {
					if got := int(m.running.Load()); got != n {
						t.Errorf("%s n=%d: %d calls at once after the panics", op.name, n, got)
					}
					close(gate)
				})
				got, caught, err := survivors(t.Context(), op, bad+20, n, func(_ context.Context, v int) error {
					m.enter()
					defer m.leave()
					if v < bad {
						thrower(v)
					}
					<-gate
					return nil
				}, func(err error) bool { return errors.As(err, new(*stage.Panic)) }, stage.RecoverPanics())
				if err != nil || caught != bad || len(got) != 20 || int(m.most.Load()) > n {
					t.Errorf("%s n=%d: %d values, %d panics, %d at once, %v", op.name, n, len(got), caught, m.most.Load(), err)
				}
			})
		}
	}
}

// C10: the item of a call that ended its goroutine has an error in its place,
// all others are run, and by n workers as before.
func TestP9C10GoexitIsTheItemsErrorAndCostsNoWorker(t *testing.T) {
	for _, op := range share.Rows(t, cellOps) {
		for _, n := range []int{1, 2, 10} {
			for _, every := range []int{1, 2, 7} {
				synctest.Test(t, func(t *testing.T) {
					const first = 700
					var m meter
					gate := make(chan struct{})
					time.AfterFunc(time.Second, func() {
						if got := int(m.running.Load()); got != n {
							t.Errorf("%s n=%d: %d calls at once after Goexit", op.name, n, got)
						}
						close(gate)
					})
					got, caught, err := survivors(t.Context(), op, first+100, n, func(_ context.Context, v int) error {
						m.enter()
						defer m.leave()
						if v < first {
							if v%every == 0 {
								runtime.Goexit()
							}
							return nil
						}
						<-gate
						return nil
					}, func(err error) bool { return errors.Is(err, stage.ErrGoexit) })
					if op.order == stage.AnyOrder {
						slices.Sort(got)
					}
					lost := (first + every - 1) / every
					if err != nil || caught != lost || len(got) != first+100-lost || !slices.IsSorted(got) || int(m.most.Load()) > n {
						t.Errorf("%s n=%d every=%d: %d values, %d lost, %d at once, %v", op.name, n, every, len(got), caught, m.most.Load(), err)
					}
				})
			}
		}
	}
}

// Without a Catch it ends the run, with the stage's name in the error.
func TestP9GoexitInAWorkerEndsTheRunWithAnError(t *testing.T) {
	for _, r := range share.Rows(t, engineRuns()) {
		for _, n := range []int{1, 2, 8} {
			if n == 1 && (r.name == "ForEach" || r.name == "To") {
				continue // see the next test
			}
			for _, at := range []int{0, 300} {
				src := &tally{t: t, size: 1000}
				err := r.run(t.Context(), src.stream(), n, func(_ context.Context, v int) error {
					if v == at {
						runtime.Goexit()
					}
					return nil
				})
				if !errors.Is(err, stage.ErrGoexit) || !src.allClosed() || err.Error() == stage.ErrGoexit.Error() {
					t.Errorf("%s n=%d at=%d: %v, closed %v", r.name, n, at, err, src.allClosed())
				}
			}
		}
	}
}

// In the caller's goroutine it does what it says: the run is settled, and the
// goroutine ends.
func TestP9GoexitInTheCallersGoroutineSettlesTheRun(t *testing.T) {
	for _, r := range engineRuns() {
		if r.name == "To" {
			continue // runs in a goroutine of the run
		}
		for _, n := range []int{stage.Inline, 1} {
			if n == 1 && r.name != "ForEach" {
				continue
			}
			src := &tally{t: t, size: 1000}
			var after atomic.Bool
			exits(func() {
				r.run(t.Context(), src.stream(), n, func(_ context.Context, v int) error {
					if v == 300 {
						runtime.Goexit()
					}
					return nil
				})
				after.Store(true)
			})
			if after.Load() || !src.allClosed() {
				t.Errorf("%s n=%d: returned %v, closed %v", r.name, n, after.Load(), src.allClosed())
			}
		}
	}
}

// Goexit in what a worker pulls, in sources, and in To.
func TestP9GoexitElsewhereEndsTheRunWithAnError(t *testing.T) {
	ctx := t.Context()
	exit := func(_ context.Context, v int) error {
		if v == 1 {
			runtime.Goexit()
		}
		return nil
	}
	never := func(context.Context, int) error { return nil }
	generate := stage.Generate(func(_ context.Context, yield func(int) bool) error { yield(0); runtime.Goexit(); return nil })
	reads := stage.New(func(*stage.Scope) stage.Reader[int] { return badReader{runtime.Goexit} })
	flat := func(in stage.Stream[int]) stage.Stream[int] {
		return stage.FlatMap(stage.Of(1), 2, func(context.Context, int) stage.Stream[int] { return in })
	}
	for _, r := range engineRuns() {
		for name, in := range map[string]stage.Stream[int]{
			"inline upstream": stage.Map(stage.Of(0, 1), stage.Inline, mapWork(exit)),
			"Generate":        generate,
			"Reader":          reads,
			"inner Generate":  flat(generate),
			"inner Reader":    flat(reads),
			"inner inline":    flat(stage.Map(stage.Of(0, 1), stage.Inline, mapWork(exit))),
		} {
			for _, n := range []int{2, 4} {
				if err := r.run(ctx, in, n, never); !errors.Is(err, stage.ErrGoexit) {
					t.Errorf("%s under %s n=%d: %v", name, r.name, n, err)
				}
			}
		}
	}
	if err := stage.Run(ctx, stage.To(stage.Of(0, 1), 1, exit), stage.To(stage.Of(2), 1, never)); !errors.Is(err, stage.ErrGoexit) {
		t.Errorf("To: %v", err)
	}
	for a := range stage.ToRill(ctx, generate) {
		if a.Error != nil && !errors.Is(a.Error, stage.ErrGoexit) {
			t.Errorf("ToRill: %v", a.Error)
		}
	}
}

// C10's mocks: FailNow of a test is a Goexit, with whatever else was going on.
func TestP9GoexitAndPanicsAmongOtherFailures(t *testing.T) {
	for _, op := range share.Rows(t, cellOps) {
		for _, n := range []int{1, 4} {
			got, caught, err := survivors(t.Context(), op, 3000, n, func(_ context.Context, v int) error {
				switch v % 10 {
				case 1:
					runtime.Goexit()
				case 2:
					thrower(v)
				case 3:
					return oops(v)
				}
				return nil
			}, func(err error) bool {
				return errors.Is(err, stage.ErrGoexit) || errors.As(err, new(*stage.Panic)) || errors.As(err, new(oops))
			}, stage.RecoverPanics())
			if err != nil || caught != 900 || len(got) != 2100 {
				t.Error(fmt.Sprintf("%s n=%d:", op.name, n), len(got), caught, err)
			}
		}
	}
}
