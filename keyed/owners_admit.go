package keyed

import "context"

// Admission. books counts what has been admitted and has not ended. Whoever wants
// in adds 1, and is in if slowRoad was not set and the sum is within the window;
// else takes it back and queues. Whoever ends takes 1 off, and looks after the
// queue if slowRoad is set.
//
// Invariants:
//
//   - slowRoad is set, under mu, while somebody queues, or is about to, while the
//     Owners are paused or closed. So nobody overtakes the queue, nothing is
//     admitted while Resize moves the states, nor after Close.
//   - An admission counts only if its own addition was within the window: so there
//     are never more, although those who take theirs back make the sum larger for a
//     moment. They look after the queue then, as whoever ends does.
const slowRoad = 1 << 62

// admission is a caller in the queue.
type admission struct {
	in  chan struct{} // closed when it has its answer
	err error
}

func (o *Owners[K, S]) admit(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if o.books.Add(1) <= o.most {
		return nil
	}
	o.leave()
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return ErrClosed
	}
	a := &admission{in: make(chan struct{})}
	o.queue = append(o.queue, a)
	o.books.Or(slowRoad)
	o.pump()
	o.mu.Unlock()
	select {
	case <-a.in:
		return a.err
	case <-ctx.Done():
	}
	o.mu.Lock()
	for i, b := range o.queue {
		if a == b {
			o.queue = append(o.queue[:i], o.queue[i+1:]...)
			o.pump()
			o.mu.Unlock()
			return context.Cause(ctx)
		}
	}
	o.mu.Unlock()
	if a.err == nil {
		o.leave() // admitted at the same moment
		return context.Cause(ctx)
	}
	return a.err
}

// leave ends an admission.
func (o *Owners[K, S]) leave() {
	if o.books.Add(-1)&slowRoad != 0 {
		o.mu.Lock()
		o.pump()
		o.mu.Unlock()
	}
}

// pump admits who queues, as far as there is room, and tells those who wait for the
// end. Under mu.
func (o *Owners[K, S]) pump() {
	for len(o.queue) > 0 && !o.paused {
		a := o.queue[0]
		if o.closed {
			a.err = ErrClosed
		} else if o.books.Add(1)&^slowRoad > o.most {
			o.books.Add(-1)
			break
		}
		o.queue[0] = nil
		o.queue = o.queue[1:]
		close(a.in)
	}
	if len(o.queue) == 0 && !o.paused && !o.closed {
		o.books.And(^slowRoad)
		return
	}
	if o.books.Load()&^slowRoad != 0 {
		return
	}
	if o.quiet != nil {
		close(o.quiet)
		o.quiet = nil
	}
	if o.closed && o.workers == 0 && !o.ended {
		o.ended = true
		close(o.over)
	}
}
