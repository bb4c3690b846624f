package backpressure

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/seed95b73fdc/sluice/lockfree"
)

// The padded semaphore: one word for everyone who need not wait, a queue under a lock
// for the others. Invariants:
//
//   - word is free<<1 | waiting. free is limit minus the permits in use; it is negative
//     after a Resize to fewer than are in use.
//   - While waiting is set nobody takes permits but admit, which holds the lock and
//     gives them to the head of the queue. So free can only grow behind its back, and
//     nobody overtakes.
//   - If the queue is not empty, waiting is set, and its head does not fit into free,
//     or whoever has made it fit (Release, Resize, a Ticket that left) is about to
//     take the lock and admit it. For: Release adds to free and reads waiting in one
//     step. Either it comes before waiting was set, then the one who queued, who looks
//     at free after that, sees the permits; or it comes after, then it sees waiting.
//   - limit and free never disagree in a way that would let a Release of too much
//     pass: a larger limit is published after the larger free, a smaller one before
//     the smaller; and where the two look wrong, the lock decides.
//
// The lock is held for some steps and never while somebody waits.
//
// Where two goroutines use the word all the time, each access fetches its line from the
// other core, and both get on at the pace of that. So whoever takes permits, and finds that
// the word has changed under its hands, keeps off it for a moment, in which the other one
// has the line and goes several rounds. Who gives permits back does not: others may be
// waiting for them.

const waiting int64 = 1 // of word

const apart = 2048 // steps of about a cycle for which to keep off the word

// PaddedSemaphore is a [Semaphore] whose uncontended Acquire and Release are one
// compare-and-swap each on a word that has its cache lines for itself. Where another call
// comes in between, an Acquire or TryAcquire tries again after 2,048 steps of about a
// cycle. Only who has to wait takes a lock, and allocates a place in the queue.
type PaddedSemaphore struct {
	word  lockfree.Padded[atomic.Int64]
	limit atomic.Int64

	mu         sync.Mutex
	head, tail *Ticket
}

// NewPadded returns a [PaddedSemaphore] of n permits. It panics unless n is at least 1.
func NewPadded(n int) *PaddedSemaphore {
	check("NewPadded", "n", n, 1, maxPermits)
	s := &PaddedSemaphore{}
	s.limit.Store(int64(n))
	s.word.Value.Store(int64(n) << 1)
	return s
}

// take takes n permits if there are as many and nobody waits. It reports whether
// somebody does, too.
func (s *PaddedSemaphore) take(n int64) (taken, queued bool) {
	for {
		w := s.word.Value.Load()
		if w&waiting != 0 {
			return false, true
		}
		if w>>1 < n {
			return false, false
		}
		if s.word.Value.CompareAndSwap(w, w-n<<1) {
			return true, false
		}
		for range apart {
		}
	}
}

// TryAcquire implements [Semaphore].
func (s *PaddedSemaphore) TryAcquire(n int) bool {
	checkPermits("TryAcquire", n)
	taken, queued := s.take(int64(n))
	if !queued {
		return taken
	}
	// Who is in the queue may have been served by now, or only be looking.
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.head != nil {
		return false
	}
	taken, _ = s.take(int64(n))
	return taken
}

// Acquire implements [Semaphore].
func (s *PaddedSemaphore) Acquire(ctx context.Context, n int) error {
	checkPermits("Acquire", n)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for i := range spins {
		taken, queued := s.take(int64(n))
		if taken && i == 0 {
			return nil
		}
		if taken {
			return s.unlessDone(ctx, n)
		}
		if queued || int64(n) > s.limit.Load() {
			break
		}
		runtime.Gosched()
	}
	pause()
	w := newWaiter()
	w.arm()
	t := s.Enqueue(n, w.wake)
	for {
		granted, err := t.Granted()
		if err != nil {
			return err
		}
		if granted {
			return s.unlessDone(ctx, n)
		}
		pause()
		if !w.park(ctx) {
			t.Done()
			return context.Cause(ctx)
		}
	}
}

// unlessDone gives n permits back, and returns the cause, if ctx is done by now: who
// released them may have done so because it is.
func (s *PaddedSemaphore) unlessDone(ctx context.Context, n int) error {
	if ctx.Err() == nil {
		return nil
	}
	s.Release(n)
	return context.Cause(ctx)
}

// Release implements [Semaphore].
func (s *PaddedSemaphore) Release(n int) {
	checkPermits("Release", n)
	for {
		w := s.word.Value.Load()
		if w&waiting != 0 || int64(n) > s.limit.Load()-w>>1 {
			break
		}
		pause()
		if s.word.Value.CompareAndSwap(w, w+int64(n)<<1) {
			return
		}
	}
	pause()
	s.mu.Lock()
	if inUse := s.inUse(); int64(n) > inUse {
		s.mu.Unlock()
		overRelease(n, inUse)
	}
	s.word.Value.Add(int64(n) << 1)
	s.admitUnlock()
}

// Resize implements [Semaphore].
func (s *PaddedSemaphore) Resize(n int) {
	check("PaddedSemaphore.Resize", "n", n, 1, maxPermits)
	s.mu.Lock()
	more := int64(n) - s.limit.Load()
	if more < 0 {
		s.limit.Store(int64(n))
	}
	pause()
	s.word.Value.Add(more << 1)
	s.limit.Store(int64(n))
	s.admitUnlock()
}

// inUse is exact if the lock is held and nobody acquires or releases.
func (s *PaddedSemaphore) inUse() int64 { return s.limit.Load() - s.word.Value.Load()>>1 }

// Limit implements [Semaphore].
func (s *PaddedSemaphore) Limit() int { return int(s.limit.Load()) }

// InUse implements [Semaphore].
func (s *PaddedSemaphore) InUse() int {
	s.mu.Lock() // no Resize is half done
	defer s.mu.Unlock()
	return int(s.inUse())
}
