package stage

import "sync"

// crew counts the goroutines that a Close waits for. Unlike a sync.WaitGroup
// it can give up: after a panic, when one of them ignores its context for
// longer than PanicGrace.
type crew struct {
	mu   sync.Mutex
	n    int
	gone chan struct{} // made by wait, closed when n is 0
}

func (c *crew) add() {
	c.mu.Lock()
	c.n++
	c.mu.Unlock()
}

func (c *crew) done() {
	c.mu.Lock()
	if c.n--; c.n == 0 && c.gone != nil {
		close(c.gone)
		c.gone = nil
	}
	c.mu.Unlock()
}

// wait blocks until all are gone; false means that the run gave up on them.
func (c *crew) wait(r *run) bool {
	c.mu.Lock()
	if c.n == 0 {
		c.mu.Unlock()
		return true
	}
	if c.gone == nil {
		c.gone = make(chan struct{})
	}
	gone := c.gone
	c.mu.Unlock()
	return r.await(gone)
}

// await blocks until done is closed; false means that the run gave up.
func (r *run) await(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
	}
	select {
	case <-done:
		return true
	case <-r.abandoned:
		return false
	}
}
