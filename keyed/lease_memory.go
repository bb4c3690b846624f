package keyed

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// MemoryLeases is a LeaseStore in memory, for owners within one process and for
// tests. It remembers the epoch of every partition that it has seen. Its methods
// never block.
type MemoryLeases struct {
	now func() time.Time

	mu     sync.Mutex
	leases map[string]Lease // Owner is "" when it has been released
}

// LeaseOption is an option of [NewMemoryLeases].
type LeaseOption func(*MemoryLeases)

// LeaseClock has the store ask now for the time instead of time.Now, for instance
// to see what happens when its clock steps.
func LeaseClock(now func() time.Time) LeaseOption {
	stage.CheckFunc("keyed.LeaseClock", "now", now == nil)
	return func(m *MemoryLeases) { m.now = now }
}

// NewMemoryLeases returns a store without leases.
func NewMemoryLeases(opts ...LeaseOption) *MemoryLeases {
	m := &MemoryLeases{now: time.Now, leases: make(map[string]Lease)}
	for i, o := range opts {
		if o == nil {
			panic(fmt.Sprintf("keyed.NewMemoryLeases: option %d is nil", i))
		}
		o(m)
	}
	return m
}

// Acquire implements LeaseStore. A ttl that is not positive, or an empty owner, is
// an error.
func (m *MemoryLeases) Acquire(ctx context.Context, partition, owner string, ttl time.Duration) (Lease, error) {
	const fn = "keyed.MemoryLeases.Acquire"
	if owner == "" {
		return Lease{}, fmt.Errorf("%s: owner is empty", fn)
	}
	if err := checkLease(ctx, fn, ttl); err != nil {
		return Lease{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now, last := m.now(), m.leases[partition]
	if last.validAt(now) {
		return Lease{}, &HeldError{last}
	}
	l := Lease{partition, owner, last.Epoch + 1, now.Add(ttl)}
	m.leases[partition] = l
	return l, nil
}

// Renew implements LeaseStore. A ttl that is not positive is an error.
func (m *MemoryLeases) Renew(ctx context.Context, lease Lease, ttl time.Duration) (Lease, error) {
	if err := checkLease(ctx, "keyed.MemoryLeases.Renew", ttl); err != nil {
		return Lease{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if !m.isCurrent(lease, now) {
		return Lease{}, m.lost(lease)
	}
	lease.Expires = now.Add(ttl)
	m.leases[lease.Partition] = lease
	return lease, nil
}

// Release implements LeaseStore.
func (m *MemoryLeases) Release(ctx context.Context, lease Lease) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.isCurrent(lease, m.now()) {
		return m.lost(lease)
	}
	m.leases[lease.Partition] = Lease{Partition: lease.Partition, Epoch: lease.Epoch}
	return nil
}

// Lookup returns the lease that the partition has and true, or, where it is free,
// its last epoch and false.
func (m *MemoryLeases) Lookup(partition string) (Lease, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.leases[partition]
	return l, l.validAt(m.now())
}

func checkLease(ctx context.Context, fn string, ttl time.Duration) error {
	if ttl <= 0 {
		return fmt.Errorf("%s: ttl is %v, want more than 0", fn, ttl)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// validAt is decided by the recorded moment, not by anybody having noticed it.
func (l Lease) validAt(now time.Time) bool { return l.Owner != "" && now.Before(l.Expires) }

func (m *MemoryLeases) isCurrent(lease Lease, now time.Time) bool {
	l := m.leases[lease.Partition]
	return l.validAt(now) && l.Epoch == lease.Epoch && l.Owner == lease.Owner
}

func (m *MemoryLeases) lost(lease Lease) error {
	return fmt.Errorf("%w: %q in epoch %d; the last is %d", ErrLeaseLost, lease.Partition, lease.Epoch, m.leases[lease.Partition].Epoch)
}
