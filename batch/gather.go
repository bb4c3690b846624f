package batch

import (
	"github.com/seed95b73fdc/sluice/lockfree"
	"github.com/seed95b73fdc/sluice/stage"
)

// maxLate bounds what is read of a cancelled run, for errors that were there
// before: its readers end by themselves, but one of another make might not.
const maxLate = 1024

// gather is the stream of the batches that a gatherer makes of in. open is how
// many batches it has open at most.
func gather[T any](operator string, in stage.Stream[T], c settings, open int, begin func(*stage.Scope, *outbox[T], *stock[T]) gatherer[T], r rules[T]) stage.Stream[[]T] {
	return stage.New(func(s *stage.Scope) stage.Reader[[]T] {
		out, st := &outbox[T]{}, &stock[T]{size: r.size, reuse: r.reuse}
		if c.within == 0 {
			r := &gatherReader[T]{scope: s, name: s.Label(c.name, operator), up: stage.Open(s, in), g: begin(s, out, st), out: out, stock: st, refs: lockfree.HoldsPointers[T]()}
			if g, ok := r.g.(*single[T]); ok && g.plain() {
				r.values, _ = r.up.(stage.ValueReader[T])
				r.single = g
			}
			return r
		}
		sub := s.Child()
		return newAged(s, sub, stage.Open(sub, in), s.Label(c.name, operator), c.within, begin(sub, out, st), out, st, open)
	})
}

// gatherReader gathers in the goroutine of whoever pulls.
type gatherReader[T any] struct {
	scope *stage.Scope
	name  string
	up    stage.Reader[T]
	g     gatherer[T]
	out   *outbox[T]
	stock *stock[T]
	buf   []stage.Try[T]
	refs  bool // of T
	ended bool

	values stage.ValueReader[T] // up, if it is one and no function looks at values
	single *single[T]           // g, then
}

func (r *gatherReader[T]) Next(dst []stage.Try[[]T]) int {
	r.stock.back()
	for late := 0; r.out.empty(); {
		if r.ended || late == maxLate {
			return 0
		}
		if r.values != nil {
			if k := r.values.NextValues(r.single.space()); k > 0 {
				r.single.filled(k)
				continue
			}
		}
		room := r.g.room(len(dst))
		if len(r.buf) < room {
			r.buf = make([]stage.Try[T], room)
		}
		k := r.up.Next(r.buf[:room])
		if k == 0 {
			r.end()
			continue
		}
		r.take(r.buf[:k])
		if r.refs {
			clear(r.buf[:k])
		}
		if r.scope.Stopped() {
			late++
		}
	}
	k := r.out.give(dst)
	r.stock.out(dst[:k])
	return k
}

func (r *gatherReader[T]) take(items []stage.Try[T]) {
	defer stage.Tag(r.name)
	r.g.take(items, 0)
}

// end emits what is open, unless the run was cancelled: that is not the end of
// the input.
func (r *gatherReader[T]) end() {
	r.ended = true
	if !r.scope.Stopped() {
		flush(r.g)
	}
}

func (r *gatherReader[T]) Close() {
	r.ended = true
	*r.out = outbox[T]{}
	r.up.Close()
}

// flush closes all open batches, the oldest first.
func flush[T any](g gatherer[T]) {
	for {
		if _, open := g.oldest(); !open {
			return
		}
		g.closeOldest()
	}
}
