package keyed

import (
	"sync/atomic"
	"time"
)

// laneWait measures how long entries of a lane wait for their call: one at a time
// is watched. A lane is a queue, so whoever runs it knows the entry by its number.
// came is for whoever has the pull right, begun for whoever runs the lane.
type laneWait struct {
	came    uint64        // entries that have come
	begun   uint64        // entries whose call has begun
	since   time.Duration // when the watched one came; written before watched is set
	watched atomic.Uint64 // its number, from 1; 0: none is watched
	waits   atomic.Uint64
	wait    atomic.Int64
}

// comes counts an entry, and watches it if it is to be measured and no other is.
func (m *laneWait) comes(measured bool) {
	m.came++
	if measured && m.watched.Load() == 0 {
		m.since = now()
		m.watched.Store(m.came)
	}
}

// begins counts a call.
func (m *laneWait) begins() {
	m.begun++
	if m.watched.Load() == m.begun {
		m.wait.Add(int64(now() - m.since))
		m.waits.Add(1)
		m.watched.Store(0)
	}
}
