package backpressure

import (
	"context"
	"fmt"
	"math"
)

// Semaphore bounds how much is going on at a time: a number of permits, its limit, of
// which each caller acquires one or more and gives them back. All methods may be called
// by anyone, at any time.
//
// Those who have to wait are served in the order in which they began to wait, however
// much they ask for: a large request is not overtaken by small ones. A waiter whose
// context is done takes no permit with it and does not hold up those behind it.
type Semaphore interface {
	// Acquire takes n permits. It blocks until they can be had and all who waited
	// before have been served, or until ctx is done; then it returns the cause, and
	// nothing has been taken. If ctx is done already, or by the time the permits
	// come, nothing is taken either. With ErrTooMany, n is more than the limit. It
	// panics if n is negative.
	Acquire(ctx context.Context, n int) error

	// TryAcquire takes n permits if they can be had at once and nobody waits, and
	// reports whether it has. Never blocks. It panics if n is negative.
	TryAcquire(n int) bool

	// Release gives n permits back and lets those who wait go on. Never blocks. It
	// panics, with the numbers, if fewer than n were taken, or if n is negative.
	Release(n int)

	// Resize changes the limit to n. More permits can be had at once. If there are
	// to be fewer, nobody is interrupted: none is given out until enough have come
	// back. Who waits for more than n gets ErrTooMany. Never blocks. It panics unless
	// n is at least 1.
	Resize(n int)

	// Limit returns the number of permits, taken or not.
	Limit() int

	// InUse returns how many permits are taken. It is more than Limit for a while
	// after a Resize to fewer.
	InUse() int
}

// maxPermits leaves room for a bit beside the number of free permits.
const maxPermits = math.MaxInt / 4

func tooMany(n int, limit int64) error {
	return fmt.Errorf("%w: %d of %d", ErrTooMany, n, limit)
}

func overRelease(n int, inUse int64) {
	panic(fmt.Sprintf("backpressure: Release(%d) with %d permits in use", n, inUse))
}
