package keyed

import "testing"

// A lane that is dropped while the reader has yet to take one of its results could come
// back with another worker, whose results would overtake that one.
func TestALaneIsKeptUntilItsLastResultIsTakenP2(t *testing.T) {
	e := &engine[int, int, int, int]{outlets: make([]outlet[int], 1)}
	e.perKey = true
	table := newTable(e)
	lane, _ := table.lookup(nil, 7)
	lane.last, lane.mark = 1, 3 // its last result is the third one of outlet 1
	e.outlets[0].taken.Store(2)
	table.sweep()
	if table.lanes[7] != lane {
		t.Error("the lane is dropped before its last result is taken")
	}
	e.outlets[0].taken.Store(3)
	table.sweep()
	if table.lanes[7] != nil || len(table.spare) != 1 {
		t.Error("the lane is kept although its last result has been taken")
	}
}
