package stage

import "context"

// The transforms of this file run in the goroutine of whoever pulls, in order.

// Tap calls f for each value, in order, and passes the value on; errors are
// passed on unseen. f is called when downstream asks, before it has the value.
func Tap[T any, F Effect[T]](in Stream[T], f F) Stream[T] {
	do := effect[T]("stage.Tap", f)
	return Transform("tap", in, Inline, InOrder, passing(func(ctx context.Context, a Try[T], out *Try[T]) bool {
		*out = a
		if a.Error == nil {
			if err := do(ctx, a.Value); err != nil {
				*out = Try[T]{Error: err}
			}
		}
		return true
	}))
}

// stateful is a transform whose function has a state of its own in each run.
func stateful[A, B any](operator string, in Stream[A], f func() func(context.Context, Try[A], *Try[B]) bool) Stream[B] {
	return New(func(s *Scope) Reader[B] {
		up := Open(s, in)
		return newInline(s, s.Label("", operator), up, passing(f()), false)
	})
}

// Drop passes on all but the first k values. Errors are passed on and do not
// count.
func Drop[T any](in Stream[T], k int) Stream[T] {
	CheckSize("stage.Drop", "k", k, 0)
	return stateful("drop", in, func() func(context.Context, Try[T], *Try[T]) bool {
		left := k
		return func(_ context.Context, a Try[T], out *Try[T]) bool {
			*out = a
			if a.Error != nil || left == 0 {
				return true
			}
			left--
			return false
		}
	})
}

// DropWhile passes on everything from the first value on for which pred is
// false, and the errors before it.
func DropWhile[T any, P Predicate[T]](in Stream[T], pred P) Stream[T] {
	test := predicate[T]("stage.DropWhile", pred)
	return stateful("dropwhile", in, func() func(context.Context, Try[T], *Try[T]) bool {
		dropping := true
		return func(ctx context.Context, a Try[T], out *Try[T]) bool {
			*out = a
			if a.Error != nil || !dropping {
				return true
			}
			drop, err := test(ctx, a.Value)
			if err != nil {
				*out = Try[T]{Error: err}
				return true
			}
			dropping = drop
			return !drop
		}
	})
}

// Scan emits the state after each value, starting from init: the running
// result of a fold. Errors are passed on and leave the state as it is, as does
// an error of f. A run starts from init itself, not from a copy.
func Scan[T, S any, F Fold[S, T]](in Stream[T], init S, f F) Stream[S] {
	step := fold[S, T]("stage.Scan", f)
	return stateful("scan", in, func() func(context.Context, Try[T], *Try[S]) bool {
		state := init
		return func(ctx context.Context, a Try[T], out *Try[S]) bool {
			if a.Error != nil {
				*out = Try[S]{Error: a.Error}
				return true
			}
			next, err := step(ctx, state, a.Value)
			if err != nil {
				*out = Try[S]{Error: err}
				return true
			}
			state = next
			*out = Try[S]{Value: state}
			return true
		}
	})
}

// Take passes on the first k values, and the errors among them, which do not
// count, and then ends: upstream is cancelled as soon as the k-th value is there.
// It asks upstream for no more than is missing; with k = 0, for nothing.
func Take[T any](in Stream[T], k int) Stream[T] {
	CheckSize("stage.Take", "k", k, 0)
	return takeUntil("take", in, k, nil)
}

// TakeWhile passes on the values before the first one for which pred is false,
// and the errors among them, and then ends: upstream is cancelled.
func TakeWhile[T any, P Predicate[T]](in Stream[T], pred P) Stream[T] {
	return takeUntil("takewhile", in, -1, predicate[T]("stage.TakeWhile", pred))
}

func takeUntil[T any](operator string, in Stream[T], k int, pred func(context.Context, T) (bool, error)) Stream[T] {
	return New(func(s *Scope) Reader[T] {
		sub := s.Child()
		up := Open(sub, in)
		return &takeReader[T]{scope: s, sub: sub, up: up, left: k, pred: pred, name: s.Label("", operator), pace: pace{grain: 1}}
	})
}

type takeReader[T any] struct {
	scope *Scope
	sub   *Scope // upstream's
	up    Reader[T]
	left  int // values to come, < 0: no limit
	pred  func(context.Context, T) (bool, error)
	name  string
	ended bool
	pace  pace // of pred
}

func (r *takeReader[T]) Next(dst []Try[T]) int {
	if r.left == 0 && !r.ended {
		r.end()
	}
	if r.ended {
		return 0
	}
	if r.left > 0 {
		dst = dst[:min(len(dst), r.left)]
	}
	if r.pred != nil {
		dst = dst[:min(len(dst), r.pace.grain)]
	}
	for range maxLate {
		got := r.up.Next(dst)
		r.pace.start()
		k, end := r.pass(dst[:got])
		r.pace.took(got)
		if end {
			r.end()
		}
		if k > 0 || end || got == 0 {
			return k
		}
	}
	return 0
}

// pass looks at what came and returns how much of it goes on, and whether that
// is all. Once the run is cancelled, pred is not called any more, but an error
// that is there goes on.
func (r *takeReader[T]) pass(items []Try[T]) (k int, end bool) {
	defer Tag(r.name)
	for i := range items {
		if items[i].Error != nil {
			continue
		}
		if r.pred != nil {
			if r.scope.Stopped() {
				return i + onlyErrors(items[i:]), false
			}
			ok, err := r.pred(r.scope.ctx, items[i].Value)
			if err != nil {
				items[i] = Try[T]{Error: err}
				continue
			}
			if !ok {
				clear(items[i:])
				return i, true
			}
		}
		if r.left > 0 {
			if r.left--; r.left == 0 {
				return i + 1, true
			}
		}
	}
	return len(items), false
}

// onlyErrors moves the errors among items to the front, and returns how many.
func onlyErrors[T any](items []Try[T]) (k int) {
	for i := range items {
		if items[i].Error != nil {
			items[k] = items[i]
			k++
		}
	}
	clear(items[k:])
	return k
}

// end cancels upstream, but leaves the waiting for it to Close: the last items
// need not wait for calls that do not heed their context.
func (r *takeReader[T]) end() {
	r.ended = true
	r.sub.Cancel(ErrClosed)
}

func (r *takeReader[T]) Close() {
	r.sub.Cancel(ErrClosed)
	r.up.Close()
}

// Concat emits the streams one after the other: all items of the first, then
// those of the second, and so on. Each is closed before the next one is read; an
// error ends none. Concat of nothing is empty.
func Concat[T any](ins ...Stream[T]) Stream[T] {
	return New(func(s *Scope) Reader[T] {
		r := &concatReader[T]{}
		for _, in := range ins {
			r.ups = append(r.ups, Open(s, in))
		}
		r.scope = s
		return r
	})
}

type concatReader[T any] struct {
	scope *Scope
	ups   []Reader[T]
}

func (r *concatReader[T]) Next(dst []Try[T]) int {
	for len(r.ups) > 0 {
		if got := r.ups[0].Next(dst); got > 0 {
			return got
		}
		if r.scope.Stopped() {
			return 0 // that was not its end
		}
		r.ups[0].Close()
		r.ups = r.ups[1:]
	}
	return 0
}

func (r *concatReader[T]) Close() {
	for _, up := range r.ups {
		up.Close()
	}
	r.ups = nil
}

// Zip pairs the i-th value of a with the i-th of b, and ends with the shorter
// one, closing the other. Errors of either side are passed on when they are
// met and take no partner.
func Zip[A, B any](a Stream[A], b Stream[B]) Stream[Pair[A, B]] {
	return New(func(s *Scope) Reader[Pair[A, B]] {
		sub := s.Child()
		return &zipReader[A, B]{sub: sub, a: half[A]{up: Open(sub, a)}, b: half[B]{up: Open(sub, b)}}
	})
}

// half is one input of a Zip, with what came from it and has no partner yet.
type half[T any] struct {
	up  Reader[T]
	buf []Try[T]
	at  int
	end int
}

// next returns the first item that waits, or nil at the end of the input.
func (h *half[T]) next(room int) *Try[T] {
	if h.at == h.end {
		if len(h.buf) < room {
			h.buf = make([]Try[T], room)
		}
		h.at, h.end = 0, h.up.Next(h.buf[:room])
		if h.end == 0 {
			return nil
		}
	}
	return &h.buf[h.at]
}

type zipReader[A, B any] struct {
	sub   *Scope
	a     half[A]
	b     half[B]
	ended bool
}

func (r *zipReader[A, B]) Next(dst []Try[Pair[A, B]]) (k int) {
	room := min(len(dst), maxGrain)
	for k < len(dst) && !r.ended {
		if k > 0 && (r.a.at == r.a.end || r.b.at == r.b.end) {
			break // more would have to be waited for
		}
		a := r.a.next(room)
		if a != nil && a.Error != nil {
			dst[k] = Try[Pair[A, B]]{Error: a.Error}
			k++
			*a = Try[A]{}
			r.a.at++
			continue
		}
		var b *Try[B]
		if a != nil {
			b = r.b.next(room)
		}
		switch {
		case b == nil:
			r.ended = true
			r.sub.Cancel(ErrClosed)
			continue
		case b.Error != nil:
			dst[k] = Try[Pair[A, B]]{Error: b.Error}
		default:
			dst[k] = Try[Pair[A, B]]{Value: Pair[A, B]{a.Value, b.Value}}
			*a = Try[A]{}
			r.a.at++
		}
		k++
		*b = Try[B]{}
		r.b.at++
	}
	return k
}

func (r *zipReader[A, B]) Close() {
	r.ended = true
	r.sub.Cancel(ErrClosed)
	r.a.up.Close()
	r.b.up.Close()
}
