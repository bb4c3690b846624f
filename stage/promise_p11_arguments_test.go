package stage_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/seed95b73fdc/sluice/stage"
)

// P11, C05: a bad argument panics at construction, before anything runs, with
// package, function and value in the text.

// A badCall is one with the parallelism, the function (nil if missing is set)
// and the options given.
type badCall func(in stage.Stream[int], n int, missing bool, opts ...stage.Option)

// or returns f, or nil.
func or[F any](missing bool, f F) (none F) {
	if missing {
		return none
	}
	return f
}

var badCalls = []struct {
	fn   string // as the text names it
	arg  string // the name of its function
	opts bool
	call badCall
}{
	{"stage.Map", "f", true, func(in stage.Stream[int], n int, missing bool, opts ...stage.Option) {
		stage.Map(in, n, or(missing, mapWork(nil)), opts...)
	}},
	{"stage.Filter", "f", true, func(in stage.Stream[int], n int, missing bool, opts ...stage.Option) {
		stage.Filter(in, n, or(missing, testWork(nil)), opts...)
	}},
	{"stage.FilterMap", "f", true, func(in stage.Stream[int], n int, missing bool, opts ...stage.Option) {
		stage.FilterMap(in, n, or(missing, func(_ context.Context, v int) (int, bool, error) { return v, true, nil }), opts...)
	}},
	{"stage.Catch", "f", true, func(in stage.Stream[int], n int, missing bool, opts ...stage.Option) {
		stage.Catch(in, n, or(missing, func(_ context.Context, err error) error { return err }), opts...)
	}},
	{"stage.FlatMap", "f", true, func(in stage.Stream[int], n int, missing bool, opts ...stage.Option) {
		stage.FlatMap(in, n, or(missing, func(_ context.Context, v int) stage.Stream[int] { return stage.Of(v) }), opts...)
	}},
	{"mine.Op", "f", true, func(in stage.Stream[int], n int, missing bool, opts ...stage.Option) {
		stage.FlatMapOrder("mine.Op", in, n, stage.InOrder, or(missing, func(_ context.Context, v int) stage.Stream[int] { return stage.Of(v) }), opts...)
	}},
	{"stage.Transform", "f", true, func(in stage.Stream[int], n int, missing bool, opts ...stage.Option) {
		f := stage.MapFunc("test", mapWork(nil))
		stage.Transform("op", in, n, stage.InOrder, or(missing, f), opts...)
	}},
	{"stage.ForEach", "f", true, func(in stage.Stream[int], n int, missing bool, opts ...stage.Option) {
		stage.ForEach(context.Background(), in, n, or(missing, func(context.Context, int) error { return nil }), opts...)
	}},
	{"stage.To", "f", true, func(in stage.Stream[int], n int, missing bool, opts ...stage.Option) {
		stage.To(in, n, or(missing, func(context.Context, int) error { return nil }), opts...)
	}},
	{"stage.Any", "f", false, func(in stage.Stream[int], n int, missing bool, _ ...stage.Option) {
		stage.Any(context.Background(), in, n, or(missing, testWork(nil)))
	}},
	{"stage.All", "f", false, func(in stage.Stream[int], n int, missing bool, _ ...stage.Option) {
		stage.All(context.Background(), in, n, or(missing, testWork(nil)))
	}},
	{"stage.Reduce", "f", false, func(in stage.Stream[int], n int, missing bool, _ ...stage.Option) {
		stage.Reduce(context.Background(), in, n, or(missing, func(_ context.Context, a, b int) (int, error) { return a + b, nil }))
	}},
}

func wantText(t *testing.T, name, want string, f func()) {
	t.Helper()
	if got := raised(f); got != want {
		t.Errorf("%s: panics with %q, want %q", name, fmt.Sprint(got), want)
	}
}

func TestP11C05BadArgumentsPanicAtConstruction(t *testing.T) {
	const most = 1 << 20
	src := &tally{t: t, size: 10}
	in := src.stream()
	for _, c := range badCalls {
		for _, n := range []int{-1, -1000, most + 1} {
			want := fmt.Sprintf("%s: n is %d, want 0 (Inline) to %d", c.fn, n, most)
			wantText(t, c.fn, want, func() { c.call(in, n, false) })
		}
		for _, n := range []int{stage.Inline, 1, 4} {
			wantText(t, c.fn, fmt.Sprintf("%s: %s is nil", c.fn, c.arg), func() { c.call(in, n, true) })
			if c.opts {
				wantText(t, c.fn, c.fn+": option 0 is nil", func() { c.call(in, n, false, nil) })
				wantText(t, c.fn, c.fn+": option 1 is nil", func() { c.call(in, n, false, stage.Name("x"), nil) })
			}
		}
	}
	if src.opened.Load() != 0 {
		t.Error("something has been run")
	}
}

func TestP11BadArgumentsOfTheKit(t *testing.T) {
	id := stage.MapFunc("test", mapWork(nil))
	wantText(t, "Window(0)", "stage.Window: window is 0, want at least 1", func() { stage.Window(0) })
	wantText(t, "Window(-5)", "stage.Window: window is -5, want at least 1", func() { stage.Window(-5) })
	wantText(t, "New", "stage.New: open is nil", func() { stage.New[int](nil) })
	wantText(t, "ToChan", "stage.ToChan: out is nil", func() { stage.ToChan(context.Background(), stage.Of(1), nil) })
	wantText(t, "Run", "stage.Run: sink 1 is the zero Sink", func() {
		stage.Run(context.Background(), stage.To(stage.Of(1), 1, func(context.Context, int) error { t.Error("called"); return nil }), stage.Sink{})
	})
	for _, order := range []stage.Order{-1, 2, 7} {
		if raised(func() { stage.Transform("op", stage.Of(1), 1, order, id) }) == nil {
			t.Errorf("order %d is taken", order)
		}
	}
	wantText(t, "MapFunc", "mine.Map: f is nil", func() { stage.MapFunc[int, int]("mine.Map", nil) })
	wantText(t, "FilterFunc", "mine.Filter: f is nil", func() { stage.FilterFunc[int]("mine.Filter", nil) })
	wantText(t, "FilterMapFunc", "mine.FilterMap: f is nil", func() { stage.FilterMapFunc[int, int]("mine.FilterMap", nil) })
	wantText(t, "CatchFunc", "mine.Catch: f is nil", func() { stage.CatchFunc[int]("mine.Catch", nil) })
	wantText(t, "Transform TryFunc", "stage.Transform: f is nil", func() {
		stage.Transform("op", stage.Of(1), 1, stage.InOrder, stage.TryFunc[int, int](nil))
	})
	wantText(t, "CheckSize", "mine.Op: size is -1, want at least 0", func() { stage.CheckSize("mine.Op", "size", -1, 0) })
}

// The edges that are allowed.
func TestP11GoodArgumentsAtTheEdge(t *testing.T) {
	for _, op := range engineOps {
		for _, n := range []int{stage.Inline, 1, 1 << 20} {
			for _, w := range []int{1, math.MaxInt} {
				k, err := stage.Count(t.Context(), op.over(stage.FromSlice(upTo(100)), n, func(context.Context, int) error { return nil }, stage.Window(w)))
				if k != 100 || err != nil {
					t.Errorf("%s n=%d window=%d: %d, %v", op.name, n, w, k, err)
				}
			}
		}
		var zero stage.Stream[int]
		if k, err := stage.Count(t.Context(), op.over(zero, 2, func(context.Context, int) error { return nil })); k != 0 || err != nil {
			t.Errorf("%s of the zero Stream: %d, %v", op.name, k, err)
		}
	}
}
