package keyed

import "github.com/seed95b73fdc/sluice/stage"

const (
	tallyRuns = 8 // after so many runs of a soloist a Load sees the counts of its lanes
	soloStep  = 4 // of so many items that would be measured a soloist measures one
)

// soloTally is what a soloist enters into the books of a Load. A count of each lane
// for each item would cost more than the rest.
type soloTally struct {
	skip  int      // items up to the next one that is measured
	picks []pick   // those that are measured
	next  int      // the first of them that has not been
	tally []uint32 // by lane: items run, or to be run, and not yet in the lane's count
	runs  int
}

// pick is an item that is measured, and its lane: the guard may take the keys at any
// time.
type pick struct{ item, lane int32 }

// enroll counts a soloist's items, and chooses what is measured.
func (e *engine[A, K, S, B]) enroll(w *worker[A, K, S, B], items []stage.Try[A]) {
	s := &w.solo
	if s.tally == nil {
		s.tally = make([]uint32, len(e.lanes))
		s.picks = make([]pick, 0, len(w.buf))
	}
	s.runs++
	if !e.perKey {
		for i := range items {
			if items[i].Error == nil {
				s.tally[e.table.laneIndex(w.keys[i])]++
			}
		}
	}
	s.picks, s.next = s.picks[:0], 0
	for ; s.skip < len(items); s.skip += stride(&w.dice, soloStep<<sampleBits) {
		i := s.skip
		if items[i].Error != nil {
			continue
		}
		lane := -1
		if !e.perKey {
			lane = e.table.laneIndex(w.keys[i])
			s.picks = append(s.picks, pick{int32(i), int32(lane)})
		}
		e.load.see(w.keys[i], lane, soloStep)
	}
	s.skip -= len(items)
}

// picked reports whether item i, the one in hand, is measured.
func (s *soloTally) picked(i int) bool {
	if s.next == len(s.picks) || int(s.picks[s.next].item) != i {
		return false
	}
	s.next++
	return true
}

// measuredSolo calls f for the soloist's item that has just been picked, and measures it.
func (e *engine[A, K, S, B]) measuredSolo(w *worker[A, K, S, B]) (b B, err error) {
	p := w.solo.picks[w.solo.next-1]
	l := &e.lanes[p.lane]
	began := now()
	b, err = e.invoke(w, int(p.item))
	l.samples.Add(1)
	l.service.Add(int64(now() - began))
	return b, err
}

// uncount takes the soloist's items from the first one that it has not done out of its
// counts. Under mu, while it is the soloist.
func (e *engine[A, K, S, B]) uncount(w *worker[A, K, S, B], done int) {
	if e.perKey {
		return
	}
	for i := done; i < w.solo.items; i++ {
		if w.buf[i].Error == nil {
			w.solo.tally[e.table.laneIndex(w.keys[i])]--
		}
	}
}

// account enters what w has left in the middle of a run, when it is gone. Under mu.
func (e *engine[A, K, S, B]) account(w *worker[A, K, S, B]) {
	if e.solo.Load() == w {
		e.uncount(w, w.solo.done)
	}
	if w.lane != nil {
		w.lane.done.Add(uint64(w.ran - w.byes))
	}
	e.flush(w)
}

// flush shows a Load what w has run as a soloist. It is w's, or, when that is gone, for
// who has mu.
func (e *engine[A, K, S, B]) flush(w *worker[A, K, S, B]) {
	s := &w.solo
	if s.runs == 0 {
		return
	}
	s.runs = 0
	for i := range s.tally {
		if s.tally[i] > 0 {
			e.lanes[i].done.Add(uint64(s.tally[i]))
			s.tally[i] = 0
		}
	}
}
