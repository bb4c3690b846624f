package keyed

import "github.com/seed95b73fdc/sluice/stage"

// tallyRuns is after how many runs of a soloist a Load sees the counts of its lanes.
const tallyRuns = 8

// soloTally is what a soloist enters into the books of a Load. A count of each lane
// for each item would cost more than the rest.
type soloTally struct {
	skip  int      // items up to the next one that is measured
	lane  []int32  // of each item, doubled; and one more if it is measured
	tally []uint32 // by lane: items run, and not yet in the lane's count
	runs  int
}

// enroll chooses what is measured of a soloist's items.
func (e *engine[A, K, S, B]) enroll(w *worker[A, K, S, B], items []stage.Try[A]) {
	s := &w.solo
	if s.lane == nil {
		s.lane = make([]int32, len(w.buf))
		s.tally = make([]uint32, len(e.lanes)+1)
	}
	for i := range items {
		s.lane[i] = 2 * int32(len(e.lanes)) // none
		if items[i].Error == nil && !e.perKey {
			s.lane[i] = 2 * e.table.hashed(w.keys[i]).index
		}
	}
	for ; s.skip < len(items); s.skip += stride(&w.dice) {
		if i := s.skip; items[i].Error == nil {
			lane := int(s.lane[i] / 2)
			if e.perKey {
				lane = -1
			}
			e.load.see(w.keys[i], lane)
			s.lane[i]++
		}
	}
	s.skip -= len(items)
}

// measuredSolo calls f for the soloist's item i, and measures it; but there are no
// lanes to measure with PerKey.
func (e *engine[A, K, S, B]) measuredSolo(w *worker[A, K, S, B], i int) (b B, err error) {
	if e.perKey {
		return e.invoke(w, i)
	}
	began := now()
	b, err = e.invoke(w, i)
	l := &e.lanes[w.solo.lane[i]/2]
	l.samples.Add(1)
	l.service.Add(int64(now() - began))
	return b, err
}

// count counts the first items of a run.
func (s *soloTally) count(items int) {
	s.runs++
	for _, lane := range s.lane[:items] {
		s.tally[lane/2]++
	}
}

// flush shows a Load what w has run as a soloist.
func (e *engine[A, K, S, B]) flush(w *worker[A, K, S, B]) {
	s := &w.solo
	if s.runs == 0 {
		return
	}
	s.runs = 0
	for i := range e.lanes {
		if s.tally[i] > 0 {
			e.lanes[i].done.Add(uint64(s.tally[i]))
			s.tally[i] = 0
		}
	}
}
