package ordered_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// upTo returns 0 to k-1.
func upTo(k int) []int {
	s := make([]int, k)
	for i := range s {
		s[i] = i
	}
	return s
}

// work is a function of the user's. Its error takes the place of the item.
type work = func(ctx context.Context, v int) error

// op is a transform of the package that calls f for each value and emits it.
type op struct {
	name  string
	flat  bool // a window counts streams
	inner bool // the calls are those of a stage of the inner stream
	// strategy is what keeps the order.
	strategy ordered.Strategy
	over     func(in stage.Stream[int], n int, f work, opts ...stage.Option) stage.Stream[int]
}

var ops = []op{
	{name: "Map", over: func(in stage.Stream[int], n int, f work, opts ...stage.Option) stage.Stream[int] {
		return ordered.Map(in, n, func(ctx context.Context, v int) (int, error) { return v, f(ctx, v) }, opts...)
	}},
	{name: "Filter", over: func(in stage.Stream[int], n int, f work, opts ...stage.Option) stage.Stream[int] {
		return ordered.Filter(in, n, func(ctx context.Context, v int) (bool, error) { return true, f(ctx, v) }, opts...)
	}},
	{name: "FilterMap", over: func(in stage.Stream[int], n int, f work, opts ...stage.Option) stage.Stream[int] {
		return ordered.FilterMap(in, n, func(ctx context.Context, v int) (int, bool, error) { return v, true, f(ctx, v) }, opts...)
	}},
	{name: "Catch", over: func(in stage.Stream[int], n int, f work, opts ...stage.Option) stage.Stream[int] {
		caught := ordered.Catch(edited(in, toError), n, func(ctx context.Context, err error) error {
			var v valued
			if !errors.As(err, &v) {
				return err
			}
			if failed := f(ctx, int(v)); failed != nil {
				return failed
			}
			return err
		}, opts...)
		return edited(caught, toValue)
	}},
	{name: "FlatMap", flat: true, over: func(in stage.Stream[int], n int, f work, opts ...stage.Option) stage.Stream[int] {
		return ordered.FlatMap(in, n, func(ctx context.Context, v int) stage.Stream[int] { return stage.FromSlice([]int{v}, f(ctx, v)) }, opts...)
	}},
	{name: "FlatMapInner", flat: true, inner: true, over: func(in stage.Stream[int], n int, f work, opts ...stage.Option) stage.Stream[int] {
		return ordered.FlatMap(in, n, func(_ context.Context, v int) stage.Stream[int] {
			return stage.Map(stage.Of(v), stage.Inline, func(ctx context.Context, v int) (int, error) { return v, f(ctx, v) })
		}, opts...)
	}},
}

// strategies are all of them.
var strategies = []ordered.Strategy{ordered.Cells, ordered.PermissionPassing, ordered.ReplyTo, ordered.Cond}

// all are the ops by all strategies.
var all = func() (all []op) {
	for _, s := range strategies {
		for _, o := range ops {
			all = append(all, o.by(s))
		}
	}
	return all
}()

// by is o by a strategy.
func (o op) by(s ordered.Strategy) op {
	over := o.over
	o.over = func(in stage.Stream[int], n int, f work, opts ...stage.Option) stage.Stream[int] {
		return over(in, n, f, append([]stage.Option{ordered.By(s)}, opts...)...)
	}
	o.strategy, o.name = s, s.String()+" "+o.name
	return o
}

// valued is the error that stands for a value on its way through Catch.
type valued int

func (v valued) Error() string { return "value " + strconv.Itoa(int(v)) }

func toError(a *stage.Try[int]) {
	if a.Error == nil {
		*a = stage.Try[int]{Error: valued(a.Value)}
	}
}

func toValue(a *stage.Try[int]) {
	if v, ok := a.Error.(valued); ok {
		*a = stage.Try[int]{Value: int(v)}
	}
}

// edited is in with each item changed by edit.
func edited(in stage.Stream[int], edit func(*stage.Try[int])) stage.Stream[int] {
	return stage.New(func(s *stage.Scope) stage.Reader[int] {
		return &reader{Reader: stage.Open(s, in), seen: func(items []stage.Try[int]) {
			for i := range items {
				edit(&items[i])
			}
		}}
	})
}

// counted is in with a count of what is taken from it.
func counted(in stage.Stream[int], took *atomic.Int64) stage.Stream[int] {
	return stage.New(func(s *stage.Scope) stage.Reader[int] {
		return &reader{Reader: stage.Open(s, in), seen: func(items []stage.Try[int]) { took.Add(int64(len(items))) }}
	})
}

type reader struct {
	stage.Reader[int]
	seen func([]stage.Try[int])
}

func (r *reader) Next(dst []stage.Try[int]) int {
	k := r.Reader.Next(dst)
	r.seen(dst[:k])
	return k
}

// sizes are the sizes of a table: all of them, or under the race detector one,
// another one for another number of processors.
func sizes(all ...int) []int {
	if raced {
		i := (len(all) - 1) / 2
		switch runtime.GOMAXPROCS(0) {
		case 1:
			i = 0
		case 2:
			i = len(all) - 1
		}
		return all[i : i+1]
	}
	return all
}

// meter counts calls.
type meter struct{ calls, running, most atomic.Int64 }

func (m *meter) enter() {
	m.calls.Add(1)
	running := m.running.Add(1)
	for most := m.most.Load(); running > most; most = m.most.Load() {
		if m.most.CompareAndSwap(most, running) {
			return
		}
	}
}

func (m *meter) leave() { m.running.Add(-1) }

// windowed returns the option for w, none for 0.
func windowed(w int) []stage.Option {
	if w == 0 {
		return nil
	}
	return []stage.Option{stage.Window(w)}
}

// oops is an error with a number.
type oops int

func (e oops) Error() string { return fmt.Sprintf("oops %d", int(e)) }

var errStop = errors.New("stop")

// raised returns what f panics with, or nil.
func raised(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// list runs in and returns its items, values as they are and errors as their
// negative numbers.
func list(t *testing.T, in stage.Stream[int]) []int {
	t.Helper()
	items := stage.Transform("list", in, stage.Inline, stage.InOrder, stage.TryFunc(func(_ context.Context, a stage.Try[int], out *stage.Try[int]) bool {
		*out = a
		if o, ok := a.Error.(oops); ok {
			*out = stage.Try[int]{Value: -int(o)}
		}
		return true
	}))
	got, err := stage.Collect(t.Context(), items)
	if err != nil {
		t.Error(err)
	}
	return got
}
