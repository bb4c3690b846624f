package sink

import (
	"sync"
	"sync/atomic"
)

// Writers of few records at a time that meet each other cost more than they do one
// after the other: each of their steps waits for a cache line that another
// processor has just written. So when one has met another, such writers go through
// the log one by one, under a lock, until for a while nobody has had to wait for it.
// The lock is one that whoever runs gets again and again, so that the lines stay
// where they are; that keeps the others from it for a millisecond at most.
//
// The lock orders nothing that the log does not order by itself, so that writers
// of many records, whose copying is worth to be done at once, need not have it; and
// nobody who is waited for in the log waits for it. Who has it waits in the log as
// everybody does: for what was reserved before, and for room.
type crowd struct {
	busy atomic.Bool // short appends take the lock
	mu   sync.Mutex
	calm int // times that it was free, since it was not. Under mu
}

const (
	shortAppend = 1 << 10 // bytes
	calmEnough  = 1 << 10 // times
)

// seen is called by a writer that has met another one.
func (c *crowd) seen() {
	if !c.busy.Load() {
		c.busy.Store(true)
	}
}

func (c *crowd) enter() {
	if c.mu.TryLock() {
		c.calm++
		return
	}
	c.mu.Lock()
	c.calm = 0
}

func (c *crowd) leave() {
	if c.calm >= calmEnough {
		c.calm = 0
		c.busy.Store(false)
	}
	c.mu.Unlock()
}
