package keyed

import (
	"context"

	"github.com/seed95b73fdc/sluice/stage"
)

// Resize changes n, and lays out the lanes anew: callers wait to be admitted, what
// has been admitted is finished, then the states move to their new lanes, and the
// epoch rises. So no function of one epoch runs beside one of another. It blocks
// until that is done. If ctx ends before the states are moved it returns the cause,
// and nothing has changed; after Close it returns [ErrClosed]. It panics unless
// n ≥ 1.
func (o *Owners[K, S]) Resize(ctx context.Context, n int) error {
	const fn = "keyed.Owners.Resize"
	stage.CheckN(fn, n)
	stage.CheckSize(fn, "n", n, 1)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case <-o.resizer:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { o.resizer <- struct{}{} }()
	began := now()
	quiet := make(chan struct{})
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return ErrClosed
	}
	o.paused = true
	o.quiet = quiet
	o.books.Or(slowRoad)
	o.pump()
	o.mu.Unlock()
	var err error
	select {
	case <-quiet:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil && o.closed {
		err = ErrClosed
	}
	if err == nil {
		o.relay(n)
		o.counts.resizes++
		o.counts.resizing += now() - began
	}
	o.quiet = nil
	o.paused = false
	o.pump()
	return err
}

// relay moves the states to a new layout. Under mu, with nothing admitted; so
// nobody has a lane whose queue is not empty, or looks at a state.
func (o *Owners[K, S]) relay(n int) {
	old := o.table.Load()
	t := newOwnersTable[K, S](n, old.epoch+1)
	for i := range old.lanes {
		from := &old.lanes[i]
		o.counts.past += from.done.Load()
		for k, s := range from.states {
			l := &t.lanes[o.hash(k)&uint64(len(t.lanes)-1)]
			if l.states == nil {
				l.states = map[K]*S{}
			}
			l.states[k] = s
			l.keys.Add(1)
		}
	}
	o.n.Store(int64(n))
	o.table.Store(t)
}

// Close admits nothing more, and blocks until what has been admitted is finished
// and every goroutine has ended. It returns the first error of a function given to
// Post, or nil. If ctx ends first it returns the cause, and the work goes on; call it
// again to wait for that. It may be called any number of times, and at once; the
// states are kept, but nothing can reach them any more.
func (o *Owners[K, S]) Close(ctx context.Context) error {
	o.mu.Lock()
	o.closed = true
	o.books.Or(slowRoad)
	o.pump()
	o.mu.Unlock()
	select {
	case <-o.over:
	default:
		select {
		case <-o.over:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failure
}
