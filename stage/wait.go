package stage

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// Every wait for another goroutine of a run goes through a Waiter. Invariants:
//
//   - live counts the run's goroutines that are not parked. A goroutine that
//     parks takes itself off; whoever wakes it puts it back before it runs.
//     So live is 0 only if all are parked and no wake-up is on its way: then
//     nobody is left who could wake anybody, and the run has stalled.
//   - One Arm leads to at most one wake-up. A Wake that finds the waiter not
//     armed does nothing, so a waker need not know whether it comes too late.
//   - The waiting side arms, looks at its condition once more, and then parks;
//     the waking side makes the condition true, then wakes. All of it with
//     sequentially consistent atomics or under a lock: no wake-up is lost.

const (
	waiterIdle uint32 = iota
	waiterArmed
	waiterParked
	waiterWoken
)

// Waiter is the place where one goroutine of a run waits for another one. It
// is used by one goroutine at a time; Wake may be called by anyone.
//
// The one who waits calls Arm, looks at the condition once more, and then calls
// Park, or Disarm if it need not wait. The other one makes the condition true and
// then calls Wake. Done in this order no wake-up is lost. A Waiter may be used
// again and again.
type Waiter struct {
	run   *run
	scope *Scope
	name  string
	why   func() string
	state atomic.Uint32
	ch    chan struct{}

	prev, next *Waiter // registered, under run.mu
}

// NewWaiter returns a Waiter that is released when the scope's context ends.
// why is asked what the goroutine waits for if the run stalls; the answer
// stands behind the name of the stage ("split#2: branch no is full"), and with
// "" the waiter is left out. It is called by another goroutine and may take locks
// that are not held by parked ones.
func (s *Scope) NewWaiter(name string, why func() string) *Waiter {
	w := &Waiter{run: s.run, scope: s, name: name, why: why, ch: make(chan struct{}, 1)}
	s.run.mu.Lock()
	w.next = s.run.waiters
	if w.next != nil {
		w.next.prev = w
	}
	s.run.waiters = w
	s.run.mu.Unlock()
	return w
}

// Free takes the waiter off the run's books. Call it when its goroutine ends.
func (w *Waiter) Free() {
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	if w.run.waiters == w {
		w.run.waiters = w.next
	} else if w.prev != nil {
		w.prev.next = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
}

// Arm announces a wait: a Wake from now on is not lost. Arm, look at the
// condition again, then Park or Disarm.
func (w *Waiter) Arm() { w.state.Store(waiterArmed) }

// Disarm takes an Arm back.
func (w *Waiter) Disarm() {
	if !w.state.CompareAndSwap(waiterArmed, waiterIdle) {
		<-w.ch
		w.state.Store(waiterIdle)
	}
}

// Park blocks until Wake, counted from Arm, or until the scope's context is
// done; it reports whether there was a Wake. After false there is nothing to
// disarm.
func (w *Waiter) Park() bool {
	if w.state.CompareAndSwap(waiterArmed, waiterParked) {
		if w.run.live.Add(-1) == 0 {
			w.run.stall()
		}
	}
	select {
	case <-w.ch:
		w.state.Store(waiterIdle)
		return true
	case <-w.scope.done:
	}
	w.run.live.Add(1) // first, so that who is not seen as parked is counted
	if w.state.CompareAndSwap(waiterParked, waiterIdle) {
		return false
	}
	w.run.live.Add(-1) // whoever woke it has counted it
	w.Disarm()         // both at once: what the Wake was for is not to be lost
	return true
}

// ParkUntil is Park with a second way out: it also returns, with fired set, when
// timer has sent. What waits for a timer is not stuck, and no run is taken for
// stalled because of it.
func (w *Waiter) ParkUntil(timer <-chan time.Time) (woken, fired bool) {
	select { // in state armed: so the run's books count it as awake
	case <-w.ch:
		w.state.Store(waiterIdle)
		return true, false
	case <-timer:
		fired = true
	case <-w.scope.done:
	}
	if w.state.CompareAndSwap(waiterArmed, waiterIdle) {
		return false, fired
	}
	w.Disarm() // both at once: what the Wake was for is not to be lost
	return true, fired
}

// Wake releases the goroutine if it has armed the waiter. Never blocks.
func (w *Waiter) Wake() {
	for {
		switch s := w.state.Load(); s {
		case waiterArmed:
			if w.state.CompareAndSwap(s, waiterWoken) {
				w.ch <- struct{}{}
				return
			}
		case waiterParked:
			if w.state.CompareAndSwap(s, waiterWoken) {
				w.run.live.Add(1)
				w.ch <- struct{}{}
				return
			}
		default:
			return
		}
	}
}

// stalledError says who waits for whom.
type stalledError struct{ waits []string }

func (e *stalledError) Error() string {
	return ErrStalled.Error() + ": " + strings.Join(e.waits, "; ")
}

func (e *stalledError) Is(target error) bool { return target == ErrStalled }

// stall ends a run in which everybody is parked, unless somebody is on the way
// because its scope has been cancelled: then the question is asked again when
// that goroutine parks or ends.
func (r *run) stall() {
	var parked []*Waiter
	r.mu.Lock()
	for w := r.waiters; w != nil; w = w.next {
		if w.state.Load() != waiterParked {
			continue
		}
		if w.scope.Stopped() {
			r.mu.Unlock()
			return
		}
		parked = append(parked, w)
	}
	r.mu.Unlock()
	if r.live.Load() != 0 || r.root.Stopped() {
		return
	}
	e := &stalledError{}
	for _, w := range parked {
		if why := w.why(); why != "" {
			e.waits = append(e.waits, fmt.Sprintf("%s: %s", w.name, why))
		}
	}
	r.root.Cancel(e)
}
