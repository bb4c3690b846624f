package stage

import "runtime"

// resize changes n. Upward, a worker is roused for what there is to do, which
// rouses the next one. Downward, no further call begins until fewer than n run:
// next, pull and waitTurn see to that for items that are not in a cell yet, and
// surplus has the owners of cells leave what they have not begun.
func (e *cells[A, B]) resize(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.n, e.procs = n, min(n, runtime.GOMAXPROCS(0))
	e.grain = min(e.grain, e.maxCell())
	e.surplus.Store(e.working > n)
	if e.spawned == 0 || e.working >= n || e.sub.Stopped() {
		return
	}
	if e.turn != nil {
		e.working++ // for the worker that is back from upstream; see waitTurn
		e.turn.Wake()
		e.turn = nil
	}
	e.rouse()
}

// yieldCall reports whether the worker that asks should make no further call.
func (e *cells[A, B]) yieldCall() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.surplus.Store(e.working > e.n)
	return e.working > e.n
}

// leave marks item i of a cell done, and leaves the items that its owner has
// not claimed to whoever comes: the owner joins the cell as if it were a
// helper. It reports whether there were none.
func (e *cells[A, B]) leave(c *cell[A, B], i int) (last bool) {
	for {
		w := c.word.Load()
		if w&sharedBit != 0 || c.word.CompareAndSwap(w, w|sharedBit|uint64(i)<<baseShift) {
			return e.share(c, i)
		}
	}
}
