package stage_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/stage"
)

// P9: a panic of a user's function cancels the run, and is raised again in the
// terminal's goroutine as *stage.Panic with the stage's name, the value and the
// original stack; as an error if RecoverPanics is set.

// thrower panics. Its name must be in the stack.
//
//go:noinline
func thrower(v any) { panic(v) }

func throwAt(at int, v any) work {
	return func(_ context.Context, got int) error {
		if got == at {
			thrower(v)
		}
		return nil
	}
}

// checkPanic checks what a terminal has raised.
func checkPanic(t *testing.T, where string, v any, stageName string, value any) {
	t.Helper()
	p, ok := v.(*stage.Panic)
	if !ok {
		t.Errorf("%s: raised %T %v", where, v, v)
		return
	}
	if !regexp.MustCompile("^" + stageName + "$").MatchString(p.Stage) {
		t.Errorf("%s: stage is %q, want %q", where, p.Stage, stageName)
	}
	if value != nil && p.Value != value {
		t.Errorf("%s: value is %v, want %v", where, p.Value, value)
	}
	if !strings.Contains(string(p.Stack), "stage_test.thrower") {
		t.Errorf("%s: the stack does not show who panicked:\n%s", where, p.Stack)
	}
	if p.Running != 0 {
		t.Errorf("%s: %d still running", where, p.Running)
	}
	for _, part := range []string{p.Stage, fmt.Sprint(p.Value), string(p.Stack)} {
		if !strings.Contains(p.Error(), part) {
			t.Errorf("%s: the text lacks %q", where, part)
		}
	}
}

// Every function that takes one of the user's, in a worker, inline, and in the
// terminal's goroutine; alone, and as the upstream of another stage's worker.
func TestP9PanicIsRaisedInTheTerminalsGoroutine(t *testing.T) {
	for _, r := range share.Rows(t, engineRuns()) {
		t.Run(r.name, func(t *testing.T) {
			for _, n := range []int{stage.Inline, 1, 2, 8} {
				for _, at := range []int{0, 1, 700} {
					for _, name := range []string{"", "mine"} {
						synctest.Test(t, func(t *testing.T) {
							var opts []stage.Option
							want := `(map|filter|filtermap|catch|transform|foreach|to|any|all|flatmap)#\d+`
							if name != "" && r.opts && !strings.HasPrefix(r.name, "FlatMapInner") {
								opts, want = append(opts, stage.Name(name)), name
							}
							src := &tally{t: t, size: 2000}
							value := oops(at)
							v := raised(func() { r.run(t.Context(), src.stream(), n, throwAt(at, value), opts...) })
							where := fmt.Sprintf("%s n=%d at=%d", r.name, n, at)
							checkPanic(t, where, v, want, value)
							if err, ok := v.(error); !ok || !errors.Is(err, value) {
								t.Errorf("%s: what was raised does not wrap the value", where)
							}
							if !src.allClosed() {
								t.Errorf("%s: source not closed", where)
							}
						})
					}
				}
			}
		})
	}
}

func TestP9PanicUpstreamOfAnotherStagesWorkers(t *testing.T) {
	for _, down := range share.Rows(t, engineRuns()) {
		for _, up := range engineOps {
			for _, n := range sizes(stage.Inline, 1, 3) {
				for _, m := range []int{1, 3} {
					src := &tally{t: t, size: rounds(500) + 100}
					in := up.over(src.stream(), n, throwAt(100, "boom"), stage.Name("up"))
					v := raised(func() { down.run(t.Context(), in, m, throwAt(-1, nil)) })
					want := "up"
					if strings.HasPrefix(up.name, "FlatMapInner") {
						want = `map#\d+`
					}
					checkPanic(t, fmt.Sprintf("%s n=%d under %s n=%d", up.name, n, down.name, m), v, want, "boom")
					if !src.allClosed() {
						t.Error("source not closed")
					}
				}
			}
		}
	}
}

// Sources, opening, closing, and the consumer's own function.
func TestP9PanicOfEveryOtherFunction(t *testing.T) {
	ctx := t.Context()
	none := func(context.Context, int) error { return nil }
	boom := func() { thrower("boom") }
	id := func(_ context.Context, v int) (int, error) { return v, nil }
	generate := stage.Generate(func(_ context.Context, yield func(int) bool) error { yield(1); boom(); return nil })
	seq := stage.FromSeq(func(yield func(int) bool) { yield(1); boom() })
	cleanup := stage.Generate(func(_ context.Context, yield func(int) bool) error {
		defer boom()
		for yield(1) {
		}
		return nil
	})
	opens := stage.New(func(*stage.Scope) stage.Reader[int] { boom(); return nil })
	reads := stage.New(func(*stage.Scope) stage.Reader[int] { return badReader{boom} })
	sum := func(_ context.Context, a, b int) (int, error) { boom(); return a + b, nil }
	for name, c := range map[string]struct {
		stage string
		run   func()
	}{
		"Generate":           {`generate#\d+`, func() { stage.Discard(ctx, generate) }},
		"Generate to worker": {`generate#\d+`, func() { stage.Discard(ctx, stage.Map(generate, 2, id)) }},
		"FromSeq":            {`seq#\d+`, func() { stage.Discard(ctx, seq) }},
		"cleanup":            {`generate#\d+`, func() { stage.First(ctx, cleanup) }},
		"cleanup to worker":  {`generate#\d+`, func() { stage.First(ctx, stage.Map(cleanup, 2, id)) }},
		"open":               {"discard", func() { stage.Discard(ctx, opens) }},
		"Reader":             {`discard#\d+`, func() { stage.Discard(ctx, reads) }},
		"Reader to worker":   {`map#\d+`, func() { stage.Discard(ctx, stage.Map(reads, 2, id)) }},
		"Reader to FlatMap": {`flatmap#\d+`, func() {
			stage.Discard(ctx, stage.FlatMap(reads, 2, func(context.Context, int) stage.Stream[int] { return stage.Of(1) }))
		}},
		"inner Generate": {`generate#\d+`, func() {
			stage.Discard(ctx, stage.FlatMap(stage.Of(1), 2, func(context.Context, int) stage.Stream[int] { return generate }))
		}},
		"inner worker": {"in", func() {
			stage.Discard(ctx, stage.FlatMap(stage.Of(1), 2, func(context.Context, int) stage.Stream[int] {
				return stage.Map(stage.Of(1, 2), 2, mapWork(throwAt(2, "boom")), stage.Name("in"))
			}))
		}},
		"inner open": {`flatmap#\d+`, func() {
			stage.Discard(ctx, stage.FlatMap(stage.Of(1), 2, func(context.Context, int) stage.Stream[int] { return opens }))
		}},
		"Reduce":   {"reduce", func() { stage.Reduce(ctx, stage.Of(1, 2), 1, sum) }},
		"Reduce n": {"reduce", func() { stage.Reduce(ctx, stage.Of(1, 2, 3), 2, sum) }},
		"Run": {"one", func() {
			stage.Run(ctx, stage.To(stage.Of(1), 1, throwAt(1, "boom"), stage.Name("one")), stage.To(stage.Of(1), 3, none))
		}},
	} {
		checkPanic(t, name, raised(c.run), c.stage, "boom")
	}
	// ToRill has no caller to raise it in.
	last := error(nil)
	for a := range stage.ToRill(ctx, generate) {
		last = a.Error
	}
	checkPanic(t, "ToRill", last, `generate#\d+`, "boom")
}

type badReader struct{ boom func() }

func (r badReader) Next([]stage.Try[int]) int { r.boom(); return 0 }
func (badReader) Close()                      {}

func TestP9PanicWithAnyValue(t *testing.T) {
	for _, n := range []int{stage.Inline, 1, 4} {
		for _, value := range []any{"text", 42, errStop, 3.5, struct{ a, b int }{1, 2}, &stage.Panic{Stage: "theirs"}} {
			v := raised(func() { stage.Discard(t.Context(), stage.Map(stage.Of(1), n, mapWork(throwAt(1, value)))) })
			checkPanic(t, fmt.Sprintf("n=%d %v", n, value), v, `map#\d+`, value)
		}
		v := raised(func() { stage.Discard(t.Context(), stage.Map(stage.Of(1), n, mapWork(throwAt(1, nil)))) })
		checkPanic(t, "nil", v, `map#\d+`, nil)
		if p := v.(*stage.Panic); !errors.As(p, new(*runtime.PanicNilError)) {
			t.Errorf("panic(nil) came as %v", p.Value)
		}
		var index []int
		v = raised(func() {
			stage.Discard(t.Context(), stage.Map(stage.Of(1), n, func(_ context.Context, v int) (int, error) { return index[v], nil }))
		})
		if p, ok := v.(*stage.Panic); !ok || !errors.As(p, new(runtime.Error)) {
			t.Errorf("index out of range came as %v", v)
		}
	}
}

// A run inside f panics: both stages are named, the inner one first met.
func TestP9PanicOfARunInsideF(t *testing.T) {
	for _, r := range engineRuns() {
		for _, n := range []int{stage.Inline, 1, 3} {
			v := raised(func() {
				r.run(t.Context(), stage.FromSlice(upTo(10)), n, func(ctx context.Context, v int) error {
					return stage.ForEach(ctx, stage.Of(v), 2, throwAt(5, errStop), stage.Name("inner"))
				})
			})
			p, ok := v.(*stage.Panic)
			if !ok {
				t.Errorf("%s n=%d: raised %v", r.name, n, v)
				continue
			}
			var inner *stage.Panic
			if !errors.As(p.Unwrap(), &inner) || inner.Stage != "inner" || p.Stage == "inner" || !errors.Is(p, errStop) {
				t.Errorf("%s n=%d: %s wraps %v", r.name, n, p.Stage, p.Unwrap())
			}
		}
	}
}

// The first panic is the one that is raised, whoever else panics as the run
// is cancelled.
func TestP9FirstOfManyPanicsIsRaised(t *testing.T) {
	for _, r := range engineRuns() {
		synctest.Test(t, func(t *testing.T) {
			v := raised(func() {
				r.run(t.Context(), stage.FromSlice(upTo(100)), 8, func(ctx context.Context, v int) error {
					if v == 3 {
						time.Sleep(time.Second)
						thrower("first")
					}
					<-ctx.Done()
					thrower("late")
					return nil
				})
			})
			checkPanic(t, r.name, v, ".*", "first")
		})
	}
}

// The run of a panic is cancelled: its other calls see that, with the panic as
// the cause, and no new one starts.
func TestP9PanicCancelsTheRun(t *testing.T) {
	for _, r := range engineRuns() {
		for _, n := range []int{2, 8} {
			synctest.Test(t, func(t *testing.T) {
				var m meter
				var saw atomic.Int64
				began := time.Now()
				v := raised(func() {
					r.run(t.Context(), stage.FromSlice(upTo(1000)), n, func(ctx context.Context, v int) error {
						m.enter()
						defer m.leave()
						if v == 1 {
							time.Sleep(time.Second)
							thrower("boom")
						}
						<-ctx.Done()
						if p, ok := context.Cause(ctx).(*stage.Panic); ok && p.Value == "boom" {
							saw.Add(1)
						}
						return ctx.Err()
					})
				})
				checkPanic(t, r.name, v, ".*", "boom")
				if int(m.calls.Load()) != n || int(saw.Load()) != n-1 || m.running.Load() != 0 || time.Since(began) != time.Second {
					t.Errorf("%s n=%d: %d calls, %d saw it, %v", r.name, n, m.calls.Load(), saw.Load(), time.Since(began))
				}
			})
		}
	}
}

// C09: another call never returns. The panic reaches the caller PanicGrace
// later all the same, and says how many are left.
func TestP9C09PanicReachesTheCallerAlthoughACallNeverReturns(t *testing.T) {
	for _, r := range engineRuns() {
		for _, late := range []bool{false, true} { // late: it panics as the run is ended by an error
			synctest.Test(t, func(t *testing.T) {
				stuck := make(chan struct{})
				began := time.Now()
				v := raised(func() {
					r.run(t.Context(), stage.FromSlice(upTo(3)), 3, func(ctx context.Context, v int) error {
						switch v {
						case 0:
							time.Sleep(time.Second)
							if late {
								return errStop
							}
							thrower("boom")
						case 1:
							if late {
								<-ctx.Done()
								thrower("boom")
							}
							return nil
						}
						<-stuck
						return nil
					}, stage.Window(3))
				})
				took := time.Since(began)
				p, ok := v.(*stage.Panic)
				if !ok || p.Value != "boom" || p.Running < 1 || took != time.Second+stage.PanicGrace {
					t.Errorf("%s late=%v: raised %v after %v", r.name, late, v, took)
				} else if !strings.Contains(p.Error(), "still running") {
					t.Errorf("%s: the text does not tell: %s", r.name, p.Error())
				}
				close(stuck)
			})
		}
	}
}
