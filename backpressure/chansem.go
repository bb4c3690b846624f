package backpressure

import (
	"context"
	"sync"
	"sync/atomic"
)

// The channel semaphore: a permit is an element of a channel. Invariants:
//
//   - permits in the channel, plus those in somebody's hand, plus those in use, minus
//     debt, are the limit. Debt is what Resize has taken away and not yet found: who
//     receives a permit while there is debt pays with it.
//   - Who has to wait, or wants more than one, first takes the turn, a channel with
//     room for one. So one of them collects permits at a time, and never do two
//     hold half of what they need. Go's channels serve those who wait in the
//     order in which they came: it is the queue.
//   - While the turn is taken nobody takes permits without having it.

// maxChanPermits is how many a ChanSemaphore may have: each is an element sent.
const maxChanPermits = 1 << 20

// ChanSemaphore is a [Semaphore] made of Go channels. Each permit is one channel
// operation, so it is for counts and not for bytes, up to 1,048,576 of them. What
// a TryAcquire does not get it may miss only because another call is looking at the
// same moment.
type ChanSemaphore struct {
	permits chan struct{}
	turn    chan struct{}
	limit   atomic.Int64
	inUse   atomic.Int64
	debt    atomic.Int64

	mu     sync.Mutex                    // of Resize
	resize atomic.Pointer[chan struct{}] // closed, and another one put in its place
}

// NewChan returns a [ChanSemaphore] of n permits. It panics unless n is 1 to 1,048,576.
// It takes n channel operations.
func NewChan(n int) *ChanSemaphore {
	check("NewChan", "n", n, 1, maxChanPermits)
	s := &ChanSemaphore{permits: make(chan struct{}, maxChanPermits), turn: make(chan struct{}, 1)}
	resize := make(chan struct{})
	s.resize.Store(&resize)
	s.limit.Store(int64(n))
	s.put(n)
	return s
}

// put puts n permits into the channel, which has room for all there can be.
func (s *ChanSemaphore) put(n int) {
	for range n {
		s.permits <- struct{}{}
	}
}

// pay takes up to n off the debt, and returns how much that is.
func (s *ChanSemaphore) pay(n int64) int64 {
	for {
		debt := s.debt.Load()
		part := min(n, debt)
		if part == 0 || s.debt.CompareAndSwap(debt, debt-part) {
			return part
		}
	}
}

// try takes a permit from the channel if there is one that is not owed.
func (s *ChanSemaphore) try() bool {
	for {
		select {
		case <-s.permits:
			pause()
			if s.pay(1) == 0 {
				return true
			}
		default:
			return false
		}
	}
}

// TryAcquire implements [Semaphore].
func (s *ChanSemaphore) TryAcquire(n int) bool {
	checkPermits("TryAcquire", n)
	if n == 0 {
		return true
	}
	if len(s.turn) > 0 || int64(n) > s.limit.Load() {
		return false
	}
	if n > 1 {
		select {
		case s.turn <- struct{}{}:
			defer func() { <-s.turn }()
		default:
			return false
		}
	}
	for got := range n {
		if !s.try() {
			s.put(got)
			return false
		}
	}
	s.inUse.Add(int64(n))
	return true
}

// Acquire implements [Semaphore].
func (s *ChanSemaphore) Acquire(ctx context.Context, n int) error {
	checkPermits("Acquire", n)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if n <= 1 && s.TryAcquire(n) {
		return nil
	}
	turn := s.turn
	for got := 0; got < n; {
		resize := *s.resize.Load() // before the limit is looked at
		if limit := s.limit.Load(); int64(n) > limit {
			s.giveUp(got, turn == nil)
			return tooMany(n, limit)
		}
		permits := s.permits
		if turn != nil {
			permits = nil
		}
		select {
		case turn <- struct{}{}:
			turn = nil
		case <-permits:
			pause()
			if s.pay(1) == 0 {
				got++
			}
		case <-resize:
		case <-ctx.Done():
			s.giveUp(got, turn == nil)
			return context.Cause(ctx)
		}
	}
	if ctx.Err() != nil { // the select may have had the choice
		s.giveUp(n, true)
		return context.Cause(ctx)
	}
	s.inUse.Add(int64(n))
	<-s.turn
	return nil
}

// giveUp puts back the permits that had been collected, and then the turn.
func (s *ChanSemaphore) giveUp(got int, turn bool) {
	s.put(got)
	if turn {
		<-s.turn
	}
}

// Release implements [Semaphore].
func (s *ChanSemaphore) Release(n int) {
	checkPermits("Release", n)
	for {
		inUse := s.inUse.Load()
		if int64(n) > inUse {
			overRelease(n, inUse)
		}
		if s.inUse.CompareAndSwap(inUse, inUse-int64(n)) {
			break
		}
	}
	s.put(n - int(s.pay(int64(n))))
}

// Resize implements [Semaphore]. It takes as many channel operations as the limit
// changes by.
func (s *ChanSemaphore) Resize(n int) {
	check("ChanSemaphore.Resize", "n", n, 1, maxChanPermits)
	s.mu.Lock()
	defer s.mu.Unlock()
	more := int64(n) - s.limit.Load()
	s.limit.Store(int64(n))
	if more > 0 {
		s.put(int(more - s.pay(more)))
		return
	}
	pause()
	s.debt.Add(-more)
	for s.debt.Load() > 0 {
		select {
		case <-s.permits:
			if s.pay(1) == 0 {
				s.put(1)
			}
			continue
		default:
		}
		break
	}
	another := make(chan struct{})
	close(*s.resize.Swap(&another))
}

// Limit implements [Semaphore].
func (s *ChanSemaphore) Limit() int { return int(s.limit.Load()) }

// InUse implements [Semaphore].
func (s *ChanSemaphore) InUse() int { return int(s.inUse.Load()) }
