package stage

import (
	"sync"
	"time"
)

// fan brings the items of several producers to one reader: those of [Merge],
// and the inner streams of FlatMap. Each producer has a lane of two chunks: it
// fills one while the reader takes the other. A chunk is as large as the room
// that the reader offers, so a slow reader makes every lane hold two items at
// most.
//
// In AnyOrder the reader takes whichever lane has a chunk. InOrder it takes the
// lanes one after the other in the order in which they were added, each to its
// end; the others fill their two chunks and wait.
//
// The reader waits in cons for a chunk that it may take; a producer waits in
// its lane for the reader to have taken the chunk before.
type fan[T any] struct {
	sub   *Scope // the producers'; ends with the reader's, or when that closes
	order Order
	cons  *Waiter
	done  func(*lane[T]) // called under mu when a lane has been taken to its end; may be nil

	mu     sync.Mutex
	room   int
	hungry bool
	ended  bool // no lane will be added
	open   int  // lanes that have been added and not taken to their end
	head   *lane[T]
	tail   *lane[T]
}

type lane[T any] struct {
	fill  []Try[T] // the producer's
	full  []Try[T] // the reader's, from at on
	at    int
	wait  *Waiter
	armed bool // the producer waits for the reader to have taken full
	over  bool // the producer has put its last chunk
	inRow bool // in the list of the fan
	next  *lane[T]
}

func newFan[T any](s, sub *Scope, name string, order Order) *fan[T] {
	f := &fan[T]{sub: sub, order: order, room: 1}
	f.cons = s.NewWaiter(name, func() string { return "its reader waits for an item" })
	return f
}

// add makes l one of the lanes. Under mu.
func (f *fan[T]) add(l *lane[T]) {
	l.over, l.at, l.full = false, 0, l.full[:0]
	f.open++
	if f.order == InOrder {
		f.line(l)
	}
}

func (f *fan[T]) line(l *lane[T]) {
	l.inRow, l.next = true, nil
	if f.tail == nil {
		f.head = l
	} else {
		f.tail.next = l
	}
	f.tail = l
}

// chunk is where the producer puts its next items.
func (f *fan[T]) chunk(l *lane[T]) []Try[T] {
	f.mu.Lock()
	room := f.room
	f.mu.Unlock()
	if cap(l.fill) < room {
		l.fill = make([]Try[T], room)
	}
	return l.fill[:room]
}

// put hands the first k items of l.fill to the reader, and with over set ends
// the lane. It blocks until the chunk before is taken, and returns for how
// long it did; false means that the fan is closed.
func (f *fan[T]) put(l *lane[T], k int, over bool) (waited time.Duration, ok bool) {
	f.mu.Lock()
	for k > 0 && l.at < len(l.full) {
		l.armed = true
		l.wait.Arm()
		f.mu.Unlock()
		began := now()
		ok := l.wait.Park()
		waited += now() - began
		f.mu.Lock()
		l.armed = false
		if !ok {
			f.mu.Unlock()
			return waited, false
		}
	}
	if k > 0 {
		l.full, l.fill, l.at = l.fill[:k], l.full[:cap(l.full)], 0
	}
	l.over = over
	if f.order == AnyOrder && !l.inRow && k > 0 {
		f.line(l)
	}
	if over && k == 0 {
		f.pass(l)
	}
	if h := f.head; f.hungry && h != nil && h.at < len(h.full) {
		f.hungry = false
		f.cons.Wake()
	}
	f.mu.Unlock()
	return waited, true
}

// pass retires l, and what it held up, if all that it had has been taken: its
// end takes no reader. Under mu.
func (f *fan[T]) pass(l *lane[T]) {
	if f.order == AnyOrder && !l.inRow {
		f.retire(l)
	}
	for h := f.head; h != nil && h.over && h.at == len(h.full); h = f.head {
		f.pop()
		f.retire(h)
	}
}

// pop takes the first lane off the list. Under mu.
func (f *fan[T]) pop() {
	l := f.head
	f.head = l.next
	if f.head == nil {
		f.tail = nil
	}
	l.inRow, l.next = false, nil
}

// retire takes a lane that has been taken to its end off the books. Under mu.
func (f *fan[T]) retire(l *lane[T]) {
	f.open--
	if f.done != nil {
		f.done(l)
	}
	if f.hungry && f.ended && f.open == 0 {
		f.hungry = false
		f.cons.Wake()
	}
}

// end says that no lane will be added. Under mu.
func (f *fan[T]) end() {
	f.ended = true
	if f.hungry {
		f.hungry = false
		f.cons.Wake()
	}
}

// Next takes what is there.
func (f *fan[T]) Next(dst []Try[T]) int {
	for round := 0; ; {
		f.mu.Lock()
		f.room = min(len(dst), maxGrain)
		k := f.take(dst)
		if k > 0 || (f.ended && f.open == 0) || f.sub.Stopped() {
			f.mu.Unlock()
			return k
		}
		if round < spins {
			f.mu.Unlock()
			yield(&round)
			continue
		}
		f.hungry = true
		f.cons.Arm()
		f.mu.Unlock()
		if !f.cons.Park() {
			return 0
		}
	}
}

// close forgets what has not been taken, once the producers have ended.
func (f *fan[T]) close() {
	f.mu.Lock()
	f.head, f.tail = nil, nil
	f.mu.Unlock()
	f.cons.Free()
}

// take moves items to dst. Under mu.
func (f *fan[T]) take(dst []Try[T]) (k int) {
	for f.head != nil && k < len(dst) {
		l := f.head
		got := copy(dst[k:], l.full[l.at:])
		clear(l.full[l.at : l.at+got])
		l.at += got
		k += got
		if l.at < len(l.full) {
			return k
		}
		if l.armed {
			l.armed = false
			l.wait.Wake()
		}
		if f.order == InOrder && !l.over {
			return k
		}
		f.pop()
		if l.over {
			f.retire(l)
		}
	}
	return k
}
