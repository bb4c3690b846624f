package stage

import (
	"context"

	"github.com/seed95b73fdc/sluice/lockfree"
)

// inline runs f in the goroutine of whoever pulls. It takes one item at a time
// until f proves cheap, so that what is done is not held back by what is not.
type inline[A, B any] struct {
	scope   *Scope
	ctx     context.Context
	up      Reader[A]
	f       Func[A, B]
	name    string
	recover bool
	refs    bool
	buf     []Try[A]
	pace    pace
}

func newInline[A, B any](s *Scope, name string, up Reader[A], f Func[A, B], recover bool) *inline[A, B] {
	return &inline[A, B]{scope: s, ctx: s.ctx, up: up, f: f, name: name, recover: recover, refs: lockfree.HoldsPointers[A](), pace: pace{grain: 1}}
}

func (r *inline[A, B]) Next(dst []Try[B]) int {
	room := min(len(dst), r.pace.grain)
	if len(r.buf) < room {
		r.buf = make([]Try[A], room)
	}
	for range maxLate {
		got := r.up.Next(r.buf[:room])
		if got == 0 {
			return 0
		}
		for !r.scope.Stopped() {
			r.pace.start()
			k := r.apply(dst, got)
			r.pace.took(got)
			if k > 0 {
				return k
			}
			if got = r.up.Next(r.buf[:room]); got == 0 {
				return 0
			}
		}
		// f is not called any more, but an error that is there goes on.
		if k := r.errors(dst, r.buf[:got]); k > 0 {
			return k
		}
	}
	return 0
}

// errors copies the errors among items to dst, if f would have passed them.
func (r *inline[A, B]) errors(dst []Try[B], items []Try[A]) (k int) {
	if !r.f.pass {
		return 0
	}
	for i := range items {
		if err := items[i].Error; err != nil {
			dst[k] = Try[B]{Error: err}
			k++
		}
	}
	return k
}

func (r *inline[A, B]) apply(dst []Try[B], got int) (k int) {
	defer Tag(r.name)
	scope, ctx, value := r.scope, r.ctx, r.f.value
	if r.recover {
		value = nil
	}
	buf := r.buf[:got]
	for i := range buf {
		if scope.Stopped() {
			return k + r.errors(dst[k:], buf[i:])
		}
		a, out := &buf[i], &dst[k]
		keep := true
		switch {
		case value != nil && a.Error == nil: // what call does, without the call
			if out.Value, out.Error = value(ctx, a.Value); out.Error != nil {
				*out = Try[B]{Error: out.Error}
			}
		case r.recover:
			keep = r.guarded(a, out)
		default:
			keep = r.f.call(ctx, a, out)
		}
		if keep {
			k++
		}
		if r.refs {
			*a = Try[A]{}
		}
	}
	return k
}

// guarded turns a panic of f into the item's error.
func (r *inline[A, B]) guarded(a *Try[A], out *Try[B]) (keep bool) {
	defer func() {
		if v := recover(); v != nil {
			*out = Try[B]{Error: newPanic(r.name, v)}
			keep = true
		}
	}()
	return r.f.call(r.ctx, a, out)
}

func (r *inline[A, B]) Close() { r.up.Close() }
