package lockfree

import "unsafe"

// NewSPSCFrom is NewSPSC with cursors that begin steps before they wrap.
func NewSPSCFrom[T any](capacity int, steps uint) *SPSC[T] {
	q := NewSPSC[T](capacity)
	begin := -uintptr(steps) * one
	q.tail, q.head = begin, begin
	q.seenHead, q.seenTail = begin, begin
	return q
}

// Slots are the slots as they lie in memory.
func (q *SPSC[T]) Slots() []T { return q.slots }

// Lingers are for how many steps the producer and the consumer would let the other one
// get ahead.
func (q *SPSC[T]) Lingers() (producer, consumer int) { return q.roomLinger, q.heldLinger }

// Lines are where what the producer writes, what the consumer writes, and what nobody
// writes begins and ends in an SPSC, and the size of the whole.
func (q *SPSC[T]) Lines() (producer, consumer, neither [2]uintptr, size uintptr) {
	at := func(p, last unsafe.Pointer, size uintptr) [2]uintptr {
		begin := uintptr(unsafe.Pointer(q))
		return [2]uintptr{uintptr(p) - begin, uintptr(last) - begin + size}
	}
	return at(unsafe.Pointer(&q.tail), unsafe.Pointer(&q.roomLinger), unsafe.Sizeof(q.roomLinger)),
		at(unsafe.Pointer(&q.head), unsafe.Pointer(&q.heldLinger), unsafe.Sizeof(q.heldLinger)),
		at(unsafe.Pointer(&q.span), unsafe.Pointer(&q.refs), unsafe.Sizeof(q.refs)),
		unsafe.Sizeof(*q)
}

// Guarded reports which kind of check is built in.
const Guarded = guarded
