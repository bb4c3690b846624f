package keyed

import (
	"reflect"
	"sync"
	"time"

	"github.com/seed95b73fdc/sluice/lockfree"
)

// keptLanes is how many lanes of PerKey there may be before those that are idle
// are dropped.
const keptLanes = 1024

// table knows the lane of each key, and of a Process its state. It belongs to
// whoever has the pull right, which sees the keys in input order; so what it
// decides depends on the input alone.
//
// With IdleAfter a timer looks at it too. Then, and only then, both hold mu, which
// nobody holds while something can block.
type table[A any, K comparable, S, B any] struct {
	e     *engine[A, K, S, B]
	hash  func(K) uint64
	refsK bool                 // keys keep memory alive
	loose bool                 // there are values of K that cannot be hashed
	lanes map[K]*lane[A, K, S] // PerKey, without states
	all   []owned[A, K, S]     // those lanes
	most  int                  // that many are looked through for idle ones
	spare []*lane[A, K, S]

	states map[K]*state[A, K, S]
	live   int            // states in the list
	recent state[A, K, S] // head of the ring of those, by their last item
	mu     sync.Mutex     // with IdleAfter
	timer  *time.Timer    // with IdleAfter
	rung   chan struct{}  // full while the timer's function does not run
	silent bool           // the reader's: it has been silenced
}

// owned is a lane with its key.
type owned[A any, K comparable, S any] struct {
	key  K
	lane *lane[A, K, S]
}

// state is what a Process keeps for a key.
type state[A any, K comparable, S any] struct {
	key        K
	home       *lane[A, K, S]
	prev, next *state[A, K, S] // in the ring of live ones, or nil
	last       time.Duration   // when its last item came, with IdleAfter

	_ [lineSize]byte

	// The owner's.
	value S
	made  bool
}

func newTable[A any, K comparable, S, B any](e *engine[A, K, S, B]) *table[A, K, S, B] {
	t := &table[A, K, S, B]{e: e, hash: hasher[K](), refsK: lockfree.HoldsPointers[K](), loose: !strict(reflect.TypeFor[K]()), most: keptLanes}
	t.recent.prev, t.recent.next = &t.recent, &t.recent
	if e.with != nil {
		t.states = map[K]*state[A, K, S]{}
	} else if e.perKey {
		t.lanes = map[K]*lane[A, K, S]{}
	}
	if e.idleAfter > 0 {
		t.rung = make(chan struct{}, 1)
		t.rung <- struct{}{}
	}
	return t
}

// hashed is the lane that the hash of a key says.
func (t *table[A, K, S, B]) hashed(k K) *lane[A, K, S] {
	return &t.e.lanes[t.laneIndex(k)]
}

// laneIndex is the index of hashed(k).
func (t *table[A, K, S, B]) laneIndex(k K) int {
	return int(t.hash(k) & uint64(len(t.e.lanes)-1))
}

// own makes a lane for a key.
func (t *table[A, K, S, B]) own(k K) *lane[A, K, S] {
	if len(t.all) >= t.most {
		t.sweep()
		t.most = max(keptLanes, 2*len(t.all))
	}
	var l *lane[A, K, S]
	if k := len(t.spare) - 1; k >= 0 {
		l = t.spare[k]
		t.spare[k] = nil
		t.spare = t.spare[:k]
		l.last = 0
	} else {
		l = &lane[A, K, S]{put: boxItems, index: -1}
	}
	t.all = append(t.all, owned[A, K, S]{k, l})
	return l
}

// sweep drops the lanes of which nothing is left in the stage, not even a result.
func (t *table[A, K, S, B]) sweep() {
	kept := t.all[:0]
	for _, o := range t.all {
		l := o.lane
		busy := l.fresh > 0 || l.pending.Load() > 0 ||
			l.last > 0 && t.e.outlets[l.last-1].taken.Load() < l.mark
		if st := t.states[o.key]; busy || st != nil && st.next != nil {
			kept = append(kept, o)
			continue
		}
		delete(t.lanes, o.key)
		delete(t.states, o.key)
		t.spare = append(t.spare, l)
	}
	clear(t.all[len(kept):])
	t.all = kept
}

// lookup returns the lane of a key, and its state if there are any.
func (t *table[A, K, S, B]) lookup(w *worker[A, K, S, B], k K) (*lane[A, K, S], *state[A, K, S]) {
	if t.states != nil {
		st := t.state(w, k)
		return st.home, st
	}
	if t.lanes == nil {
		return t.hashed(k), nil
	}
	l := t.lanes[k]
	if l == nil {
		l = t.own(k)
		t.lanes[k] = l
	}
	return l, nil
}

// state returns the state of a key, a new one if need be.
func (t *table[A, K, S, B]) state(w *worker[A, K, S, B], k K) *state[A, K, S] {
	st := t.states[k]
	if st == nil {
		if t.live == t.e.maxKeys && t.e.maxKeys > 0 {
			t.part(w, t.recent.prev)
		}
		st = &state[A, K, S]{key: k}
		if t.e.perKey {
			st.home = t.own(k)
		} else {
			st.home = t.hashed(k)
		}
		t.states[k] = st
	} else if st.next == nil {
		// It has been parted with, and its lane has not been dropped.
		if t.live == t.e.maxKeys && t.e.maxKeys > 0 {
			t.part(w, t.recent.prev)
		}
	} else {
		if t.e.maxKeys == 0 && t.e.idleAfter == 0 || t.recent.next == st {
			return st
		}
		st.prev.next, st.next.prev = st.next, st.prev
		t.live--
	}
	first := &t.recent
	st.prev, st.next = first, first.next
	first.next.prev = st
	first.next = st
	t.live++
	return st
}

// part parts with a state: its owner is told, behind the items that it has yet to
// see.
func (t *table[A, K, S, B]) part(w *worker[A, K, S, B], st *state[A, K, S]) {
	st.prev.next, st.next.prev = st.next, st.prev
	st.prev, st.next = nil, nil
	t.live--
	if !t.e.perKey {
		delete(t.states, st.key) // the next one of this key comes into the same lane
	}
	t.e.farewells.Add(1)
	e := w.add(st.home)
	e.state, e.seq = st, farewell
}

// partAll parts with all states that no item has come for since then; with all if
// that is 0.
func (t *table[A, K, S, B]) partAll(w *worker[A, K, S, B], since time.Duration) {
	for t.live > 0 && (since == 0 || t.recent.prev.last <= since) {
		t.part(w, t.recent.prev)
	}
}

// add puts an entry into a lane.
func (w *worker[A, K, S, B]) add(l *lane[A, K, S]) *entry[A, K, S] {
	if l.fresh == 0 {
		w.touched = append(w.touched, l)
	}
	l.fresh++
	if l.put == boxItems {
		l.extend(&w.free)
	}
	l.put++
	return &l.tail.at[l.put-1]
}
