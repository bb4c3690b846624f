package ordered

import (
	"context"

	"github.com/seed95b73fdc/sluice/stage"
)

// Map emits f's result for each item, in the order of the items. Errors of in
// are passed on in their place; an error of f takes the place of its item. It
// pushes back while its window is full, and ends when in has ended and all
// results are taken.
//
// n calls of f run at once; with n = [stage.Inline] f runs in the goroutine of
// whoever pulls. f's context ends with the run and when no more is needed.
func Map[A, B any](in stage.Stream[A], n int, f func(context.Context, A) (B, error), opts ...stage.Option) stage.Stream[B] {
	stage.CheckN("ordered.Map", n, opts...)
	return transform("ordered.Map", "map", in, n, stage.MapFunc("ordered.Map", f), opts)
}

// Filter emits the items for which f reports true, and errors, in the order of
// the items, as [Map] does.
func Filter[A any](in stage.Stream[A], n int, f func(context.Context, A) (bool, error), opts ...stage.Option) stage.Stream[A] {
	stage.CheckN("ordered.Filter", n, opts...)
	return transform("ordered.Filter", "filter", in, n, stage.FilterFunc("ordered.Filter", f), opts)
}

// FilterMap emits f's results where f reports true, and errors, in the order of
// the items, as [Map] does.
func FilterMap[A, B any](in stage.Stream[A], n int, f func(context.Context, A) (B, bool, error), opts ...stage.Option) stage.Stream[B] {
	stage.CheckN("ordered.FilterMap", n, opts...)
	return transform("ordered.FilterMap", "filtermap", in, n, stage.FilterMapFunc("ordered.FilterMap", f), opts)
}

// Catch gives each error of in to f and emits the error that f returns in its
// place, or nothing if that is nil. Values are passed on.
func Catch[A any](in stage.Stream[A], n int, f func(context.Context, error) error, opts ...stage.Option) stage.Stream[A] {
	stage.CheckN("ordered.Catch", n, opts...)
	return transform("ordered.Catch", "catch", in, n, stage.CatchFunc[A]("ordered.Catch", f), opts)
}

// FlatMap emits the items of the streams that f makes of each value, one
// stream after the other, in the order of the values; n of them run at once.
// The first one's items are passed on as they come, so an endless stream is
// fine; the others hold two chunks each of what the reader asks for at a time,
// one item each while it is slow, and wait.
func FlatMap[A, B any](in stage.Stream[A], n int, f func(context.Context, A) stage.Stream[B], opts ...stage.Option) stage.Stream[B] {
	return flatMap("ordered.FlatMap", in, n, f, opts)
}

// First returns the first value of in, in its order, for which match reports
// true; n calls of match run at once. It stops as soon as that value is
// certain: when every value before it is known not to match. An error, of in or
// of match, before the first match is returned, with the zero value and false;
// one after it makes no difference. If there is no match, found is false.
func First[T any](ctx context.Context, in stage.Stream[T], n int, match func(context.Context, T) (bool, error), opts ...stage.Option) (value T, found bool, err error) {
	stage.CheckN("ordered.First", n, opts...)
	stage.CheckFunc("ordered.First", "match", match == nil)
	return stage.First(ctx, transform("ordered.First", "first", in, n, stage.FilterFunc("ordered.First", match), opts))
}

// decided is a value with the branch it takes.
type decided[T any] struct {
	value T
	yes   bool
}

// Split sends each value to yes if f reports true for it, else to no, and each
// error to both, all in the order of in; n calls of f run at once. What
// [stage.Split] says of branches goes for these; the window is that of the
// calls of f, and each branch holds up to 64 items.
func Split[T any](in stage.Stream[T], n int, f func(context.Context, T) (bool, error), opts ...stage.Option) (yes, no stage.Stream[T]) {
	stage.CheckN("ordered.Split", n, opts...)
	stage.CheckFunc("ordered.Split", "f", f == nil)
	decide := stage.MapFunc("ordered.Split", func(ctx context.Context, v T) (decided[T], error) {
		ok, err := f(ctx, v)
		return decided[T]{v, ok}, err
	})
	all := transform("ordered.Split", "split", in, n, decide, opts)
	y, o := stage.Split(all, func(d decided[T]) bool { return d.yes })
	return values(y), values(o)
}

func values[T any](in stage.Stream[decided[T]]) stage.Stream[T] {
	return stage.Map(in, stage.Inline, func(_ context.Context, d decided[T]) (T, error) { return d.value, nil })
}
