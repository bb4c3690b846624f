package lockfree

import "sync/atomic"

// What the two ends of a ring know of each other, in the manner of Lamport,
// "Specifying Concurrent Program Modules", 1983, with the cached cursors of Lee, Bu
// and Chandranmenon, "A Lock-Free, Cache-Efficient Shared Ring Buffer" (MCRingBuffer),
// 2010: each end keeps a copy of the other one's cursor and reads the real one, which
// costs a cache miss, only when by the copy it could not go on.
//
//	  line        what lies on it                who writes it
//	┌────────┬─────────────────────────────────┬─────────────────────────┐
//	│   0    │ padding                         │                         │
//	│   1    │ tail, seenHead, roomLinger      │ producer (and Close)    │
//	│   2    │ head, seenTail, heldLinger      │ consumer                │
//	│   3    │ the bounds, and where slots are │ nobody after New        │
//	└────────┴─────────────────────────────────┴─────────────────────────┘
//
// Invariants:
//
//   - A cursor counts in twos. The lowest bit of tail says that the ring is closed.
//     Cursors are never reduced to the size of the ring, so full and empty are
//     told apart, and they may wrap: only differences are used.
//   - The slots of head to tail are the consumer's, the others the producer's.
//   - seenHead ≤ head ≤ tail and head ≤ seenTail ≤ tail, as distances behind tail:
//     a copy may be late, which makes its end see too little room or too few
//     values, never too much.
//   - Once tail has its lowest bit it never changes: the producer moves it by
//     compare-and-swap. So a value is in the ring, and can be taken out, if and
//     only if it was before Close, whoever calls that, and when.
//
// What each atomic publishes: tail, the values in the slots before it; head, that
// the slots before it have been read and cleared.
//
// An end that takes what it sees, and sees one more each time it looks, works on the
// lines that the other end is writing: each value then costs some transfers of a line
// from core to core, and each end is in the other's way. So an end that had seen few,
// and has got to the end of them, lets the other one get ahead before it looks again:
// for a number of steps that doubles while that shows more, though still few, and is
// none after a look that has shown nothing, or one value in spite of it, as between two
// that take turns. Nothing depends on it but the time.
//
// The cursors are plain words under atomic functions, not atomic types: the functions are
// inlined wherever the code of a ring is instantiated, the methods of the types only in
// packages that import sync/atomic themselves.

const (
	one    uintptr = 2 // by which a cursor moves
	closed uintptr = 1

	// Fewer values than maxFew, and than half of a ring, are few.
	maxFew = 64

	// How long to let the other end get ahead, in steps of about a cycle: at
	// first, and at most; and at most so many for each slot of a small ring.
	firstLinger   = 64
	maxLinger     = 1024
	lingerPerSlot = 4
)

// ends are the ends of a ring. They know places in it, no values.
type ends struct {
	_          [0]atomic.Uintptr // not to be copied
	_          line
	tail       uintptr // atomic
	producer   guard
	seenHead   uintptr
	roomLinger int
	_          line
	head       uintptr // atomic
	consumer   guard
	seenTail   uintptr
	heldLinger int
	_          line
	span       uintptr // by which tail is ahead of head when the ring is full
	few        uintptr // fewer than that, but more than none, are few
	mostLinger int
}

// bound makes e the ends of a ring of n slots.
func (e *ends) bound(n int) {
	e.span = uintptr(n) * one
	e.few = uintptr(min(n/2, maxFew)) * one
	e.mostLinger = min(n*lingerPerSlot, maxLinger)
}

// room is for how many values there is room, by the copy of head unless that is too
// few. tail is open.
func (e *ends) room(tail uintptr, want int) int {
	room := e.span - (tail - e.seenHead)
	if room >= uintptr(want)*one {
		return int(room / one)
	}
	if room == 0 {
		linger(e.roomLinger)
	}
	pause()
	e.seenHead = atomic.LoadUintptr(&e.head)
	room = e.span - (tail - e.seenHead)
	e.roomLinger = e.nextLinger(e.roomLinger, room)
	return int(room / one)
}

// held is how many values can be taken, by the copy of tail unless that is too few.
func (e *ends) held(head uintptr, want int) int {
	held := e.seenTail - head
	if held >= uintptr(want)*one {
		return int(held / one)
	}
	if held == 0 {
		linger(e.heldLinger)
	}
	pause()
	e.seenTail = atomic.LoadUintptr(&e.tail) &^ closed
	held = e.seenTail - head
	e.heldLinger = e.nextLinger(e.heldLinger, held)
	return int(held / one)
}

// nextLinger is for how long to let the other end get ahead after a look that has shown
// so much, and came after lingering for last.
func (e *ends) nextLinger(last int, seen uintptr) int {
	switch {
	case seen == 0, seen == one && last > 0:
		return 0
	case seen < e.few:
		return min(max(2*last, firstLinger), e.mostLinger)
	}
	return last
}

func linger(steps int) {
	for range steps {
	}
}

// Close ends the queue: nothing more goes in, what is in can still be taken out. It
// may be called by anyone, at any time, also more than once.
func (e *ends) Close() { atomic.OrUintptr(&e.tail, closed) }

// Closed reports whether Close has been called. For everyone.
func (e *ends) Closed() bool { return atomic.LoadUintptr(&e.tail)&closed != 0 }

// Len returns how many values were in the queue at one moment during the call. For
// everyone.
func (e *ends) Len() int {
	for {
		head := atomic.LoadUintptr(&e.head)
		pause()
		tail := atomic.LoadUintptr(&e.tail) &^ closed
		if head == atomic.LoadUintptr(&e.head) {
			return int((tail - head) / one)
		}
	}
}
