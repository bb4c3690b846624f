package keyed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Term is one time of holding a partition. Its methods may be called by any
// goroutine, also when it is over, and never block.
//
// Invariants, with sure the moment until which the holder is sure:
//
//   - sure is never later than the send of a request that the store has granted,
//     plus ttl, less the margin.
//   - lost is set once and for good, before ctx ends with ErrLeaseLost; from sure
//     on, Sure reports it whether or not the timer has fired.
//   - The renewer is the only one that asks for renewals; it has ended before the
//     lease is released.
type Term struct {
	holder    *Holder
	partition string
	ctx       context.Context
	cancel    context.CancelCauseFunc

	draining chan struct{} // closed by drain
	drained  bool          // that it is; guarded by the holder's mu
	ended    chan struct{} // closed when the lease has been released

	mu    sync.Mutex
	lease Lease
	sure  time.Time
	timer *time.Timer // fires at sure
	lost  error       // non-nil when the lease is
}

// begin makes the term of a lease that has just been acquired, and reports whether
// the holder is still open.
func (h *Holder) begin(ctx context.Context, lease Lease, sure time.Time) (t *Term, open bool) {
	t = &Term{
		holder: h, partition: lease.Partition, lease: lease, sure: sure,
		draining: make(chan struct{}), ended: make(chan struct{}),
	}
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	t.mu.Lock()
	t.timer = time.AfterFunc(time.Until(sure), t.expire)
	t.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.terms[t] = struct{}{}
	return t, !h.closed()
}

// Lease returns the lease as it was granted last.
func (t *Term) Lease() Lease {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lease
}

// Epoch returns the epoch of the lease, which does not change.
func (t *Term) Epoch() uint64 { return t.Lease().Epoch }

// Draining returns a channel that is closed when the partition is to be handed
// over: the stop for [stage.Until].
func (t *Term) Draining() <-chan struct{} { return t.draining }

// Sure returns nil if the holder is sure of the lease at this moment, and an
// ErrLeaseLost if not. It looks at the clock, and so knows it even where the end of
// the context has not got through yet.
func (t *Term) Sure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.look()
}

// look is Sure with mu held.
func (t *Term) look() error {
	if t.lost == nil && !time.Now().Before(t.sure) {
		t.lose(fmt.Errorf("%w: %q in epoch %d was not renewed in time", ErrLeaseLost, t.partition, t.lease.Epoch))
	}
	return t.lost
}

// lose is called with mu held. Of several reasons the first one counts.
func (t *Term) lose(err error) {
	if t.lost == nil {
		t.lost = err
		t.cancel(err)
	}
}

// expire is the timer's. A renewal may just have moved sure.
func (t *Term) expire() { _ = t.Sure() }

// extend takes note of a renewal, unless it came too late.
func (t *Term) extend(lease Lease, sure time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.look() == nil {
		t.lease.Expires = lease.Expires
		t.sure = sure
		t.timer.Reset(time.Until(sure))
	}
}

// drain is called with the holder's mu held.
func (t *Term) drain() {
	if !t.drained {
		t.drained = true
		close(t.draining)
	}
}

// run calls work while the renewer renews.
func (t *Term) run(work func(context.Context, *Term) error) (err error) {
	defer t.cancel(nil)
	// The end of the term's context does not end the renewals: the lease is needed
	// for as long as work runs.
	ctx, stop := context.WithCancel(context.WithoutCancel(t.ctx))
	panicked := make(chan any, 1)
	go t.renew(ctx, panicked)
	defer func() {
		stop()
		p := <-panicked
		lost, released := t.end()
		switch {
		case p != nil:
			panic(p)
		case lost != nil && (err == nil || errors.Is(err, ErrLeaseLost) || errors.Is(err, t.ctx.Err())):
			err = lost
		case lost != nil:
			err = fmt.Errorf("%w: %w", lost, err)
		case err == nil:
			err = released
		case t.ctx.Err() != nil && errors.Is(err, t.ctx.Err()):
			err = context.Cause(t.ctx)
		}
	}()
	return work(t.ctx, t)
}

// end releases the lease, unless it is lost, and takes the term out of the books.
// Work and renewer have ended. The end of the term's context is no reason to keep
// the next owner waiting; the end of the lease is one to give up.
func (t *Term) end() (lost, released error) {
	t.timer.Stop()
	t.mu.Lock()
	lost, lease, sure := t.look(), t.lease, t.sure
	t.mu.Unlock()
	h := t.holder
	defer func() {
		h.mu.Lock()
		delete(h.terms, t)
		h.mu.Unlock()
		close(t.ended)
	}()
	if lost == nil {
		ctx, cancel := context.WithDeadline(context.WithoutCancel(t.ctx), sure)
		defer cancel()
		if err := h.store.Release(ctx, lease); err != nil {
			released = fmt.Errorf("keyed: releasing %q: %w", t.partition, err)
		}
	}
	return lost, released
}

// renew sends renewals until ctx ends, which says that the work has returned, or
// the lease is lost. It reports the panic of the store, or nil.
func (t *Term) renew(ctx context.Context, panicked chan<- any) {
	h, settled := t.holder, false
	defer func() {
		p := recover()
		if !settled {
			t.mu.Lock()
			t.lose(fmt.Errorf("%w: the renewal of %q ended in a panic or Goexit", ErrLeaseLost, t.partition))
			t.mu.Unlock()
		}
		panicked <- p
	}()
	for wait := h.renew; ; {
		select {
		case <-ctx.Done():
			settled = true
			return
		case <-time.After(wait):
		}
		t.mu.Lock()
		lease, sure := t.lease, t.sure
		t.mu.Unlock()
		request, cancel := context.WithDeadline(ctx, sure)
		sent := time.Now()
		renewed, err := h.store.Renew(request, lease, h.ttl)
		cancel()
		wait = min(h.retry, h.renew)
		switch {
		case err == nil:
			t.extend(renewed, sent.Add(h.ttl-h.margin))
			wait = h.renew
		case errors.Is(err, ErrLeaseLost):
			t.mu.Lock()
			t.lose(err)
			t.mu.Unlock()
		}
		if t.Sure() != nil {
			settled = true
			return
		}
	}
}
