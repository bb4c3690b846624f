package ordered

import "github.com/seed95b73fdc/sluice/stage"

// replies is ReplyTo. Each item gets an envelope when it is taken, and the
// envelopes stand in a queue in the order of the items. A worker puts the result
// into the envelope of its item, whenever it is done, and goes on. The reader
// opens the envelopes one after the other, and waits for the first one only.
//
// In the textbook an envelope is a channel with room for one result, and so it is
// here, with the reader as the one who may wait at it. It is made for each item
// and never reused, which is what makes it so simple: a worker that is late
// cannot meet anything but its own.
//
// Invariant: the envelopes in the queue are those of the items that are held.
type replies[B any] struct {
	*desk

	// Under mu.
	first, last *reply[B]
}

// reply is an envelope. For FlatMap it has one chunk of the stream at a time.
type reply[B any] struct {
	one    [1]stage.Try[B] // what items begins with
	items  []stage.Try[B]
	at     int           // of them have been taken
	sealed bool          // there will be no more
	writer *stage.Waiter // waits until all that is there has been taken
	next   *reply[B]
}

func newReplies[B any](d *desk) *replies[B] { return &replies[B]{desk: d} }

func (q *replies[B]) enter(t *ticket[B]) {
	r := &reply[B]{}
	r.items = r.one[:0]
	if q.last == nil {
		q.first = r
	} else {
		q.last.next = r
	}
	q.last = r
	t.reply = r
}

func (q *replies[B]) put(t *ticket[B], w *stage.Waiter, items []stage.Try[B], last bool) bool {
	r := t.reply
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(items) > 0 && r.at < len(r.items) {
		r.writer = w
		w.Arm()
		q.mu.Unlock()
		ok := w.Park()
		q.mu.Lock()
		r.writer = nil
		if !ok {
			return false
		}
	}
	if len(items) > 0 {
		r.items, r.at = append(r.items[:0], items...), 0
	}
	r.sealed = last
	if last {
		t.reply = nil
	}
	if r == q.first {
		q.feed()
	}
	return true
}

func (q *replies[B]) take(dst []stage.Try[B]) (k, passed int) {
	for r := q.first; r != nil; r = q.first {
		got := copy(dst[k:], r.items[r.at:])
		clear(r.items[r.at : r.at+got])
		r.at += got
		k += got
		if r.at < len(r.items) {
			break // dst is full
		}
		if r.writer != nil {
			r.writer.Wake()
			r.writer = nil
		}
		if !r.sealed {
			break
		}
		passed++
		if q.first = r.next; q.first == nil {
			q.last = nil
		}
	}
	return k, passed
}

func (q *replies[B]) close() { q.first, q.last = nil, nil }
