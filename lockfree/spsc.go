package lockfree

import (
	"sync/atomic"
)

// A ring between one producer and one consumer, in the manner of Lamport,
// "Specifying Concurrent Program Modules", 1983, with the cached cursors of
// Lee, Bu and Chandranmenon, "A Lock-Free, Cache-Efficient Shared Ring Buffer"
// (MCRingBuffer), 2010: each side keeps a copy of the other side's cursor and
// reads the real one, which costs a cache miss, only when by the copy it could not
// go on.
//
//	  line        what lies on it             who writes it
//	┌────────┬──────────────────────────────┬─────────────────────────┐
//	│   0    │ padding                      │                         │
//	│   1    │ tail, seenHead               │ producer (and Close)    │
//	│   2    │ head, seenTail               │ consumer                │
//	│   3    │ slots, refs                  │ nobody after New        │
//	└────────┴──────────────────────────────┴─────────────────────────┘
//
// Invariants:
//
//   - A cursor counts in twos. The lowest bit of tail says that the ring is closed.
//     Cursors are never reduced to the size of the ring, so full and empty are
//     told apart, and they may wrap: only differences are used.
//   - The slots of head to tail are the consumer's, the others the producer's.
//   - seenHead ≤ head ≤ tail and head ≤ seenTail ≤ tail, as distances behind tail:
//     a copy may be late, which makes its side see too little room or too few
//     values, never too much.
//   - Once tail has its lowest bit it never changes: the producer moves it by
//     compare-and-swap. So a value is in the ring, and can be taken out, if and
//     only if it was before Close, whoever calls that, and when.
//
// What each atomic publishes: tail, the values in the slots before it; head, that
// the slots before it have been read and cleared.

const (
	one    uintptr = 2 // by which a cursor moves
	closed uintptr = 1
)

// SPSC is a bounded queue between one producer and one consumer. Values are kept as
// they are; a slot is cleared when its value is taken.
//
// TryPush and Push are for the producer, one goroutine at a time; TryPop and Pop for
// the consumer, likewise. The others are for everyone. To hand either role over to
// another goroutine takes synchronisation, as for a variable. No method blocks.
type SPSC[T any] struct {
	_        line
	tail     atomic.Uintptr
	producer guard
	seenHead uintptr
	_        line
	head     atomic.Uintptr
	consumer guard
	seenTail uintptr
	_        line
	slots    []T
	refs     bool
	_        line
}

// NewSPSC returns an empty queue with room for capacity values, rounded up to a power
// of two: Cap tells the real number. It panics unless capacity is at least 1, and if
// it is beyond what can be addressed.
func NewSPSC[T any](capacity int) *SPSC[T] {
	n := slots[T]("lockfree.NewSPSC", capacity)
	return &SPSC[T]{slots: make([]T, n), refs: HoldsPointers[T]()}
}

// at is the place of cursor c in the slots.
func (q *SPSC[T]) at(c uintptr) int { return int(c/one) & (len(q.slots) - 1) }

// room is for how many values there is room, by the copy of head unless that is too
// few. tail is open.
func (q *SPSC[T]) room(tail uintptr, want int) int {
	room := len(q.slots) - int((tail-q.seenHead)/one)
	if room < want {
		pause()
		q.seenHead = q.head.Load()
		room = len(q.slots) - int((tail-q.seenHead)/one)
	}
	return room
}

// TryPush puts v in. It reports false, and v is not in the queue, if that is full or
// closed. Producer only.
func (q *SPSC[T]) TryPush(v T) bool {
	q.producer.enter("lockfree.SPSC: two producers at once")
	tail := q.tail.Load()
	if tail&closed != 0 || q.room(tail, 1) == 0 {
		q.producer.leave()
		return false
	}
	i := q.at(tail)
	q.slots[i] = v
	pause()
	if !q.tail.CompareAndSwap(tail, tail+one) { // closed meanwhile
		clear(q.slots[i : i+1])
		q.producer.leave()
		return false
	}
	q.producer.leave()
	return true
}

// Push puts in as many of vs as there is room for, the first ones, and returns how
// many: 0 if the queue is full or closed. Producer only.
func (q *SPSC[T]) Push(vs []T) int {
	q.producer.enter("lockfree.SPSC: two producers at once")
	tail := q.tail.Load()
	if tail&closed != 0 {
		q.producer.leave()
		return 0
	}
	n := min(len(vs), q.room(tail, len(vs)))
	if n == 0 {
		q.producer.leave()
		return 0
	}
	i := q.at(tail)
	first := copy(q.slots[i:], vs[:n])
	copy(q.slots, vs[first:n])
	pause()
	if !q.tail.CompareAndSwap(tail, tail+uintptr(n)*one) { // closed meanwhile
		clear(q.slots[i : i+first])
		clear(q.slots[:n-first])
		q.producer.leave()
		return 0
	}
	q.producer.leave()
	return n
}

// held is how many values can be taken, by the copy of tail unless that is too few.
func (q *SPSC[T]) held(head uintptr, want int) int {
	held := int((q.seenTail - head) / one)
	if held < want {
		pause()
		q.seenTail = q.tail.Load() &^ closed
		held = int((q.seenTail - head) / one)
	}
	return held
}

// TryPop takes the oldest value out, and reports false if there is none. If Closed
// had reported true before the call, there will be none any more. Consumer only.
func (q *SPSC[T]) TryPop() (v T, ok bool) {
	q.consumer.enter("lockfree.SPSC: two consumers at once")
	head := q.head.Load()
	if q.held(head, 1) == 0 {
		q.consumer.leave()
		return v, false
	}
	i := q.at(head)
	v = q.slots[i]
	if q.refs {
		clear(q.slots[i : i+1])
	}
	pause()
	q.head.Store(head + one)
	q.consumer.leave()
	return v, true
}

// Pop takes out the oldest values, as many as there are and dst has room for, and
// returns how many. If Closed had reported true before a call that returns 0, and dst
// has room, there will be none any more. Consumer only.
func (q *SPSC[T]) Pop(dst []T) int {
	q.consumer.enter("lockfree.SPSC: two consumers at once")
	head := q.head.Load()
	n := min(len(dst), q.held(head, len(dst)))
	if n == 0 {
		q.consumer.leave()
		return 0
	}
	i := q.at(head)
	first := copy(dst[:n], q.slots[i:])
	copy(dst[first:n], q.slots)
	if q.refs {
		clear(q.slots[i : i+first])
		clear(q.slots[:n-first])
	}
	pause()
	q.head.Store(head + uintptr(n)*one)
	q.consumer.leave()
	return n
}

// Close ends the queue: nothing more goes in, what is in can still be taken out. It
// may be called by anyone, at any time, also more than once.
func (q *SPSC[T]) Close() { q.tail.Or(closed) }

// Closed reports whether Close has been called. For everyone.
func (q *SPSC[T]) Closed() bool { return q.tail.Load()&closed != 0 }

// Len returns how many values were in the queue at one moment during the call. For
// everyone.
func (q *SPSC[T]) Len() int {
	for {
		head := q.head.Load()
		pause()
		tail := q.tail.Load() &^ closed
		if head == q.head.Load() {
			return int((tail - head) / one)
		}
	}
}

// Cap returns how many values the queue has room for. For everyone.
func (q *SPSC[T]) Cap() int { return len(q.slots) }
