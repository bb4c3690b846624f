package backpressure

import (
	"context"

	"github.com/seed95b73fdc/sluice/lockfree"
)

// ring is an SPSC ring with a place to wait on either side. Who waits for whom: the
// sender for room, woken after every take and by Close; the receiver for items, woken
// after every put and by Close. Each looks at the ring itself before it parks, so the
// rules of waiter are all that is needed.
type ring[T any] struct {
	q        *lockfree.SPSC[T]
	hooks    Hooks
	room     *waiter // the sender's
	items    *waiter // the receiver's
	hasRoom  func() bool
	hasItems func() bool
}

func newRing[T any](capacity int, h Hooks) *ring[T] {
	q := lockfree.NewSPSC[T](capacity)
	return &ring[T]{
		q: q, hooks: h, room: newWaiter(), items: newWaiter(),
		hasRoom:  func() bool { return q.Closed() || q.Len() < q.Cap() },
		hasItems: func() bool { return q.Closed() || q.Len() > 0 },
	}
}

func (r *ring[T]) TrySend(items []T) (int, error) {
	n := r.q.Push(items)
	if n > 0 {
		pause()
		r.items.wake()
		r.hooks.Items()
		return n, nil
	}
	if r.q.Closed() {
		return 0, ErrClosed
	}
	return 0, nil
}

func (r *ring[T]) TryRecv(dst []T) (int, error) {
	over := r.q.Closed() // asked before looking: then nothing can come any more
	n := r.q.Pop(dst)
	if n > 0 {
		pause()
		r.room.wake()
		r.hooks.Room()
		return n, nil
	}
	if over && len(dst) > 0 {
		return 0, ErrClosed
	}
	return 0, nil
}

func (r *ring[T]) Send(ctx context.Context, items []T) (int, error) {
	sent := 0
	for {
		if ctx.Err() != nil {
			return sent, context.Cause(ctx)
		}
		n, err := r.TrySend(items[sent:])
		if sent += n; err != nil || sent == len(items) {
			return sent, err
		}
		if err := r.room.await(ctx, r.hasRoom); err != nil {
			return sent, err
		}
	}
}

func (r *ring[T]) Recv(ctx context.Context, dst []T) (int, error) {
	for {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		n, err := r.TryRecv(dst)
		if n > 0 || err != nil || len(dst) == 0 {
			return n, err
		}
		if err := r.items.await(ctx, r.hasItems); err != nil {
			return 0, err
		}
	}
}

func (r *ring[T]) Close() {
	if r.q.Closed() {
		return
	}
	r.q.Close()
	pause()
	r.items.wake()
	r.room.wake()
	r.hooks.Items()
	r.hooks.Room()
}

func (r *ring[T]) Closed() bool { return r.q.Closed() }
func (r *ring[T]) Len() int     { return r.q.Len() }
func (r *ring[T]) Cap() int     { return r.q.Cap() }
