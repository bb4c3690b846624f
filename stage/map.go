package stage

import "context"

// Map emits f's result for each item, as soon as it is there. Errors of in are
// passed on; an error of f takes the place of its item. It pushes back while
// its [Window] is full, and ends when in has ended and all results are taken.
//
// n calls of f run at once; with n = [Inline] f runs in the goroutine of
// whoever pulls. f's context ends with the run and when no more is needed.
func Map[A, B any](in Stream[A], n int, f func(context.Context, A) (B, error), opts ...Option) Stream[B] {
	CheckN("stage.Map", n, opts...)
	return Transform("map", in, n, AnyOrder, MapFunc("stage.Map", f), opts...)
}

// Filter emits the items for which f reports true, and errors, as Map does.
func Filter[A any](in Stream[A], n int, f func(context.Context, A) (bool, error), opts ...Option) Stream[A] {
	CheckN("stage.Filter", n, opts...)
	return Transform("filter", in, n, AnyOrder, FilterFunc("stage.Filter", f), opts...)
}

// FilterMap emits f's results where f reports true, and errors, as Map does.
func FilterMap[A, B any](in Stream[A], n int, f func(context.Context, A) (B, bool, error), opts ...Option) Stream[B] {
	CheckN("stage.FilterMap", n, opts...)
	return Transform("filtermap", in, n, AnyOrder, FilterMapFunc("stage.FilterMap", f), opts...)
}

// Catch gives each error of in to f and emits the error that f returns
// instead, or nothing if that is nil. Values are passed on. With n ≥ 1 items may
// overtake each other, as in [Map].
func Catch[A any](in Stream[A], n int, f func(context.Context, error) error, opts ...Option) Stream[A] {
	CheckN("stage.Catch", n, opts...)
	return Transform("catch", in, n, AnyOrder, CatchFunc[A]("stage.Catch", f), opts...)
}
