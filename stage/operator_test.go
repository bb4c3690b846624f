package stage_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// lonely is an operator with one goroutine, outside of the package: it runs f
// for each item, and answers itself for calls that do not return.
type lonely struct {
	scope, sub *stage.Scope
	up         stage.Reader[int]
	f          func(int)
	recover    bool
	begun      bool
	out        chan stage.Try[int]
	gone       chan struct{}
}

func lonelyMap(in stage.Stream[int], f func(int), opts ...stage.Option) stage.Stream[int] {
	c := stage.Configure("lonelyMap", opts...)
	return stage.New(func(s *stage.Scope) stage.Reader[int] {
		sub := s.Child()
		return &lonely{scope: s, sub: sub, up: stage.Open(sub, in), f: f, recover: c.RecoverPanics,
			out: make(chan stage.Try[int]), gone: make(chan struct{})}
	})
}

func (l *lonely) Next(dst []stage.Try[int]) int {
	if !l.begun {
		l.begun = true
		l.start()
	}
	item, ok := <-l.out
	if !ok {
		return 0
	}
	dst[0] = item
	return 1
}

func (l *lonely) start() {
	l.sub.GoElse("lonely", l.work, func(p *stage.Panic) bool {
		if p != nil && !l.recover {
			close(l.gone)
			close(l.out)
			return false
		}
		item := stage.Try[int]{Error: stage.Goexit("lonely")}
		if p != nil {
			item.Error = p
		}
		l.out <- item
		l.start()
		return true
	})
}

func (l *lonely) work() {
	var buf [1]stage.Try[int]
	for l.up.Next(buf[:]) > 0 {
		l.f(buf[0].Value)
		l.out <- buf[0]
	}
	close(l.gone)
	close(l.out)
}

func (l *lonely) Close() {
	l.sub.Cancel(stage.ErrClosed)
	if l.begun && !l.sub.Await(l.gone) {
		return
	}
	l.up.Close()
}

func TestOperatorOfAnotherPackageAnswersForItsLostGoroutinesP9(t *testing.T) {
	all := func(opts ...stage.Option) (got []string, err error) {
		in := lonelyMap(items(1, 2, 3, 4), func(v int) {
			switch v {
			case 2:
				runtime.Goexit()
			case 3:
				panic(errA)
			}
		}, opts...)
		err = stage.ForEach(t.Context(), whole(in), 1, func(_ context.Context, item any) error {
			switch err, _ := item.(error); {
			case errors.Is(err, stage.ErrGoexit):
				got = append(got, err.Error())
			case err != nil:
				var p *stage.Panic
				got = append(got, fmt.Sprint(errors.As(err, &p) && p.Stage == "lonely", errors.Is(err, errA)))
			default:
				got = append(got, fmt.Sprint(item))
			}
			return nil
		})
		return got, err
	}
	want := []string{"1", "lonely: " + stage.ErrGoexit.Error(), "true true", "4"}
	if got, err := all(stage.RecoverPanics()); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, %v", got, err)
	}
	if p, _ := panicOf(func() { _, _ = all() }).(*stage.Panic); p == nil || p.Stage != "lonely" || p.Value != errA {
		t.Errorf("%v has been raised", p)
	}
}

func TestParkUntilEndsWithItsTimerAWakeOrTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		outcome := func(after time.Duration, act func(s *stage.Scope, w *stage.Waiter)) (woken, fired bool, d time.Duration) {
			start = time.Now()
			in := stage.New(func(s *stage.Scope) stage.Reader[int] {
				return &handsReader{next: func() {
					w := s.NewWaiter("timed", func() string { return "time" })
					defer w.Free()
					w.Arm()
					if act != nil {
						s.Go("other", func() { time.Sleep(time.Second); act(s, w) })
					}
					woken, fired = w.ParkUntil(time.After(after))
					d = time.Since(start)
				}, close: func() {}}
			})
			_ = stage.Discard(t.Context(), in)
			return woken, fired, d
		}
		if woken, fired, d := outcome(3*time.Second, nil); woken || !fired || d != 3*time.Second {
			t.Error("timer alone:", woken, fired, d)
		}
		if woken, fired, d := outcome(3*time.Second, func(_ *stage.Scope, w *stage.Waiter) { w.Wake() }); !woken || fired || d != time.Second {
			t.Error("woken:", woken, fired, d)
		}
		if woken, fired, d := outcome(3*time.Second, func(s *stage.Scope, _ *stage.Waiter) { s.Fail(errA) }); woken || fired || d != time.Second {
			t.Error("failed:", woken, fired, d)
		}
	})
}

// A wake-up that comes between Arm and Disarm is used up: the next wait is for the next
// one.
func TestDisarmedWaiterKeepsNoWakeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := stage.New(func(s *stage.Scope) stage.Reader[int] {
			return &handsReader{next: func() {
				w := s.NewWaiter("disarmed", func() string { return "" })
				defer w.Free()
				w.Arm()
				w.Wake()
				w.Disarm()
				w.Arm()
				s.Go("other", func() { time.Sleep(time.Second); w.Wake() })
				start := time.Now()
				if woken, d := w.Park(), time.Since(start); !woken || d != time.Second {
					t.Errorf("woken: %v after %v, want after a second", woken, d)
				}
			}, close: func() {}}
		})
		if err := stage.Discard(t.Context(), in); err != nil {
			t.Error(err)
		}
	})
}

// Close of a stage may come back before its goroutines end: the terminal does not.
func TestTerminalReturnsAfterTheLastGoroutineOfItsRunP5(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		in := stage.New(func(s *stage.Scope) stage.Reader[int] {
			return &handsReader{next: func() {
				s.Go("late", func() {
					<-s.Context().Done()
					time.Sleep(time.Hour)
					ended = true
				})
			}, close: func() {}}
		})
		if err := stage.Discard(t.Context(), in); err != nil || !ended {
			t.Errorf("%v, the goroutine has ended: %v", err, ended)
		}
	})
}

// P5, P8: all items have been delivered, and then a goroutine of the run is lost.
func TestFailureBehindTheLastItemIsReturned(t *testing.T) {
	in := stage.New(func(s *stage.Scope) stage.Reader[int] {
		return &handsReader{next: func() {
			s.Go("late", func() {
				<-s.Context().Done()
				runtime.Goexit()
			})
		}, close: func() {}}
	})
	if err := stage.Discard(t.Context(), in); !errors.Is(err, stage.ErrGoexit) {
		t.Errorf("%v, want %v", err, stage.ErrGoexit)
	}
}

func TestOptionsOfOtherPackagesReachTheirOperators(t *testing.T) {
	type key struct{ k int }
	c := stage.Configure("f", stage.With(key{1}, "a"), stage.Name("n"), stage.With(key{2}, "b"), stage.With(key{1}, "c"))
	if c.Value(key{1}) != "c" || c.Value(key{2}) != "b" || c.Value(key{3}) != nil || c.Name != "n" {
		t.Errorf("%+v", c)
	}
	if got, err := stage.Collect(t.Context(), stage.Map(items(1), 2, id, stage.With(key{1}, 1))); err != nil || len(got) != 1 {
		t.Error(got, err) // who does not know it ignores it
	}
}

func TestFuncsCanBeCalledByEnginesOfOtherPackages(t *testing.T) {
	f := stage.FilterMapFunc("f", func(_ context.Context, v int) (string, bool, error) {
		if v == 3 {
			return "dropped", true, errB
		}
		return fmt.Sprint(v), v != 2, nil
	})
	want := map[int]stage.Try[string]{1: {Value: "1"}, 3: {Error: errB}}
	for v := 1; v <= 3; v++ {
		var out stage.Try[string]
		if keep := f.Call(t.Context(), &stage.Try[int]{Value: v}, &out); keep != (v != 2) || keep && out != want[v] {
			t.Error(v, keep, out)
		}
	}
	var out stage.Try[string]
	if !f.Call(t.Context(), &stage.Try[int]{Error: errA}, &out) || out.Error != errA || f.IsZero() || !(stage.Func[int, int]{}).IsZero() {
		t.Error(out)
	}
}

func TestScopeSaysWhetherSomebodyLooksAtTheStats(t *testing.T) {
	counted := false
	in := stage.New(func(s *stage.Scope) stage.Reader[int] {
		counted = s.Counted()
		return &handsReader{next: func() {}, close: func() {}}
	})
	_ = stage.Discard(t.Context(), in)
	if counted {
		t.Error("nobody looks")
	}
	ctx, _ := stage.WithStats(t.Context())
	if _ = stage.Discard(ctx, in); !counted {
		t.Error("somebody looks")
	}
}
