package ordered

import "github.com/seed95b73fdc/sluice/stage"

// turns is Cond. Items are numbered as they are taken, and turn is the number of
// the one that may write. Whoever has another number waits on the condition
// variable that turn has changed; whoever has written adds one to turn and wakes
// all of them. All but one find that it was not their turn and wait again: with n
// workers, up to n-1 are woken for each item.
//
// In the textbook it is a sync.Cond. Here it is a list of Waiters, so that a
// worker that waits is seen by cancellation and the search for stalls.
//
// Invariant: turn changes under mu, and who waits has seen it under mu and is in
// waiting before mu is free again. So no change is missed.
type turns[B any] struct {
	outlet[B]

	// Under mu.
	next    uint64 // number of the item that will be taken next
	turn    uint64
	waiting []*stage.Waiter
}

func newTurns[B any](d *desk, chunks bool) *turns[B] {
	return &turns[B]{outlet: outlet[B]{desk: d, chunks: chunks}}
}

func (c *turns[B]) enter(t *ticket[B]) {
	t.number = c.next
	c.next++
}

func (c *turns[B]) put(t *ticket[B], w *stage.Waiter, items []stage.Try[B], last bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.turn != t.number {
		if !c.wait(w) {
			return false
		}
	}
	if !c.outlet.put(w, items, last) {
		return false
	}
	if last {
		c.turn++
		c.broadcast()
	}
	return true
}

// wait blocks until the next broadcast; false means that the stage is closed.
// Under mu, which it gives up meanwhile.
func (c *turns[B]) wait(w *stage.Waiter) bool {
	c.waiting = append(c.waiting, w)
	w.Arm()
	c.mu.Unlock()
	ok := w.Park()
	c.mu.Lock()
	return ok
}

// broadcast wakes all who wait. Under mu.
func (c *turns[B]) broadcast() {
	for i, w := range c.waiting {
		w.Wake()
		c.waiting[i] = nil
	}
	c.waiting = c.waiting[:0]
}

func (c *turns[B]) close() {
	c.waiting = nil
	c.forget()
}
