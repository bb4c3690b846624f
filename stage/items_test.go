package stage_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/seed95b73fdc/sluice/stage"
)

// What the tests of sources, steps and branches have in common: streams made
// of a list of values and errors, and lists of what came out of a stream.

var (
	errA = errors.New("error a")
	errB = errors.New("error b")
)

// script is a source of the values and errors listed, which gives at most step
// of them at a time, as many as there is room for if step is 0. It counts, over
// all runs, what is done to it.
type script struct {
	items []any // int or error
	step  int

	opened, asked, gave, closed atomic.Int64
}

func (s *script) stream() stage.Stream[int] {
	return stage.New(func(sc *stage.Scope) stage.Reader[int] {
		s.opened.Add(1)
		return &scriptReader{script: s, scope: sc}
	})
}

type scriptReader struct {
	*script
	scope *stage.Scope
	at    int
	done  bool
}

func (r *scriptReader) Next(dst []stage.Try[int]) (k int) {
	r.asked.Add(1)
	if r.done || r.scope.Stopped() {
		return 0
	}
	for k < len(dst) && r.at < len(r.items) && (r.step == 0 || k < r.step) {
		dst[k] = try(r.items[r.at])
		r.at++
		k++
	}
	r.gave.Add(int64(k))
	return k
}

func (r *scriptReader) Close() {
	if !r.done {
		r.done = true
		r.closed.Add(1)
	}
}

func try(item any) stage.Try[int] {
	if err, ok := item.(error); ok {
		return stage.Try[int]{Error: err}
	}
	return stage.Try[int]{Value: item.(int)}
}

// items is the stream of the values and errors listed.
func items(list ...any) stage.Stream[int] { return (&script{items: list}).stream() }

// numbers is the list of 0 to k-1.
func numbers(k int) []any {
	list := make([]any, k)
	for i := range list {
		list[i] = i
	}
	return list
}

// naturals is the endless stream 0, 1, 2, …
func naturals() stage.Stream[int] {
	return stage.New(func(sc *stage.Scope) stage.Reader[int] { return &naturalReader{scope: sc} })
}

type naturalReader struct {
	scope *stage.Scope
	next  int
	done  bool
}

func (r *naturalReader) Next(dst []stage.Try[int]) int {
	if r.done || r.scope.Stopped() {
		return 0
	}
	for i := range dst {
		dst[i] = stage.Try[int]{Value: r.next}
		r.next++
	}
	return len(dst)
}

func (r *naturalReader) Close() { r.done = true }

// whole makes the errors of a stream values, so that a terminal sees them all.
func whole[T any](in stage.Stream[T]) stage.Stream[any] {
	return stage.Transform("whole", in, stage.Inline, stage.InOrder, stage.TryFunc(
		func(_ context.Context, a stage.Try[T], out *stage.Try[any]) bool {
			*out = stage.Try[any]{Value: a.Value}
			if a.Error != nil {
				*out = stage.Try[any]{Value: a.Error}
				var zero T
				if any(a.Value) != any(zero) {
					*out = stage.Try[any]{Error: fmt.Errorf("error %v comes with value %v", a.Error, a.Value)}
				}
			}
			return true
		}))
}

// list runs a stream and returns its values and errors.
func list[T any](t *testing.T, in stage.Stream[T]) []any {
	t.Helper()
	got, err := stage.Collect(t.Context(), whole(in))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// wantList fails unless in emits exactly what is listed.
func wantList[T any](t *testing.T, in stage.Stream[T], want ...any) {
	t.Helper()
	if got := list(t, in); !slices.Equal(got, want) {
		t.Fatalf("emits %v, want %v", brief(got), brief(want))
	}
}

// wantSet is wantList in any order.
func wantSet[T any](t *testing.T, in stage.Stream[T], want ...any) {
	t.Helper()
	got := list(t, in)
	byText := func(a, b any) int {
		x, y := fmt.Sprint(a), fmt.Sprint(b)
		if len(x) != len(y) {
			return len(x) - len(y)
		}
		if x < y {
			return -1
		}
		return 1
	}
	slices.SortFunc(got, byText)
	want = slices.Clone(want)
	slices.SortFunc(want, byText)
	if !slices.Equal(got, want) {
		t.Fatalf("emits %v, want %v", brief(got), brief(want))
	}
}

func brief(list []any) string {
	if len(list) <= 20 {
		return fmt.Sprint(list)
	}
	return fmt.Sprintf("%d items: %v … %v", len(list), list[:10], list[len(list)-5:])
}

// hands runs loop with the reader of in in a run of its own: for what no
// terminal does.
func hands[T any](t *testing.T, ctx context.Context, in stage.Stream[T], loop func(rd stage.Reader[T])) error {
	t.Helper()
	done := false
	err := stage.Discard(ctx, stage.New(func(s *stage.Scope) stage.Reader[int] {
		rd := stage.Open(s, in)
		return &handsReader{next: func() {
			if !done {
				done = true
				loop(rd)
			}
		}, close: rd.Close}
	}))
	if !done {
		t.Error("the run asked for nothing")
	}
	return err
}

type handsReader struct{ next, close func() }

func (r *handsReader) Next([]stage.Try[int]) int { r.next(); return 0 }
func (r *handsReader) Close()                    { r.close() }

// panicOf returns what f panics with.
func panicOf(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// id, even and plus are functions of the user's that cannot fail.
func id(_ context.Context, v int) (int, error) { return v, nil }
func even(v int) bool                          { return v%2 == 0 }
func plus(a, b int) int                        { return a + b }
