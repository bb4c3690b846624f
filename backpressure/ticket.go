package backpressure

import "sync/atomic"

const (
	queued uint32 = iota
	granted
	refused
	left
)

// Ticket is a place in the queue of a [PaddedSemaphore], for those who have a way to
// wait of their own, such as an operator of package stage. Its methods are for the one
// goroutine that has it; none blocks.
type Ticket struct {
	s          *PaddedSemaphore
	n          int64
	notify     func()
	state      atomic.Uint32 // changed under s.mu
	prev, next *Ticket       // in the queue; next also among those to be notified
}

// Enqueue takes n permits at once if they can be had and nobody waits, and else a place
// in the queue; Granted tells which. When there is an answer notify is called, by
// another goroutine or before Enqueue returns, at most once; it must not block. Done ends
// the ticket whatever has become of it: no ticket may be dropped without it. It panics if
// n is negative or notify is nil.
func (s *PaddedSemaphore) Enqueue(n int, notify func()) *Ticket {
	checkPermits("PaddedSemaphore.Enqueue", n)
	if notify == nil {
		panic("backpressure.PaddedSemaphore.Enqueue: notify is nil")
	}
	t := &Ticket{s: s, n: int64(n), notify: notify}
	s.mu.Lock()
	s.word.Value.Or(waiting) // first; then admit looks at what is free
	pause()
	if t.prev = s.tail; t.prev != nil {
		t.prev.next = t
	} else {
		s.head = t
	}
	s.tail = t
	s.admitUnlock()
	return t
}

// Granted reports whether the permits have been taken, or with ErrTooMany that they
// never will be.
func (t *Ticket) Granted() (bool, error) {
	switch t.state.Load() {
	case granted:
		return true, nil
	case refused:
		return false, tooMany(int(t.n), t.s.limit.Load())
	}
	return false, nil
}

// Done leaves the queue, or gives the permits back if they have been granted. After
// the first call it does nothing.
func (t *Ticket) Done() {
	s := t.s
	s.mu.Lock()
	switch t.state.Load() {
	case queued:
		s.unlink(t)
	case granted:
		s.word.Value.Add(t.n << 1)
	}
	t.state.Store(left)
	s.admitUnlock()
}

// unlink takes t out of the queue.
func (s *PaddedSemaphore) unlink(t *Ticket) {
	if t.prev != nil {
		t.prev.next = t.next
	} else {
		s.head = t.next
	}
	if t.next != nil {
		t.next.prev = t.prev
	} else {
		s.tail = t.prev
	}
	t.prev, t.next = nil, nil
}

// admitUnlock serves the queue from its head as far as the permits go, turns away those
// who ask for more than there are, gives up the lock, and then tells them.
func (s *PaddedSemaphore) admitUnlock() {
	var first, last *Ticket
	limit := s.limit.Load()
	for t := s.head; t != nil; {
		following := t.next
		answer := queued
		if t.n > limit {
			answer = refused
		} else if t == s.head && s.word.Value.Load()>>1 >= t.n {
			s.word.Value.Add(-t.n << 1)
			answer = granted
		}
		if answer != queued {
			s.unlink(t)
			if first == nil {
				first = t
			} else {
				last.next = t
			}
			last = t
			t.state.Store(answer)
		}
		t = following
	}
	pause()
	if s.head == nil {
		s.word.Value.And(^waiting)
	}
	s.mu.Unlock()
	pause()
	for t := first; t != nil; {
		following := t.next
		t.next = nil
		t.notify()
		t = following
	}
}
