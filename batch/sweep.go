package batch

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"

	"github.com/seed95b73fdc/sluice/stage"
)

// A sweep runs a function on each of count items of a slice, by a team of
// workers. Invariants:
//
//   - Each worker has a span of items, in a word of its own. It claims the first
//     one by adding to the word; who has none steals the upper half of the longest
//     span that is left by exchanging its word. Both are one atomic step on the
//     one word that says which items are unclaimed, so an item is claimed once.
//   - Items are claimed one by one. So those that a worker stuck in a call has not
//     begun can all be taken from it.
//   - A worker steals under mu, and gives up only when, under mu, all words are
//     empty: then no item is left, as none is on its way from one word to another.
//   - bound is the first item not to begin: behind an error, or 0 after a panic or
//     at the end of the context. It only falls. Items before an error are begun
//     all the same, and their calls not cancelled, so that the error returned is
//     the first one in the order of the items.
//
// A word holds the first unclaimed item in its lower half and the end in its
// upper one, both counted from the base of the segment; a segment has so few
// items that claims in vain, one for each time a worker looks, do not overflow
// into the upper half.
type sweep struct {
	*team
	segment int // items that are shared out at a time
	base    int // items of earlier segments
	workers []*worker
	bound   atomic.Int64 // within the segment

	mu   sync.Mutex // never held while somebody waits
	real failure    // the first one that is more than a cancellation
	any  failure    // the first one
	none bool       // no item of the segment is left, so that nobody looks for one again

	cut atomic.Bool // an item was not begun because the context had ended
}

type failure struct {
	at  int64 // math.MaxInt64: none
	err error
}

type worker struct {
	_    pad
	word atomic.Uint64
	_    pad
	s    *sweep
	ctx  context.Context // that of the calls
	stop context.CancelCauseFunc
	dead bool // ctx was cancelled for an error before its items. Under s.mu

	merges bool // it is in a call that belongs to no item
}

// pad keeps apart what two cores write.
type pad [128]byte

func span(from, to uint64) uint64 { return to<<32 | from }

func newSweep(t *team, workers int) *sweep {
	s := &sweep{team: t, segment: math.MaxInt32}
	s.workers = make([]*worker, workers)
	for i := range s.workers {
		s.workers[i] = &worker{s: s}
	}
	t.halt = func() { s.lower(0) }
	return s
}

// run calls work by each worker, for items 0 to count-1, and returns the first
// error in the order of the items. work gets items by next and steal.
func (s *sweep) run(count int, work func(*worker)) error {
	defer s.end(stage.ErrEnded)
	if s.stopped() {
		return context.Cause(s.ctx)
	}
	for ; count > 0; s.base += s.segment {
		n := min(count, s.segment)
		count -= n
		crew := s.workers[:min(len(s.workers), n)]
		s.share(n, crew)
		for _, w := range crew {
			w.start(work)
		}
		s.wait()
		for _, w := range crew {
			w.stop(nil)
		}
		if err := s.verdict(); err != nil {
			return err
		}
	}
	return nil
}

// share gives each of the crew its part of the next n items.
func (s *sweep) share(n int, crew []*worker) {
	s.bound.Store(int64(n))
	s.real.at, s.any.at, s.none = math.MaxInt64, math.MaxInt64, false
	for i, w := range crew {
		from, to := part(n, len(crew), i)
		w.word.Store(span(uint64(from), uint64(to)))
		w.ctx, w.stop = context.WithCancelCause(s.ctx)
		w.dead = false
	}
	for _, w := range s.workers[len(crew):] {
		w.word.Store(0)
		w.stop = nil
	}
}

// part returns the i-th of k parts of n items, which differ by one at most.
func part(n, k, i int) (from, to int) {
	q, r := n/k, n%k
	from = i*q + min(i, r)
	to = from + q
	if i < r {
		to++
	}
	return from, to
}

// start starts a worker. What a call leaves undone that ends its goroutine with
// runtime.Goexit is an error of its item, if it has one, and costs no worker.
func (w *worker) start(work func(*worker)) {
	w.s.team.start(func() { work(w) }, func() {
		if err := w.s.goexit(); w.merges {
			w.merges = false
			w.s.failLast(err)
		} else {
			w.fail(w.at(), err)
		}
		w.start(work)
	})
}

// at is the item that was claimed last.
func (w *worker) at() int { return w.s.base + int(uint32(w.word.Load())) - 1 }

// next claims an item of the worker's span; false if there is none left, or none
// that is to begin.
func (w *worker) next() (item int, ok bool) {
	v := w.word.Add(1)
	i := int64(uint32(v)) - 1
	if i >= int64(v>>32) || i >= w.s.bound.Load() {
		return 0, false
	}
	if w.s.stopped() {
		w.s.cut.Store(true)
		w.s.lower(0)
		return 0, false
	}
	return w.s.base + int(i), true
}

// steal takes from the longest span of all others its upper half. False means
// that no item is left for anybody to begin.
func (w *worker) steal() bool {
	s := w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.none {
		var victim *worker
		var old, most uint64
		bound := uint64(max(s.bound.Load(), 0))
		for _, o := range s.workers {
			v := o.word.Load()
			from, to := uint64(uint32(v)), min(v>>32, bound)
			if from < to && to-from > most {
				victim, old, most = o, v, to-from
			}
		}
		if victim == nil {
			s.none = true
			return false
		}
		from, to := uint64(uint32(old)), old>>32
		middle := from + most/2
		if victim.word.CompareAndSwap(old, span(from, middle)) {
			if w.dead {
				w.ctx, w.stop = context.WithCancelCause(s.ctx)
				w.dead = false
			}
			w.word.Store(span(middle, to))
			return true
		}
	}
	return false
}

// lower lets no item from i on begin.
func (s *sweep) lower(i int64) {
	for {
		b := s.bound.Load()
		if b <= i || s.bound.CompareAndSwap(b, i) {
			return
		}
	}
}

// fail records the error of an item, and cancels the calls of later ones.
func (w *worker) fail(item int, err error) {
	s := w.s
	i := int64(item - s.base)
	s.lower(i)
	var stops []context.CancelCauseFunc
	s.mu.Lock()
	if i < s.any.at {
		s.any = failure{i, err}
	}
	if i < s.real.at && !isCancel(err) {
		s.real = failure{i, err}
	}
	for _, o := range s.workers {
		if o.stop != nil && !o.dead && int64(uint32(o.word.Load()))-1 > i {
			o.dead = true
			stops = append(stops, o.stop)
		}
	}
	s.mu.Unlock()
	for _, stop := range stops {
		stop(errEarlier)
	}
}

// failLast records an error that belongs to no item and counts only if none has
// failed.
func (s *sweep) failLast(err error) {
	const last = math.MaxInt64 - 1
	s.mu.Lock()
	defer s.mu.Unlock()
	if last < s.any.at {
		s.any = failure{last, err}
	}
	if last < s.real.at && !isCancel(err) {
		s.real = failure{last, err}
	}
}

// verdict is what the segment comes to: the first error in the order of the
// items; if the context has ended and the errors only say so, its cause.
func (s *sweep) verdict() error {
	switch {
	case s.any.err != nil && s.ctx.Err() == nil:
		return s.any.err
	case s.real.err != nil:
		return s.real.err
	case s.any.err != nil || s.cut.Load():
		return context.Cause(s.ctx)
	}
	return nil
}

func isCancel(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// refuses reports whether nothing more is to begin, as the result will be an
// error: for calls that belong to no item.
func (s *sweep) refuses() bool {
	if s.stopped() {
		s.cut.Store(true)
		s.lower(0)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.any.err != nil || s.cut.Load()
}
