package stage

import "context"

// Func is what a stage does with one item: [MapFunc], [FilterFunc],
// [FilterMapFunc], [CatchFunc], or a [TryFunc] of one's own.
type Func[A, B any] struct {
	try   func(ctx context.Context, item Try[A], out *Try[B]) (keep bool)
	value func(ctx context.Context, v A) (B, error) // instead, for values: one call less
	pass  bool                                      // errors pass unchanged
}

// TryFunc is a Func that sees errors too: f sets *out, whatever that held, to
// its result, a value or an error; false means that the item is filtered out.
// f may be called by several goroutines at once, each with an out of its own.
func TryFunc[A, B any](f func(ctx context.Context, item Try[A], out *Try[B]) (keep bool)) Func[A, B] {
	return Func[A, B]{try: f}
}

// passing is a TryFunc that passes errors unchanged.
func passing[A, B any](f func(ctx context.Context, item Try[A], out *Try[B]) (keep bool)) Func[A, B] {
	return Func[A, B]{try: f, pass: true}
}

// Call does f to one item, as the engines of this package do, for one of
// another package: it sets *out, whatever that held, and reports whether f keeps
// the item. An error passes where f is not for errors. What f panics with goes
// through.
func (f Func[A, B]) Call(ctx context.Context, item *Try[A], out *Try[B]) (keep bool) {
	return f.call(ctx, item, out)
}

// IsZero reports whether f is the zero Func, which cannot be called.
func (f Func[A, B]) IsZero() bool { return f.try == nil && f.value == nil }

// call does f to an item.
func (f *Func[A, B]) call(ctx context.Context, a *Try[A], out *Try[B]) (keep bool) {
	if f.value == nil {
		return f.try(ctx, *a, out)
	}
	if a.Error != nil {
		*out = Try[B]{Error: a.Error}
		return true
	}
	if out.Value, out.Error = f.value(ctx, a.Value); out.Error != nil {
		*out = Try[B]{Error: out.Error}
	}
	return true
}

// Transform is the engine of every stage that makes at most one item of each:
// [Map], [Filter], [Catch] and those of package ordered are a line each around
// it. operator names the stage where no [Name] is given, as in "map#2".
//
// n ≥ 1 calls of f run at once. With [Inline] f runs in the goroutine of
// whoever pulls, and order does not matter: items keep it. An order that is
// neither [AnyOrder] nor [InOrder], a bad n and a zero Func panic.
func Transform[A, B any](operator string, in Stream[A], n int, order Order, f Func[A, B], opts ...Option) Stream[B] {
	const fn = "stage.Transform"
	CheckN(fn, n)
	CheckFunc(fn, "f", f.IsZero())
	checkOrder(fn, order)
	c := Configure(fn, opts...)
	c.checkResizable(fn, n)
	if n == Inline {
		return New(func(s *Scope) Reader[B] {
			up := Open(s, in)
			return newInline(s, s.Label(c.Name, operator), up, f, c.RecoverPanics)
		})
	}
	return New(func(s *Scope) Reader[B] { return openCells(s, operator, in, n, order, f, c) })
}

// MapFunc is what [Map] does with an item. Like its siblings it is here for
// packages that run it in an order or an engine of their own. fn names the
// caller's function in the panic about a nil f.
func MapFunc[A, B any](fn string, f func(context.Context, A) (B, error)) Func[A, B] {
	CheckFunc(fn, "f", f == nil)
	return Func[A, B]{value: f, pass: true}
}

// FilterFunc is what [Filter] does with an item; see [MapFunc].
func FilterFunc[A any](fn string, f func(context.Context, A) (bool, error)) Func[A, A] {
	CheckFunc(fn, "f", f == nil)
	return passing(func(ctx context.Context, a Try[A], out *Try[A]) bool {
		if a.Error != nil {
			*out = Try[A]{Error: a.Error}
			return true
		}
		keep, err := f(ctx, a.Value)
		if err != nil {
			*out = Try[A]{Error: err}
			return true
		}
		if keep {
			*out = a
		}
		return keep
	})
}

// FilterMapFunc is what [FilterMap] does with an item; see [MapFunc].
func FilterMapFunc[A, B any](fn string, f func(context.Context, A) (B, bool, error)) Func[A, B] {
	CheckFunc(fn, "f", f == nil)
	return passing(func(ctx context.Context, a Try[A], out *Try[B]) bool {
		if a.Error != nil {
			*out = Try[B]{Error: a.Error}
			return true
		}
		b, keep, err := f(ctx, a.Value)
		if err != nil {
			*out = Try[B]{Error: err}
			return true
		}
		if keep {
			*out = Try[B]{Value: b}
		}
		return keep
	})
}

// CatchFunc is what [Catch] does with an item; see [MapFunc].
func CatchFunc[A any](fn string, f func(context.Context, error) error) Func[A, A] {
	CheckFunc(fn, "f", f == nil)
	return TryFunc(func(ctx context.Context, a Try[A], out *Try[A]) bool {
		if a.Error == nil {
			*out = a
			return true
		}
		*out = Try[A]{Error: f(ctx, a.Error)}
		return out.Error != nil
	})
}
