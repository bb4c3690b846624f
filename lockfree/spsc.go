package lockfree

import "sync/atomic"

// SPSC is a bounded queue between one producer and one consumer. Values are kept as
// they are; a slot is cleared when its value is taken.
//
// TryPush and Push are for the producer, one goroutine at a time; TryPop and Pop for
// the consumer, likewise. The others are for everyone. To hand either role over to
// another goroutine takes synchronisation, as for a variable. No method blocks.
type SPSC[T any] struct {
	ends
	slots []T
	refs  bool // slots may hold pointers, and have to be cleared
	_     line
}

// NewSPSC returns an empty queue with room for capacity values, rounded up to a power
// of two: Cap tells the real number. It panics unless capacity is at least 1, and if
// it is beyond what can be addressed.
func NewSPSC[T any](capacity int) *SPSC[T] {
	n := slots[T]("lockfree.NewSPSC", capacity)
	q := &SPSC[T]{slots: make([]T, n), refs: HoldsPointers[T]()}
	q.bound(n)
	return q
}

// at is the place of cursor c in the slots.
func (q *SPSC[T]) at(c uintptr) int { return int(c/one) & (len(q.slots) - 1) }

// TryPush puts v in. It reports false, and v is not in the queue, if that is full or
// closed. Producer only.
func (q *SPSC[T]) TryPush(v T) bool {
	q.producer.enter("lockfree.SPSC: two producers at once")
	tail := atomic.LoadUintptr(&q.tail)
	if tail&closed != 0 || tail-q.seenHead == q.span && q.room(tail, 1) == 0 {
		q.producer.leave()
		return false
	}
	i := q.at(tail)
	q.slots[i] = v
	pause()
	if !atomic.CompareAndSwapUintptr(&q.tail, tail, tail+one) { // closed meanwhile
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
	tail := atomic.LoadUintptr(&q.tail)
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
	if !atomic.CompareAndSwapUintptr(&q.tail, tail, tail+uintptr(n)*one) { // closed meanwhile
		clear(q.slots[i : i+first])
		clear(q.slots[:n-first])
		q.producer.leave()
		return 0
	}
	q.producer.leave()
	return n
}

// TryPop takes the oldest value out, and reports false if there is none. If Closed
// had reported true before the call, there will be none any more. Consumer only.
func (q *SPSC[T]) TryPop() (v T, ok bool) {
	q.consumer.enter("lockfree.SPSC: two consumers at once")
	head := atomic.LoadUintptr(&q.head)
	if head == q.seenTail && q.held(head, 1) == 0 {
		q.consumer.leave()
		return v, false
	}
	slot := &q.slots[q.at(head)]
	v = *slot
	if q.refs {
		var zero T
		*slot = zero
	}
	pause()
	atomic.StoreUintptr(&q.head, head+one)
	q.consumer.leave()
	return v, true
}

// Pop takes out the oldest values, as many as there are and dst has room for, and
// returns how many. If Closed had reported true before a call that returns 0, and dst
// has room, there will be none any more. Consumer only.
func (q *SPSC[T]) Pop(dst []T) int {
	q.consumer.enter("lockfree.SPSC: two consumers at once")
	head := atomic.LoadUintptr(&q.head)
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
	atomic.StoreUintptr(&q.head, head+uintptr(n)*one)
	q.consumer.leave()
	return n
}

// Cap returns how many values the queue has room for. For everyone.
func (q *SPSC[T]) Cap() int { return len(q.slots) }
