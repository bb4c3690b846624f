package lockfree

import (
	"fmt"
	"math/bits"
	"sync/atomic"
)

// The deque of Chase and Lev, "Dynamic Circular Work-Stealing Deque", SPAA 2005,
// with two changes, both because Go's slots are plain memory that the race
// detector watches and the garbage collector scans:
//
//   - A thief reads its slot after it has won the index, not before. The slot is
//     its own then. In return it says when it has done so, and the owner does not
//     use the slot again before that.
//   - The word that thieves compete for names the ring too, so that nobody can
//     win an index of one ring and read the slot of another.
//
//	        top                bottom
//	         ↓                   ↓
//	   ─ ─ ┬───┬───┬───┬───┬───┬ ─ ─       ring[i & mask]
//	  lent │ 7 │ 8 │ 9 │10 │11 │ free
//	   ─ ─ ┴───┴───┴───┴───┴───┴ ─ ─
//	 thieves ↑               ↑ owner
//
// Invariants:
//
//   - top only grows: by one for each item that a thief takes, and for one that
//     the owner takes when it is the last one.
//   - Items are the indices top to bottom-1. Whoever moved top from i to i+1 has
//     item i; the owner has item i, without moving top, if it has stored bottom = i
//     and then read a top < i. A thief reads top first and bottom second, so both
//     cannot happen to one item.
//   - While the owner moves the items to a larger ring, top says so, and nobody
//     can take anything. Rings only grow, so a word that names a ring never
//     comes back when the ring has gone.
//   - A slot outside of top to bottom-1 is free or lent: to a thief that has won
//     its index and not yet read it. The owner knows by its own note (used), and
//     learns by the thief's (back) that it is free again.
//
// What each atomic publishes: bottom, the values in the slots below it; top, who
// has which index; ring, the slots of the ring; back, that a slot's value has
// been read and cleared.

const (
	ringBits = 6 // of top: log2 of the ring's size
	ringMask = 1<<ringBits - 1
	moving   = ringMask // instead of it: the items are being moved
)

// Outcome says how a steal ended.
type Outcome uint8

const (
	Empty   Outcome = iota // there was nothing to take
	Success                // something was taken
	Retry                  // somebody else was first; there may be more
)

func (o Outcome) String() string {
	switch o {
	case Empty:
		return "Empty"
	case Success:
		return "Success"
	case Retry:
		return "Retry"
	}
	return fmt.Sprintf("Outcome(%d)", uint8(o))
}

// Deque is a work-stealing deque: a stack for its one owner, from the other end
// of which anybody may steal. Values are kept as they are, and Push allocates only
// when the deque has to grow. It never shrinks. What has been taken is not kept
// alive.
//
// Push and Pop are for the owner: one goroutine at a time. Steal, StealHalf, Len
// and Cap are for everyone. No method blocks. Algorithm: Chase and Lev, SPAA 2005,
// with slots read after they have been won.
type Deque[T any] struct {
	_      line
	bottom atomic.Int64 // written by the owner
	own    *ring[T]     // the owner's copy of ring
	owner  guard
	_      line
	top    atomic.Uint64 // index<<ringBits | log2 of the ring's size
	_      line
	ring   atomic.Pointer[ring[T]] // written when the deque grows
	_      line
}

type ring[T any] struct {
	mask  int64
	slots []slot[T]
}

type slot[T any] struct {
	value T
	used  bool        // the owner's note: pushed, and not popped
	back  atomic.Bool // the thief's note: I have it, the slot is yours
}

// NewDeque returns a deque with room for capacity values, rounded up to a power of
// two, before it has to grow. It panics unless capacity is at least 1, and if it
// is beyond what can be addressed.
func NewDeque[T any](capacity int) *Deque[T] {
	n := slots[slot[T]]("lockfree.NewDeque", capacity)
	d := &Deque[T]{}
	d.use(newRing[T](n), 0)
	return d
}

func newRing[T any](n int) *ring[T] {
	return &ring[T]{mask: int64(n - 1), slots: make([]slot[T], n)}
}

func (r *ring[T]) at(i int64) *slot[T] { return &r.slots[i&r.mask] }

// word is top for the index i in this ring.
func (r *ring[T]) word(i int64) uint64 {
	return uint64(i)<<ringBits | uint64(bits.Len64(uint64(r.mask)))
}

// index is the index in a top word.
func index(top uint64) int64 { return int64(top >> ringBits) }

// use makes r the ring, its first item having the index t.
func (d *Deque[T]) use(r *ring[T], t int64) {
	d.own = r
	d.ring.Store(r)
	pause()
	d.top.Store(r.word(t))
}

// Push adds v at the owner's end. It never blocks. When there is no room it doubles
// the ring, and panics if that is beyond what can be addressed. Owner only.
func (d *Deque[T]) Push(v T) {
	d.owner.enter("lockfree.Deque: two owners at once")
	b := d.bottom.Load()
	s := d.own.at(b)
	if s.used { // by an item that is still there, or that a thief has taken
		if s.back.Load() {
			s.back.Store(false)
		} else {
			s = d.grow(b).at(b)
		}
	}
	s.value, s.used = v, true
	pause()
	d.bottom.Store(b + 1)
	d.owner.leave()
}

// grow moves the items into a ring of twice the size. It is needed when all slots
// are in use, and when a thief has not yet read the slot that the next item falls
// on: then the owner does not wait for it.
func (d *Deque[T]) grow(b int64) *ring[T] {
	old := d.own
	r := newRing[T](slots[slot[T]]("lockfree.Deque.Push", 2*len(old.slots)))
	top := d.top.Load()
	for !d.top.CompareAndSwap(top, top|moving) {
		top = d.top.Load()
	}
	t := index(top)
	pause()
	for i := t; i < b; i++ {
		from, to := old.at(i), r.at(i)
		to.value, to.used = from.value, true
	}
	d.use(r, t)
	return r
}

// Pop takes the value that was pushed last, and reports false if there is none. It
// never blocks. Owner only.
func (d *Deque[T]) Pop() (v T, ok bool) {
	d.owner.enter("lockfree.Deque: two owners at once")
	v, ok = d.pop()
	d.owner.leave()
	return v, ok
}

func (d *Deque[T]) pop() (v T, ok bool) {
	b := d.bottom.Load() - 1
	if index(d.top.Load()) > b {
		return v, false
	}
	d.bottom.Store(b) // from here on no thief begins to want item b
	pause()
	top := d.top.Load()
	pause()
	switch t := index(top); {
	case t < b:
	case t == b && d.top.CompareAndSwap(top, d.own.word(b+1)):
		d.bottom.Store(b + 1)
	default: // a thief has it
		d.bottom.Store(b + 1)
		return v, false
	}
	s := d.own.at(b)
	var none T
	v, s.value, s.used = s.value, none, false
	return v, true
}

// Steal takes the value that was pushed first of those that are left. With Empty
// there was none; with Retry somebody else was taking one, or the deque was
// growing. It never blocks. For everyone.
func (d *Deque[T]) Steal() (v T, o Outcome) {
	top := d.top.Load()
	pause()
	r := d.ring.Load()
	t := index(top)
	if t >= d.bottom.Load() {
		return v, Empty
	}
	pause()
	if top&ringMask == moving || !d.top.CompareAndSwap(top, r.word(t+1)) {
		return v, Retry
	}
	pause()
	s := r.at(t)
	var none T
	v, s.value = s.value, none
	s.back.Store(true)
	return v, Success
}

// StealHalf takes up to half of the values that are there, rounded up, and no more
// than dst has room for, oldest first, and returns how many. Others may take some
// in between. The outcome is Success if that is one or more, and else that of
// [Deque.Steal]; it is Empty if dst has no room. It never blocks. For everyone.
func (d *Deque[T]) StealHalf(dst []T) (int, Outcome) {
	want := min(len(dst), (d.Len()+1)/2)
	for n := range want {
		v, o := d.Steal()
		if o != Success {
			if n == 0 {
				return 0, o
			}
			return n, Success
		}
		dst[n] = v
	}
	if want == 0 {
		return 0, Empty
	}
	return want, Success
}

// Len returns how many values there were at one moment during the call. For
// everyone.
func (d *Deque[T]) Len() int {
	for {
		t := index(d.top.Load())
		pause()
		b := d.bottom.Load()
		if t == index(d.top.Load()) {
			return int(max(0, b-t))
		}
	}
}

// Cap returns how many values there is room for before the deque has to grow. For
// everyone.
func (d *Deque[T]) Cap() int { return len(d.ring.Load().slots) }
