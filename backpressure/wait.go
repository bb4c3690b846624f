package backpressure

import (
	"context"
	"runtime"
	"sync/atomic"
)

// Everything in this package that waits, waits here: it looks again after a yield, a
// few times, and then parks. Invariants:
//
//   - The waiting side arms, looks at its condition once more, and then parks. The
//     waking side makes the condition true, and then wakes. All with sequentially
//     consistent atomics or under a lock: so either the waiting side sees the
//     condition, or the waking side sees that it is armed. No wake-up is lost.
//   - One arm leads to at most one wake-up, and the channel has room for it: wake never
//     blocks, and a wake-up that comes too late finds nobody and does nothing.
//   - Whoever leaves without having been woken (a context is done) is not armed any
//     more, and the channel is empty: nothing is left behind for the next wait.

// spins is how often a goroutine yields before it parks. Yields are counted, not
// timed, so that they end in a synctest bubble too, and each lets the others run where
// there is one processor.
const spins = 16

const (
	idle uint32 = iota
	armed
	woken
)

// waiter is where one goroutine at a time waits. Anyone may wake it.
type waiter struct {
	state atomic.Uint32
	ch    chan struct{}
}

func newWaiter() *waiter { return &waiter{ch: make(chan struct{}, 1)} }

// arm announces a wait: a wake from now on is not lost.
func (w *waiter) arm() { w.state.Store(armed) }

// disarm takes an arm back.
func (w *waiter) disarm() {
	if !w.state.CompareAndSwap(armed, idle) {
		<-w.ch // it has been sent, or is about to be
		w.state.Store(idle)
	}
}

// wake releases the goroutine if it has armed. Never blocks.
func (w *waiter) wake() {
	if w.state.Load() == armed && w.state.CompareAndSwap(armed, woken) {
		pause()
		w.ch <- struct{}{}
	}
}

// park blocks until wake, counted from arm, or until ctx is done. It reports whether
// there was a wake; either way it is not armed any more.
func (w *waiter) park(ctx context.Context) bool {
	select {
	case <-w.ch:
		w.state.Store(idle)
		return true
	case <-ctx.Done():
		pause()
		if w.state.CompareAndSwap(armed, idle) {
			return false
		}
		<-w.ch
		w.state.Store(idle)
		return true
	}
}

// await blocks until ready reports true or ctx is done; it returns nil or the cause.
// Whatever makes ready true has to be followed by a wake.
func (w *waiter) await(ctx context.Context, ready func() bool) error {
	for range spins {
		if ready() {
			return nil
		}
		runtime.Gosched()
	}
	for {
		w.arm()
		pause()
		if ready() {
			w.disarm()
			return nil
		}
		pause()
		if !w.park(ctx) {
			return context.Cause(ctx)
		}
	}
}
