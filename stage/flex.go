package stage

import (
	"context"
	"reflect"
)

// Predicate is a test of an item: a plain one, or one that needs the run's
// context or can fail. An error takes the place of the item.
type Predicate[T any] interface {
	~func(T) bool | ~func(context.Context, T) (bool, error)
}

// Effect is what [Tap] does with an item: plainly, or with the run's context
// and an error that takes the place of the item.
type Effect[T any] interface {
	~func(T) | ~func(context.Context, T) error
}

// Fold is what [Scan] makes of its state and an item, plainly, or with the
// run's context and an error that takes the place of the item.
type Fold[S, T any] interface {
	~func(S, T) S | ~func(context.Context, S, T) (S, error)
}

// Route chooses a branch of [Partition], 0 to k-1, plainly, or with the run's
// context and an error that takes the place of the item.
type Route[T any] interface {
	~func(T) int | ~func(context.Context, T) (int, error)
}

// as converts a function of a constraint above to the one of its two types
// that it has, also when that type has a name.
func as[To any](f any) (to To, ok bool) {
	v, t := reflect.ValueOf(f), reflect.TypeFor[To]()
	if !v.Type().ConvertibleTo(t) {
		return to, false
	}
	return v.Convert(t).Interface().(To), true
}

func isNilFunc(f any) bool { return reflect.ValueOf(f).IsNil() }

func predicate[T any, P Predicate[T]](fn string, p P) func(context.Context, T) (bool, error) {
	CheckFunc(fn, "pred", isNilFunc(p))
	if f, ok := as[func(T) bool](p); ok {
		return func(_ context.Context, v T) (bool, error) { return f(v), nil }
	}
	f, _ := as[func(context.Context, T) (bool, error)](p)
	return f
}

func effect[T any, E Effect[T]](fn string, e E) func(context.Context, T) error {
	CheckFunc(fn, "f", isNilFunc(e))
	if f, ok := as[func(T)](e); ok {
		return func(_ context.Context, v T) error { f(v); return nil }
	}
	f, _ := as[func(context.Context, T) error](e)
	return f
}

func fold[S, T any, F Fold[S, T]](fn string, g F) func(context.Context, S, T) (S, error) {
	CheckFunc(fn, "f", isNilFunc(g))
	if f, ok := as[func(S, T) S](g); ok {
		return func(_ context.Context, s S, v T) (S, error) { return f(s, v), nil }
	}
	f, _ := as[func(context.Context, S, T) (S, error)](g)
	return f
}

func route[T any, R Route[T]](fn string, r R) func(context.Context, T) (int, error) {
	CheckFunc(fn, "route", isNilFunc(r))
	if f, ok := as[func(T) int](r); ok {
		return func(_ context.Context, v T) (int, error) { return f(v), nil }
	}
	f, _ := as[func(context.Context, T) (int, error)](r)
	return f
}
