package stage

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
)

// Generate emits what f yields. f runs in a goroutine of its own, from the
// first time that an item is asked for; it opens what it needs and closes that
// before it returns. yield blocks until downstream asks for an item, so f is
// never more than one item ahead; it reports false when no more are needed,
// and then f must return. It may be called by the goroutine of f alone.
//
// f's context ends with the run, and when downstream needs no more. An error
// that f returns is the last item, unless it only says that the context has
// ended. The run is over only when f has returned.
func Generate[T any](f func(ctx context.Context, yield func(T) bool) error) Stream[T] {
	CheckFunc("stage.Generate", "f", f == nil)
	return generate("generate", func(ctx context.Context, yield func(Try[T]) bool) error {
		return f(ctx, func(v T) bool { return yield(Try[T]{Value: v}) })
	})
}

// FromSeq emits the values of seq, which is run in a goroutine of its own, as
// the function of [Generate] is; it knows no context, so what blocks in it holds
// up the end of the run. A non-nil err becomes the only item.
func FromSeq[T any](seq iter.Seq[T], err ...error) Stream[T] {
	if e := given("stage.FromSeq", err); e != nil {
		return Failed[T](e)
	}
	CheckFunc("stage.FromSeq", "seq", seq == nil)
	return generate("seq", func(_ context.Context, yield func(Try[T]) bool) error {
		for v := range seq {
			if !yield(Try[T]{Value: v}) {
				break
			}
		}
		return nil
	})
}

// FromSeq2 emits the values of seq, as [FromSeq] does. Where the error of a pair
// is not nil it is the item, and the value is dropped; seq goes on.
func FromSeq2[T any](seq iter.Seq2[T, error]) Stream[T] {
	CheckFunc("stage.FromSeq2", "seq", seq == nil)
	return generate("seq2", func(_ context.Context, yield func(Try[T]) bool) error {
		for v, err := range seq {
			a := Try[T]{Value: v}
			if err != nil {
				a = Try[T]{Error: err}
			}
			if !yield(a) {
				break
			}
		}
		return nil
	})
}

func generate[T any](operator string, f func(context.Context, func(Try[T]) bool) error) Stream[T] {
	return New(func(s *Scope) Reader[T] {
		g := &generator[T]{
			sub: s.Child(), f: f, name: s.Label("", operator),
			ring: make([]Try[T], 1), over: make(chan struct{}),
		}
		g.cons = s.NewWaiter(g.name, func() string { return "its reader waits for an item" })
		return g
	})
}

// generator hands items from the goroutine of f to whoever pulls, through a
// ring. f may fill the ring up to limit, which whoever pulls raises by the room
// that it has and takes back when it leaves. So f is at most one item ahead:
// the one that it was putting into the ring at that very moment.
//
// The consumer waits in cons for tail or over, f in prod for limit.
type generator[T any] struct {
	sub   *Scope
	f     func(context.Context, func(Try[T]) bool) error
	name  string
	over  chan struct{} // closed when f has returned
	cons  *Waiter
	prod  *Waiter
	ring  []Try[T] // holds the largest room and one more
	head  uint64   // the consumer's
	begun bool
	_     pad
	shut  bool          // f's: yield has reported false
	limit atomic.Uint64 // f may write items below it
	_     pad
	tail  atomic.Uint64 // items below it are written
	ended atomic.Bool
	_     pad
}

func (g *generator[T]) begin() {
	g.begun = true
	g.ring = make([]Try[T], 2*maxGrain)
	g.prod = g.sub.NewWaiter(g.name, func() string { return "waits until an item is asked for" })
	g.sub.Go(g.name, func() {
		defer close(g.over)
		defer g.prod.Free()
		ctx := labelled(g.sub.ctx, g.name)
		if err := g.f(ctx, g.yield); err != nil && !g.sub.saysStopped(err) {
			g.put(Try[T]{Error: err}) // nothing comes after it, so it need not be asked for
		}
		// Not deferred: a panic is not the end of the items, and cancels the run.
		g.ended.Store(true)
		g.cons.Wake()
	})
}

// saysStopped reports whether err only says that the context of s has ended.
func (s *Scope) saysStopped(err error) bool {
	return s.Stopped() && (isCancel(err) || sameError(err, context.Cause(s.ctx)))
}

// sameError is errors.Is, but for errors whose values cannot be compared, which
// it panics about: those are of one type, and are taken to be the same.
func sameError(err, target error) (same bool) {
	defer func() {
		if recover() != nil {
			same = true
		}
	}()
	return errors.Is(err, target)
}

// patience is how often the consumer of a generator yields before it leaves
// with less than it has room for: f is cheap, or nobody else wants the processor.
const patience = 4

// yield is called by f.
func (g *generator[T]) yield(a Try[T]) bool {
	t := g.tail.Load()
	for round := 0; t >= g.limit.Load() || g.shut; {
		if g.shut = g.shut || g.sub.Stopped(); g.shut {
			<-g.sub.done // Stopped may be ahead of it, and f looks at its context
			return false
		}
		if yield(&round) {
			continue
		}
		g.prod.Arm()
		if t < g.limit.Load() {
			g.prod.Disarm()
			break
		}
		g.shut = !g.prod.Park()
	}
	g.put(a)
	return true
}

// put adds to the ring, in f's goroutine. There is room: limit is never more
// than half a ring ahead of head.
func (g *generator[T]) put(a Try[T]) {
	t := g.tail.Load()
	g.ring[t%uint64(len(g.ring))] = a
	g.tail.Store(t + 1)
	g.cons.Wake()
}

func (g *generator[T]) Next(dst []Try[T]) int {
	room := min(len(dst), maxGrain)
	if g.sub.Stopped() {
		return g.rest(dst[:room])
	}
	g.limit.Store(g.head + uint64(room))
	if !g.begun {
		g.begin()
	}
	g.prod.Wake()
	for round := 0; ; {
		there := int(g.tail.Load() - g.head)
		if there >= room || (there > 0 && round >= patience) {
			break
		}
		if g.ended.Load() && int(g.tail.Load()-g.head) == there {
			break
		}
		if yield(&round) {
			continue
		}
		g.cons.Arm()
		if g.tail.Load() != g.head || g.ended.Load() {
			g.cons.Disarm()
			continue
		}
		if !g.cons.Park() {
			break
		}
	}
	g.limit.Store(g.head) // first, so that only the item being put can come after
	got := g.take(dst[:room])
	if got == 0 && g.sub.Stopped() {
		return g.rest(dst[:room])
	}
	return got
}

func (g *generator[T]) take(dst []Try[T]) int {
	k := min(len(dst), int(g.tail.Load()-g.head))
	for i := range k {
		slot := &g.ring[(g.head+uint64(i))%uint64(len(g.ring))]
		dst[i] = *slot
		*slot = Try[T]{}
	}
	g.head += uint64(k)
	return k
}

// rest is what a stopped generator has left. After an Until that is all that f
// has yielded: what was accepted is finished.
func (g *generator[T]) rest(dst []Try[T]) int {
	if g.begun {
		<-g.sub.done // Stopped may be ahead of it
		if context.Cause(g.sub.ctx) == ErrUntil {
			select {
			case <-g.over:
			case <-g.sub.run.root.done:
			}
		}
	}
	return g.take(dst)
}

func (g *generator[T]) Close() {
	g.sub.Cancel(ErrClosed)
	g.cons.Free()
	if g.begun && !g.sub.run.await(g.over) {
		return
	}
	g.ring, g.head = make([]Try[T], 1), g.tail.Load()
}
