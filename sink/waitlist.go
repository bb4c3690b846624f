package sink

import (
	"context"
	"sync"
	"sync/atomic"
)

// waitlist is where goroutines wait for a number to be reached. The one who
// raises the number stores it first and then calls reached; the one who waits
// joins first and then looks at the number again. Both are sequentially
// consistent, so one of them sees the other.
type waitlist struct {
	waiting atomic.Int32 // so that nobody to wake costs a load
	mu      sync.Mutex   // never held while somebody waits
	list    []waiting
	over    bool // nobody waits any more
}

type waiting struct {
	at    uint64
	ready chan struct{}
}

// wait blocks until done reports true, which it may do once the number is at
// least at, or when close has been called, or ctx is done.
func (w *waitlist) wait(ctx context.Context, at uint64, done func() bool) {
	for !done() {
		me := waiting{at, make(chan struct{})}
		if !w.join(me) {
			return
		}
		if done() {
			w.leave(me)
			return
		}
		select {
		case <-me.ready:
		case <-ctx.Done():
			w.leave(me)
			return
		}
	}
}

func (w *waitlist) join(me waiting) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return false
	}
	w.list = append(w.list, me)
	w.waiting.Add(1)
	return true
}

func (w *waitlist) leave(me waiting) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, other := range w.list {
		if other.ready == me.ready {
			w.remove(i)
			return
		}
	}
}

// remove is called with the lock held.
func (w *waitlist) remove(i int) {
	last := len(w.list) - 1
	w.list[i], w.list[last] = w.list[last], waiting{}
	w.list = w.list[:last]
	w.waiting.Add(-1)
}

// reached wakes those who wait for n or less. Never blocks.
func (w *waitlist) reached(n uint64) {
	if w.waiting.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := len(w.list) - 1; i >= 0; i-- {
		if w.list[i].at <= n {
			close(w.list[i].ready)
			w.remove(i)
		}
	}
}

// close wakes all, and lets nobody wait any more.
func (w *waitlist) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	for i := len(w.list) - 1; i >= 0; i-- {
		close(w.list[i].ready)
		w.remove(i)
	}
}
