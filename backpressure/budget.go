package backpressure

import "context"

// Budget bounds the weight of what is in flight: bytes, say, over any number of stages.
// Whoever makes an item acquires its weight; where the item ends, by whatever road, the
// weight is given back. An item that weighs more than the whole budget is not refused:
// it passes when nothing else is in flight. Those who wait are served in the order in
// which they began to, as in a [Semaphore].
//
// All methods may be called by anyone, at any time.
type Budget struct {
	sem *PaddedSemaphore
	own *Account
}

// NewBudget returns a budget of limit, in any unit. It panics unless limit is at least 1.
func NewBudget(limit int) *Budget {
	check("NewBudget", "limit", limit, 1, maxPermits)
	b := &Budget{sem: NewPadded(limit)}
	b.own = b.Open()
	return b
}

// Acquire takes weight from the budget. It blocks until that is there, or until ctx is
// done; then it returns the cause, and nothing has been taken. With ErrWeight, weight is
// negative.
func (b *Budget) Acquire(ctx context.Context, weight int) (Held, error) {
	return b.own.Acquire(ctx, weight)
}

// TryAcquire takes weight from the budget if it is there and nobody waits, and reports
// whether it has. A negative weight is never there. Never blocks.
func (b *Budget) TryAcquire(weight int) (Held, bool) { return b.own.TryAcquire(weight) }

// Resize changes the limit. Nobody who has acquired is interrupted. Who waits for more
// than the new limit waits on, at the end of the queue, to pass alone. It panics unless
// limit is at least 1. Never blocks.
func (b *Budget) Resize(limit int) {
	check("Budget.Resize", "limit", limit, 1, maxPermits)
	b.sem.Resize(limit)
}

// Limit returns the budget.
func (b *Budget) Limit() int { return b.sem.Limit() }

// InUse returns the weight in flight. An item heavier than the budget counts as the
// whole of it.
func (b *Budget) InUse() int { return b.sem.InUse() }

// Held is a weight that has been acquired. It is a value that may be copied and sent
// along with its item; all copies stand for the same weight. The zero Held stands for
// none.
type Held struct {
	account *Account
	slot    int
	number  uint64
}

// Release gives the weight back. Only the first call, on any of the copies, does that
// and reports true. It may be called by anyone. Never blocks.
func (h Held) Release() bool {
	if h.account == nil {
		return false
	}
	return h.account.release(h)
}
