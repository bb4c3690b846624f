package backpressure

import (
	"context"
	"sync"
)

// Account is a part of a budget's use that ends as a whole: that of one run, say. Close
// gives back whatever has been acquired through it and not been released: of items that
// were filtered out, that failed, or that lay somewhere when the run was cancelled.
//
// All methods may be called by anyone, at any time.
type Account struct {
	budget *Budget

	mu     sync.Mutex // never held while somebody waits
	closed bool
	uses   []use // one for each Held that may be out
	free   []int // indices of uses that are not
	claims map[*Claim]struct{}
	last   func() // called when the last Held has been released, once; may be nil
}

// use is the weight behind a Held. A Held fits as long as the number does, so that
// copies which come too late find that they have been released.
type use struct {
	number uint64
	weight int
	out    bool
}

// Open returns an account of its own.
func (b *Budget) Open() *Account {
	return &Account{budget: b, claims: make(map[*Claim]struct{})}
}

// Acquire is that of [Budget], with the weight on this account. When the account is
// closed, also while it waits, it returns ErrClosed.
func (a *Account) Acquire(ctx context.Context, weight int) (Held, error) {
	if ctx.Err() != nil {
		return Held{}, context.Cause(ctx)
	}
	if h, ok := a.TryAcquire(weight); ok {
		return h, nil
	}
	w := newWaiter()
	c, err := a.Ask(weight, w.wake)
	if err != nil {
		return Held{}, err
	}
	for {
		w.arm()
		h, ok, err := c.Granted()
		if err != nil {
			return Held{}, err
		}
		if ok && ctx.Err() != nil { // who released it may have done so because it is
			h.Release()
			return Held{}, context.Cause(ctx)
		}
		if ok {
			return h, nil
		}
		if !w.park(ctx) {
			c.Cancel()
			return Held{}, context.Cause(ctx)
		}
	}
}

// TryAcquire is that of [Budget], with the weight on this account. It reports false if
// that is closed.
func (a *Account) TryAcquire(weight int) (Held, bool) {
	if weight < 0 {
		return Held{}, false
	}
	sem := a.budget.sem
	weight = min(weight, sem.Limit())
	if !sem.TryAcquire(weight) {
		return Held{}, false
	}
	return a.note(weight)
}

// Close gives back all that has been acquired through the account and not been released,
// and refuses what is still asked for. What is released afterwards has been. Only the
// first call does something. Never blocks.
func (a *Account) Close() {
	a.mu.Lock()
	a.closed = true
	sum := 0
	for i := range a.uses {
		if a.uses[i].out {
			sum += a.uses[i].weight
		}
	}
	claims, last := a.claims, a.last
	a.uses, a.free, a.claims, a.last = nil, nil, nil, nil
	a.mu.Unlock()
	a.budget.sem.Release(sum)
	if last != nil {
		last()
	}
	for c := range claims {
		c.notify()
	}
}

// note makes a Held of a weight that has been acquired. If the account is closed it gives
// that back and reports false.
func (a *Account) note(weight int) (Held, bool) {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		a.budget.sem.Release(weight)
		return Held{}, false
	}
	defer a.mu.Unlock()
	if len(a.free) == 0 {
		a.free = append(a.free, len(a.uses))
		a.uses = append(a.uses, use{})
	}
	slot := a.free[len(a.free)-1]
	a.free = a.free[:len(a.free)-1]
	u := &a.uses[slot]
	u.number, u.weight, u.out = u.number+1, weight, true
	return Held{a, slot, u.number}, true
}

// release gives back what h stands for, the first time.
func (a *Account) release(h Held) bool {
	a.mu.Lock()
	if h.slot >= len(a.uses) || a.uses[h.slot].number != h.number || !a.uses[h.slot].out {
		a.mu.Unlock()
		return false
	}
	weight := a.uses[h.slot].weight
	a.uses[h.slot].out = false
	a.free = append(a.free, h.slot)
	last := a.last
	if len(a.free) < len(a.uses) {
		last = nil
	} else {
		a.last = nil
	}
	a.mu.Unlock()
	a.budget.sem.Release(weight)
	if last != nil {
		last()
	}
	return true
}

// WhenReturned has notify called once when nothing is held any more of what has been
// acquired through the account, by whoever releases the last of it, or closes the
// account; notify must not block. It reports false, and does not call notify, if
// nothing is held now. Of several calls the last one counts. It panics if notify is nil.
func (a *Account) WhenReturned(notify func()) bool {
	if notify == nil {
		panic("backpressure.Account.WhenReturned: notify is nil")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.free) == len(a.uses) {
		return false
	}
	a.last = notify
	return true
}
