package lockfree

// NewSPSCFrom is NewSPSC with cursors that begin steps before they wrap.
func NewSPSCFrom[T any](capacity int, steps uint) *SPSC[T] {
	q := NewSPSC[T](capacity)
	begin := -uintptr(steps) * one
	q.tail.Store(begin)
	q.head.Store(begin)
	q.seenHead, q.seenTail = begin, begin
	return q
}

// Slots are the slots as they lie in memory.
func (q *SPSC[T]) Slots() []T { return q.slots }

// Guarded reports which kind of check is built in.
const Guarded = guarded
