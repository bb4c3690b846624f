package keyed

import (
	"sync/atomic"

	"github.com/seed95b73fdc/sluice/stage"
)

// outItems is how many results a link of an outlet holds.
const outItems = 64

// outlet is the queue of a worker's results, from the worker to the reader.
//
// Results of one lane leave in its order, although several workers may have run
// it one after the other and the reader empties their outlets as it likes: a
// worker that takes over a lane whose last results are still in another outlet
// puts a fence before its own, which tells the reader to empty that one up to the
// mark first. The results up to the mark were published before the lane was given
// up, and fences only point to what was there before them; so the reader always
// finds an outlet that it may empty.
type outlet[B any] struct {
	tail   atomic.Uint64 // results and fences published
	fenced atomic.Uint64 // of them, fences
	into   *outbox[B]    // the worker's
	n      uint64        // those put in
	i      int           // of them, in into
	spare  *outbox[B]
	_      [lineSize]byte
	taken  atomic.Uint64 // of them, taken by the reader
	pos    uint64        // the same, the reader's own
	from   *outbox[B]    // the reader's
	at     int           // results taken from that
	freed  atomic.Pointer[outbox[B]]
	_      [lineSize]byte
}

type outbox[B any] struct {
	next *outbox[B]
	link *outbox[B] // in a list of free ones
	at   [outItems]result[B]
}

// result is what became of an item; with an Error of type fence it is a fence,
// and seq the mark.
type result[B any] struct {
	item stage.Try[B]
	seq  uint64
}

// fence is the index of the outlet that has to be emptied first, from 1.
type fence int32

func (fence) Error() string { return "keyed: fence" }

// fences are made once: no result allocates.
func newFences(outlets int) []error {
	all := make([]error, outlets+1)
	for i := range all {
		all[i] = fence(i)
	}
	return all
}

func (o *outlet[B]) init() {
	o.into = &outbox[B]{}
	o.from = o.into
}

// slot is where the next result goes. The worker's.
func (o *outlet[B]) slot() *result[B] {
	if o.i == outItems {
		o.extend()
	}
	return &o.into.at[o.i]
}

func (o *outlet[B]) extend() {
	b := o.spare
	if b == nil {
		b = o.freed.Swap(nil)
	}
	if b == nil {
		b = &outbox[B]{}
	} else {
		o.spare = b.link
		b.next, b.link = nil, nil
	}
	o.into.next = b
	o.into = b
	o.i = 0
}

// publish lets the reader see what is in the slot.
func (o *outlet[B]) publish() {
	o.i++
	o.n++
	o.tail.Store(o.n)
}

// published is the number of results and fences published. Anybody's.
func (o *outlet[B]) published() uint64 { return o.tail.Load() }

// front is the results from the next one on, up to the position tail, which is
// beyond, or fewer. The reader's.
func (o *outlet[B]) front(tail uint64) []result[B] {
	if o.at == outItems {
		b := o.from
		o.from = b.next
		o.at = 0
		b.link = o.freed.Load()
		for !o.freed.CompareAndSwap(b.link, b) {
			b.link = o.freed.Load()
		}
	}
	return o.from.at[o.at : o.at+min(outItems-o.at, int(tail-o.pos))]
}

// pop takes results off that front has shown, so that they keep nothing alive.
func (o *outlet[B]) pop(results []result[B], refs bool) {
	if refs {
		clear(results)
	}
	o.at += len(results)
	o.pos += uint64(len(results))
}
