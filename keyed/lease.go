package keyed

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Lease says that a partition belongs to an owner until a moment, unless it is
// renewed.
type Lease struct {
	Partition string
	Owner     string
	// Epoch numbers the terms of the partition from 1 on, whoever holds it. What
	// is written under a lower one than that of the present term is late; see Fence.
	Epoch uint64
	// Expires is by the clock of the store. Whoever holds the lease must not rely
	// on it: clocks differ, and step. A Holder counts from the moment of its
	// request, on its own clock.
	Expires time.Time
}

// LeaseStore is where leases are kept. All who compete for a partition use the same
// one; it decides by its own clock alone. [MemoryLeases] is one for a single
// process; one over a database does each method in a transaction, or by comparing
// and swapping a revision. Methods may be called by any number of goroutines, and
// have to return when their context ends.
//
// An error other than those below means that the outcome is unknown: the request
// may have been carried out.
type LeaseStore interface {
	// Acquire gives the partition to owner for ttl, if it has no lease, or one that
	// has expired or been released, under an epoch that is one higher than any
	// before: that has to outlast leases, owners, and the store's own restart. If
	// the partition is held, by a lease of that very owner too, it returns a
	// *HeldError: the store cannot know that the two are the same process.
	Acquire(ctx context.Context, partition, owner string, ttl time.Duration) (Lease, error)
	// Renew makes the lease expire ttl from now, under the same epoch, and returns
	// it. If it is not the partition's present lease, or has expired or been
	// released, that stays so, and Renew returns ErrLeaseLost.
	Renew(ctx context.Context, lease Lease, ttl time.Duration) (Lease, error)
	// Release ends the lease, so that the partition can be acquired at once. If it
	// is not the partition's present lease, or has expired or been released,
	// Release changes nothing and returns ErrLeaseLost.
	Release(ctx context.Context, lease Lease) error
}

// Returned by lease stores, holders and fences.
var (
	// ErrHeld is what a *HeldError is: the partition has another lease.
	ErrHeld = errors.New("keyed: partition is held")
	// ErrLeaseLost is returned for a lease that is not valid any more, and is the
	// cause of the end of a term's context when its holder can no longer be sure.
	ErrLeaseLost = errors.New("keyed: lease lost")
	// ErrFenced is returned for an epoch that is lower than one that the fence has
	// seen: a later owner has the partition.
	ErrFenced = errors.New("keyed: stale epoch fenced off")
	// ErrHolderClosed is returned by Hold for a partition whose work has not begun
	// because the holder was closed.
	ErrHolderClosed = errors.New("keyed: holder closed")
)

// HeldError is returned by Acquire for a partition that has a lease; errors.Is
// finds ErrHeld in it.
type HeldError struct {
	Lease Lease // the one that the partition has
}

// Error says who holds what.
func (e *HeldError) Error() string {
	return fmt.Sprintf("%v: %q by %q in epoch %d", ErrHeld, e.Lease.Partition, e.Lease.Owner, e.Lease.Epoch)
}

// Unwrap returns ErrHeld.
func (e *HeldError) Unwrap() error { return ErrHeld }
