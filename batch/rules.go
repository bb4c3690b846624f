package batch

import (
	"fmt"
	"sync"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// chunk is how many items a reader of this package asks for at most at a time.
const chunk = 64

// rules say when a batch is complete, its age apart.
type rules[T any] struct {
	fn       string // the constructor, for errors
	size     int
	maxWeigh int
	weigh    func(T) int  // or nil
	until    func(T) bool // or nil
	reuse    bool
}

func newRules[T any](fn string, size int, s settings) rules[T] {
	return rules[T]{
		fn: fn, size: size, maxWeigh: s.maxWeigh, reuse: s.reuse,
		weigh: typed[func(T) int](fn, "Weigh", s.weigh),
		until: typed[func(T) bool](fn, "Until", s.until),
	}
}

// plain reports whether only the number of items counts.
func (r *rules[T]) plain() bool { return r.weigh == nil && r.until == nil }

// weight returns the weight of v, 0 without Weigh.
func (r *rules[T]) weight(v T) (int, error) {
	if r.weigh == nil {
		return 0, nil
	}
	w := r.weigh(v)
	if w < 0 {
		return 0, fmt.Errorf("%s: weight of an item is %d, want at least 0", r.fn, w)
	}
	return w, nil
}

// filling is a batch that is open.
type filling[T any] struct {
	items  []T
	weight int
	born   time.Duration // when its first item came
}

// fits reports whether an item of weight w may be added.
func (r *rules[T]) fits(f *filling[T], w int) bool {
	return len(f.items) == 0 || r.weigh == nil || w <= r.maxWeigh-f.weight
}

// add adds v and reports whether the batch is complete with it.
func (r *rules[T]) add(f *filling[T], v T, w int) (complete bool) {
	f.items = append(f.items, v)
	f.weight += w                        // of one item alone, or at most maxWeigh: no overflow
	last := r.until != nil && r.until(v) // called for each item
	return last || len(f.items) >= r.size || r.weigh != nil && f.weight >= r.maxWeigh
}

// A gatherer puts items into batches. Whoever has it in hand may call it.
type gatherer[T any] interface {
	// room is how many items to ask for if so many batches are wanted.
	room(batches int) int
	// take adds items that came at a time; what is complete goes to the outbox.
	// Once the scope has stopped it drops values, and keeps errors.
	take(items []stage.Try[T], came time.Duration)
	// oldest returns when the first item of the oldest open batch came, and false
	// if no batch is open.
	oldest() (time.Duration, bool)
	// closeOldest puts the oldest open batch, of which there is one, into the outbox.
	closeOldest()
}

// outbox holds what is to be emitted, in order.
type outbox[T any] struct {
	items []stage.Try[[]T]
	at    int // items before it have been given out
}

func (o *outbox[T]) empty() bool { return o.at == len(o.items) }

func (o *outbox[T]) len() int { return len(o.items) - o.at }

func (o *outbox[T]) put(item stage.Try[[]T]) {
	if o.empty() {
		o.items, o.at = o.items[:0], 0
	} else if len(o.items) == cap(o.items) && o.at > 0 {
		k := copy(o.items, o.items[o.at:])
		clear(o.items[k:])
		o.items, o.at = o.items[:k], 0
	}
	o.items = append(o.items, item)
}

// give moves items to dst and returns how many.
func (o *outbox[T]) give(dst []stage.Try[[]T]) int {
	k := copy(dst, o.items[o.at:])
	clear(o.items[o.at : o.at+k])
	o.at += k
	return k
}

// stock provides the memory of batches: new, or with Reuse what has come back.
type stock[T any] struct {
	size  int
	last  int // length of the last batch: the next one is likely to be like it
	reuse bool

	mu   sync.Mutex // with reuse; never held while somebody waits
	free [][]T
	lent [][]T // given out last
}

// leastCap is the least capacity of a new batch, if size allows it.
const leastCap = 8

func (s *stock[T]) fresh() []T {
	if s.reuse {
		s.mu.Lock()
		defer s.mu.Unlock()
		if n := len(s.free); n > 0 {
			b := s.free[n-1]
			s.free[n-1] = nil
			s.free = s.free[:n-1]
			return b
		}
	}
	return make([]T, 0, min(s.size, max(leastCap, s.last)))
}

// back takes back what was given out before, as the next is being asked for.
func (s *stock[T]) back() {
	if !s.reuse {
		return
	}
	s.mu.Lock()
	for i, b := range s.lent {
		clear(b) // so that it keeps nothing alive
		s.free = append(s.free, b[:0])
		s.lent[i] = nil
	}
	s.lent = s.lent[:0]
	s.mu.Unlock()
}

// out notes what is given out.
func (s *stock[T]) out(items []stage.Try[[]T]) {
	if !s.reuse {
		return
	}
	s.mu.Lock()
	for _, it := range items {
		if it.Error == nil {
			s.lent = append(s.lent, it.Value)
		}
	}
	s.mu.Unlock()
}
