package stage

import (
	"sync"

	"github.com/seed95b73fdc/sluice/backpressure"
)

// store holds the items of a buffer, up to its size. put, free and what changes
// items are for the pump, take is for the reader, and empty for both.
type store[T any] interface {
	free() int             // for how many items there is room
	put(items []Try[T])    // no more than that
	take(dst []Try[T]) int // what is there and fits
	empty() bool
	clear()
}

// link is a store over a transport.
type link[T any] struct {
	conduit backpressure.Conduit[Try[T]]
	size    int // the conduit may have room for more
}

func newLink[T any](transport backpressure.Transport, size int) *link[T] {
	return &link[T]{backpressure.NewConduit[Try[T]](transport, size), size}
}

func (l *link[T]) free() int { return l.size - l.conduit.Len() }

func (l *link[T]) put(items []Try[T]) {
	for len(items) > 0 {
		k, _ := l.conduit.TrySend(items) // it is never closed
		items = items[k:]
	}
}

func (l *link[T]) take(dst []Try[T]) int {
	k, _ := l.conduit.TryRecv(dst)
	return k
}

func (l *link[T]) empty() bool { return l.conduit.Len() == 0 }

func (l *link[T]) clear() {
	var buf [16]Try[T]
	for l.take(buf[:]) > 0 {
	}
}

// shelf is a store whose items can be dropped and merged by who puts them in.
type shelf[T any] struct {
	size  int
	merge func(old, new T) T // nil: new takes the place of old

	mu   sync.Mutex
	q    []Try[T] // a ring, which grows up to size
	head int
	len  int
}

func (s *shelf[T]) free() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size - s.len
}

func (s *shelf[T]) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.len == 0
}

func (s *shelf[T]) at(i int) *Try[T] { return &s.q[(s.head+i)%len(s.q)] }

func (s *shelf[T]) put(items []Try[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if need := s.len + len(items); need > len(s.q) {
		q := make([]Try[T], min(max(2*len(s.q), need), s.size))
		for i := range s.len {
			q[i] = *s.at(i)
		}
		s.q, s.head = q, 0
	}
	for i := range items {
		*s.at(s.len + i) = items[i]
	}
	s.len += len(items)
}

func (s *shelf[T]) take(dst []Try[T]) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := min(len(dst), s.len)
	for i := range k {
		dst[i] = *s.at(i)
		*s.at(i) = Try[T]{}
	}
	if k > 0 {
		s.head = (s.head + k) % len(s.q)
		s.len -= k
	}
	return k
}

func (s *shelf[T]) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.q, s.head, s.len = nil, 0, 0
}

// replace brings v into a full shelf: latest merges it with the newest item,
// else the oldest value goes. It returns the value that is gone, and what it has been
// merged into, if it has. It does nothing if the shelf is not full, or if what would
// have to go is an error.
func (s *shelf[T]) replace(v T, latest bool) (gone, into T, done bool) {
	s.mu.Lock()
	if s.len < s.size {
		s.mu.Unlock()
		return gone, into, false
	}
	if !latest {
		defer s.mu.Unlock()
		gone, done = s.dropOldest(v)
		return gone, into, done
	}
	newest := *s.at(s.len - 1)
	if newest.Error != nil || s.merge == nil {
		defer s.mu.Unlock()
		if newest.Error != nil {
			return gone, into, false
		}
		s.at(s.len - 1).Value = v
		return newest.Value, into, true
	}
	// The function is not called under the lock: it may take long, or panic. Until
	// it returns the newest item is out of the reader's sight.
	*s.at(s.len - 1) = Try[T]{}
	s.len--
	s.mu.Unlock()
	merged := s.merge(newest.Value, v)
	lost(newest.Value, merged)
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.at(s.len) = Try[T]{Value: merged}
	s.len++
	return v, merged, true
}

// dropOldest drops the oldest value and puts v at the end. Under mu.
func (s *shelf[T]) dropOldest(v T) (gone T, done bool) {
	i := 0
	for i < s.len && s.at(i).Error != nil {
		i++
	}
	if i == s.len {
		return gone, false
	}
	gone = s.at(i).Value
	for ; i+1 < s.len; i++ {
		*s.at(i) = *s.at(i + 1)
	}
	s.at(s.len-1).Value, s.at(s.len-1).Error = v, nil
	return gone, true
}
