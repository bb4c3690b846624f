package keyed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// Holder holds partitions for one owner: it acquires their leases, renews them
// while the owner works, stops the work when it can no longer be sure of a lease,
// and hands a partition over without a gap in what has been done: the work
// finishes what it has accepted, then the lease is released, then the next owner
// begins under the next epoch.
//
// A holder is sure of a lease for ttl, less a margin, from the moment at which it
// sent the last request that succeeded, on its own clock. So neither the clock of
// the store nor a slow answer can make it sure for too long. What can is a process
// that is stopped and goes on later: it finds out that the lease is lost, but not
// before the next instruction. For that there is [Fence].
//
// A Holder starts a goroutine for each term, which has ended when Hold returns. Any
// number of goroutines may use it.
type Holder struct {
	store  LeaseStore
	owner  string
	ttl    time.Duration
	renew  time.Duration
	retry  time.Duration
	margin time.Duration

	mu      sync.Mutex // never held while something blocks
	terms   map[*Term]struct{}
	holding int           // calls of Hold
	closing chan struct{} // closed by Close
	idle    chan struct{} // closed when closing, and no call of Hold is left
}

// HolderOption is an option of [NewHolder].
type HolderOption func(*Holder)

// RenewEvery sets how long after a renewal the next one is sent; the default is a
// third of the ttl.
func RenewEvery(d time.Duration) HolderOption {
	checkPositive("keyed.RenewEvery", "d", d)
	return func(h *Holder) { h.renew = d }
}

// RetryEvery sets how long a holder waits before it tries again to acquire a
// partition that is held, or to renew a lease after an error of the store; the
// default is a quarter of the ttl.
func RetryEvery(d time.Duration) HolderOption {
	checkPositive("keyed.RetryEvery", "d", d)
	return func(h *Holder) { h.retry = d }
}

// SafetyMargin sets how long before the end of a lease its holder stops being sure
// of it: for the work to take notice, and for clocks that do not run at the same
// speed. The default is a tenth of the ttl. With the time between renewals it must
// be less than the ttl.
func SafetyMargin(d time.Duration) HolderOption {
	checkPositive("keyed.SafetyMargin", "d", d)
	return func(h *Holder) { h.margin = d }
}

// NewHolder returns a holder for owner, a name that no other process has, nor an
// earlier run of the same one. Its leases last for ttl; that is how long a
// partition stays without an owner if the process dies.
func NewHolder(store LeaseStore, owner string, ttl time.Duration, opts ...HolderOption) *Holder {
	const (
		fn                        = "keyed.NewHolder"
		renewals, retries, spares = 3, 4, 10 // parts of the ttl
	)
	stage.CheckFunc(fn, "store", store == nil)
	if owner == "" {
		panic(fn + ": owner is empty")
	}
	checkPositive(fn, "ttl", ttl)
	h := &Holder{
		store: store, owner: owner, ttl: ttl,
		renew: ttl / renewals, retry: ttl / retries, margin: ttl / spares,
		terms:   make(map[*Term]struct{}),
		closing: make(chan struct{}), idle: make(chan struct{}),
	}
	for i, o := range opts {
		if o == nil {
			panic(fmt.Sprintf("%s: option %d is nil", fn, i))
		}
		o(h)
	}
	if h.renew <= 0 || h.retry <= 0 || h.renew >= ttl || h.margin >= ttl-h.renew {
		panic(fmt.Sprintf("%s: ttl is %v, want more than RenewEvery (%v) + SafetyMargin (%v)", fn, ttl, h.renew, h.margin))
	}
	return h
}

func checkPositive(fn, arg string, d time.Duration) {
	if d <= 0 {
		panic(fmt.Sprintf("%s: %s is %v, want more than 0", fn, arg, d))
	}
}

// Hold acquires the partition, calls work once, in the calling goroutine, and
// releases the partition when that has returned. While work runs, the lease is
// renewed.
//
// The context of work ends with the cause ErrLeaseLost as soon as the holder is no
// longer sure of the lease: then work must stop at once, and whatever it still
// writes may meet ErrFenced. It ends with ctx too; the lease is kept until work has
// returned. When Term.Draining is closed, the partition is to be handed over: work
// should accept nothing new, finish what it has accepted, and return.
//
// Hold blocks until the partition is free and work has returned. It returns the
// error of work; [context.Cause], if that is the error of a context that has
// ended, or if ctx ends before work has begun; an error for which errors.Is finds
// ErrLeaseLost, if the lease was lost before work returned; ErrHolderClosed after Close;
// an error of the store, if it cannot be asked for the lease, or fails to
// release it, in which case the partition is free when the lease has expired. A
// panic of work, or of the store, is raised again once the lease is released.
func (h *Holder) Hold(ctx context.Context, partition string, work func(ctx context.Context, term *Term) error) error {
	stage.CheckFunc("keyed.Holder.Hold", "work", work == nil)
	if !h.enter() {
		return ErrHolderClosed
	}
	defer h.leave()
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		sent := time.Now()
		lease, err := h.store.Acquire(ctx, partition, h.owner, h.ttl)
		switch {
		case err == nil:
			t, open := h.begin(ctx, lease, sent.Add(h.ttl-h.margin))
			if open && ctx.Err() == nil && t.Sure() == nil {
				return t.run(work)
			}
			t.end() // acquired too late to be of use
			t.cancel(nil)
		case ctx.Err() != nil && errors.Is(err, ctx.Err()):
			return context.Cause(ctx)
		case !errors.Is(err, ErrHeld):
			return fmt.Errorf("keyed: acquiring %q: %w", partition, err)
		}
		select {
		case <-time.After(h.retry):
		case <-h.closing:
			return ErrHolderClosed
		case <-ctx.Done():
		}
	}
}

// enter counts a call of Hold, unless the holder is closed.
func (h *Holder) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed() {
		return false
	}
	h.holding++
	return true
}

func (h *Holder) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.holding--; h.holding == 0 && h.closed() {
		close(h.idle)
	}
}

// closed is asked with mu held.
func (h *Holder) closed() bool {
	select {
	case <-h.closing:
		return true
	default:
		return false
	}
}

// HandOver asks the work of the partition to finish, by Term.Draining, and blocks
// until it has returned and the lease is released. If ctx ends first, the context
// of the work ends too, and HandOver returns [context.Cause] without waiting any
// longer. With nothing to hand over it returns nil at once. It does not keep a
// further call of Hold from acquiring the partition again.
func (h *Holder) HandOver(ctx context.Context, partition string) error {
	return h.drain(ctx, func(t *Term) bool { return t.partition == partition })
}

// Close hands all partitions over, as HandOver does, and has calls of Hold that
// have not begun their work return ErrHolderClosed, now and in future. It blocks until
// the last Hold is about to return, or ctx ends.
func (h *Holder) Close(ctx context.Context) error {
	h.mu.Lock()
	if !h.closed() {
		close(h.closing)
		if h.holding == 0 {
			close(h.idle)
		}
	}
	h.mu.Unlock()
	if err := h.drain(ctx, func(*Term) bool { return true }); err != nil {
		return err
	}
	select {
	case <-h.idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// drain hands over the terms that match.
func (h *Holder) drain(ctx context.Context, match func(*Term) bool) error {
	h.mu.Lock()
	var terms []*Term
	for t := range h.terms {
		if match(t) {
			t.drain()
			terms = append(terms, t)
		}
	}
	h.mu.Unlock()
	for _, t := range terms {
		select {
		case <-t.ended:
		case <-ctx.Done():
			for _, t := range terms {
				t.cancel(context.Cause(ctx))
			}
			return context.Cause(ctx)
		}
	}
	return nil
}
