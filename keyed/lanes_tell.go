package keyed

import "github.com/seed95b73fdc/sluice/stage"

// tell claims the item in hand, of which the result is in results, unless w has been
// frozen: then the item is in a lane of w's.
func (e *engine[A, K, S, B]) tell(w *worker[A, K, S, B]) {
	s := &w.solo
	if e.n == 1 { // nobody watches it
		s.done++
		e.spill(w, s.done)
		return
	}
	i := s.done
	next := s.at(i + 1)
	spill := i+1 == s.due || i+1 == s.items ||
		s.results[i%spillItems].Error != nil || e.wanted(s.first+uint64(i))
	if spill {
		next |= spilling
	}
	if !s.claim.CompareAndSwap(s.at(i), next) {
		e.overtaken(w)
		return
	}
	s.done++
	if spill {
		e.spill(w, s.done)
		s.due = s.done + spillItems
		s.claim.Store(next &^ spilling)
	}
}

// at is the claim with which item i is in hand.
func (s *solo[A, K, S, B]) at(i int) uint64 { return s.base + uint64(i) }

// spill publishes the results of the soloist's first items, as far as they have not
// been. It is for the soloist while it spills, and for the guard that has frozen it.
func (e *engine[A, K, S, B]) spill(w *worker[A, K, S, B], done int) {
	s, o := &w.solo, w.out
	from := s.spilled
	for i := from; i < done; i++ {
		r, result := o.slot(), &s.results[i%spillItems]
		r.item, r.seq = *result, s.first+uint64(i)
		o.i++
		if e.refsB {
			*result = stage.Try[B]{}
		}
	}
	if e.refsA {
		clear(w.buf[from:done])
	}
	s.spilled = done
	o.n += uint64(done - from)
	o.tail.Store(o.n)
	if e.wanted(s.first + uint64(done) - 1) {
		e.feed()
	}
}

// overtaken is what a soloist does with its result when it has been frozen.
func (e *engine[A, K, S, B]) overtaken(w *worker[A, K, S, B]) {
	e.mu.Lock() // the guard has put all else into lanes then
	l := w.lane
	e.mu.Unlock()
	s := &w.solo
	i := s.done
	result := s.results[i%spillItems]
	s.results[i%spillItems] = stage.Try[B]{}
	s.on = false
	s.claim.Store(s.at(i))
	w.made = i
	w.buf[i] = stage.Try[A]{}
	if e.load != nil {
		e.flush(w)
	}
	if l != nil {
		*l.front(&w.free) = entry[A, K, S]{}
		l.got++
		w.ran++
	}
	e.emit(w.out, result, s.first+uint64(i))
	if l != nil {
		e.finish(w, l)
	} else {
		w.made++
	}
}
