package keyed

import (
	"math"
	"sync/atomic"
)

// boxItems is how many items a box of a lane holds: a few, since every lane that
// has ever had an item keeps one box.
const boxItems = 8

// box is a link of a lane's queue.
type box[A any, K comparable, S any] struct {
	next *box[A, K, S]
	at   [boxItems]entry[A, K, S]
}

// entry is an item on its way to f, or, with the seq farewell, the word that its
// state is to be given up.
type entry[A any, K comparable, S any] struct {
	value A
	seq   uint64
	state *state[A, K, S] // nil: the stage has none
}

// farewell is the seq of an entry that is no item.
const farewell = math.MaxUint64

// lane is a queue that at most one worker runs at a time. The worker with the
// pull right puts entries in at the tail, the one that runs the lane takes them
// from the head. Neither looks at the other's fields: pending is all they share.
//
// Invariants:
//
//   - pending is the number of entries put in and not finished. Whoever takes it
//     from 0 puts the lane into a deque; whoever finds it above 0 after a run puts
//     it there again. So the lane is in one deque, or in one worker's hands, exactly
//     while pending is above 0.
//   - A run takes entries off pending after their results have been published. So
//     who runs the lane next finds them published.
//   - The box at the tail is never given away by the runner, who leaves a box only
//     for the one behind it.
type lane[A any, K comparable, S any] struct {
	pending atomic.Int64

	// The puller's.
	tail  *box[A, K, S]
	put   int32 // entries in tail, boxItems if there is none
	fresh int32 // entries not yet in pending

	// The runner's.
	head  *box[A, K, S]
	got   int32  // entries taken from head
	home  int32  // the worker of a pinned lane; never changes
	last  int32  // the outlet that has the results of the last run, from 1; 0: none
	index int32  // among the lanes, -1 if it is that of one key
	mark  uint64 // its end there

	// With a Load.
	done, samples atomic.Uint64
	service       atomic.Int64
	waits         *laneWait // nil without one

	_ [lineSize - 96]byte
}

// lineSize keeps lanes apart: amd64 fetches cache lines in pairs, and arm64 has
// lines of 128 on some CPUs.
const lineSize = 128

// shelf is a list of free boxes. It belongs to one goroutine.
type shelf[A any, K comparable, S any] struct{ first, last *box[A, K, S] }

func (s *shelf[A, K, S]) get() *box[A, K, S] {
	b := s.first
	if b == nil {
		return &box[A, K, S]{}
	}
	if s.first = b.next; s.first == nil {
		s.last = nil
	}
	b.next = nil
	return b
}

func (s *shelf[A, K, S]) put(b *box[A, K, S]) {
	b.next = s.first
	s.first = b
	if s.last == nil {
		s.last = b
	}
}

// drain moves all boxes of from to s.
func (s *shelf[A, K, S]) drain(from *shelf[A, K, S]) {
	if from.first == nil {
		return
	}
	from.last.next = s.first
	s.first = from.first
	if s.last == nil {
		s.last = from.last
	}
	from.first, from.last = nil, nil
}

// extend gives the lane room for more entries. The puller's.
func (l *lane[A, K, S]) extend(free *shelf[A, K, S]) {
	b := free.get()
	if l.tail == nil {
		l.head = b
	} else {
		l.tail.next = b
	}
	l.tail = b
	l.put = 0
}

// front is the next entry. The runner's; pending says that there is one.
func (l *lane[A, K, S]) front(free *shelf[A, K, S]) *entry[A, K, S] {
	if l.got == boxItems {
		b := l.head
		l.head = b.next
		l.got = 0
		free.put(b)
	}
	return &l.head.at[l.got]
}
