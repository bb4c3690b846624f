package backpressure

import (
	"errors"
	"fmt"
)

// Claim is a request for weight that has a place in the queue, for those who have a way
// to wait of their own, such as an operator of package stage. Its methods are for the
// one goroutine that has it; none blocks.
type Claim struct {
	account *Account
	weight  int
	notify  func()
	ticket  *Ticket
	ended   bool
	held    Held
	err     error
}

// Ask begins to wait for weight, on this account. Granted tells whether it is there; when
// there is something new to be learned from that, notify is called, by another goroutine
// or before Ask returns. It must not block. Cancel ends the claim whatever has become of
// it: none may be dropped without it, unless the Held that it was granted has been
// taken over. With ErrWeight weight is negative, with ErrClosed the account is closed.
// It panics if notify is nil.
func (a *Account) Ask(weight int, notify func()) (*Claim, error) {
	if notify == nil {
		panic("backpressure.Account.Ask: notify is nil")
	}
	if weight < 0 {
		return nil, fmt.Errorf("%w: %d", ErrWeight, weight)
	}
	c := &Claim{account: a, weight: weight, notify: notify}
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return nil, ErrClosed
	}
	a.claims[c] = struct{}{}
	a.mu.Unlock()
	c.queue()
	return c, nil
}

// queue takes a place in the queue. An item that weighs more than the whole budget takes
// all of it.
func (c *Claim) queue() {
	sem := c.account.budget.sem
	c.ticket = sem.Enqueue(min(c.weight, sem.Limit()), c.notify)
}

// Granted reports whether the weight has been taken, and returns it. With ErrClosed it
// never will be.
func (c *Claim) Granted() (h Held, ok bool, err error) {
	for !c.ended {
		granted, err := c.ticket.Granted()
		if errors.Is(err, ErrTooMany) { // the budget has become smaller meanwhile
			c.ticket.Done()
			c.queue()
			continue
		}
		if !granted && !c.account.isClosed() {
			return Held{}, false, nil
		}
		c.leave()
		if granted {
			c.held, ok = c.account.note(int(c.ticket.n))
		} else {
			c.ticket.Done()
		}
		if !ok {
			c.err = ErrClosed
		}
	}
	return c.held, c.err == nil, c.err
}

// Cancel leaves the queue, or gives back what has been granted. After the first call it
// does nothing.
func (c *Claim) Cancel() {
	if !c.ended {
		c.leave()
		c.ticket.Done()
		c.err = ErrClosed
	}
	c.held.Release()
}

// leave ends the claim.
func (c *Claim) leave() {
	c.ended = true
	c.account.mu.Lock()
	delete(c.account.claims, c)
	c.account.mu.Unlock()
}

func (a *Account) isClosed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.closed
}
