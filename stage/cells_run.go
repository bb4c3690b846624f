package stage

import (
	"math/bits"
	"time"
)

// run calls f for the items of w's cell that w can claim; if called is set, f
// has been called for the first one. It reports false when the stage is
// closed.
func (e *cells[A, B]) run(w *worker[A, B], called bool) bool {
	c, i, items := w.c, w.i, w.c.items
	in, out := c.in[:items], c.out[:items]
	sub, ctx, value, refsA, resizes := e.sub, e.ctx, e.f.value, e.refsA, e.resizes != nil
	w.calling = true
	for {
		if !called {
			if sub.Stopped() {
				w.calling = false
				return false
			}
			w.i = i
			if a := &in[i]; value != nil && a.Error == nil {
				// What call does, without the call.
				o := &out[i]
				if o.Value, o.Error = value(ctx, a.Value); o.Error != nil {
					*o = Try[B]{Error: o.Error}
				}
			} else if !e.f.call(ctx, a, &out[i]) {
				out[i] = Try[B]{Error: errDropped}
				if !e.drops.Load() {
					e.drops.Store(true)
				}
			}
			if refsA {
				in[i] = Try[A]{}
			}
		}
		called = false
		w.made++
		if resizes && e.surplus.Load() && e.yieldCall() {
			w.finished = e.leave(c, i)
			break
		}
		if w.helps {
			w.finished = e.share(c, i)
			break
		}
		old := c.word.Add(1) - 1
		j := int(old & wordByte)
		if old&(sharedBit|waitBit) != 0 {
			if old&sharedBit != 0 {
				w.finished = e.share(c, i)
			} else {
				e.awake(c)
			}
		}
		if j >= items {
			w.finished = w.finished || old&sharedBit == 0
			break
		}
		i = j
	}
	if w.finished && e.order == InOrder {
		c.full.Store(true)
		if c.word.Load()&waitBit != 0 {
			e.awake(c)
		}
	}
	w.calling = false
	w.clock = now()
	return true
}

// share marks item i of a shared cell done, and reports whether it was the
// last one.
func (e *cells[A, B]) share(c *cell[A, B], i int) (last bool) {
	// All of this is settled before the item is done, after which the cell may
	// be reused.
	w := c.word.Load()
	rest := low(int(w>>itemsShift)&wordByte) &^ low(int(w>>baseShift)&wordByte)
	bit := uint64(1) << uint(i)
	before := c.bits.Or(bit)
	if c.word.Load()&waitBit != 0 {
		e.awake(c)
	}
	return (before|bit)&rest == rest
}

// awake wakes the consumer, which waits for progress in c. If c has been
// reused meanwhile, the consumer is woken in vain and looks again.
func (e *cells[A, B]) awake(c *cell[A, B]) {
	if c.word.And(^uint64(waitBit))&waitBit != 0 {
		e.wakeCons()
	}
}

// finish keeps the books of what w has just run. Under mu.
func (e *cells[A, B]) finish(w *worker[A, B]) {
	c := w.c
	if c == nil {
		return
	}
	w.c = nil
	e.moves++
	if e.turn != nil && e.working <= e.n {
		e.turn.Wake() // its call takes the place of the one that has ended
		e.turn = nil
	} else {
		e.working--
	}
	if w.finished {
		w.finished = false
		if e.order == AnyOrder {
			e.close(c)
			e.complete(c)
		} else if c.gen == w.gen {
			e.close(c) // the consumer may have given it back already
		}
	}
	if w.helps {
		return
	}
	took := w.clock - w.began
	e.stat.Busy += took
	e.pace(took, w.made)
}

// complete hands a cell to the consumer of a stage without order, unless all
// that it held was filtered out. Under mu.
func (e *cells[A, B]) complete(c *cell[A, B]) {
	if e.drops.Load() {
		kept := 0
		for i := range c.items {
			if c.out[i].Error != errDropped {
				kept++
			}
		}
		if kept == 0 {
			clear(c.out[:c.items])
			e.took.Add(uint64(c.items - bits.OnesCount64(c.taken)))
			e.put(c)
			if e.seen = e.took.Load(); e.ended && e.held() == 0 {
				e.feed()
			}
			return
		}
	}
	e.line(c)
	e.feed()
}

// pace chooses the grain by the time that made items took. Under mu.
func (e *cells[A, B]) pace(took time.Duration, made int) {
	// Nothing comes soon from slow calls, nor from a source that trickles.
	slow := made > 0 && took/time.Duration(made) > slowCall || e.grain > 1 && e.offer <= 2
	if slow != e.slow.Load() {
		e.slow.Store(slow)
	}
	switch {
	case took < cheapCell && made >= e.grain:
		e.grain = min(2*e.grain, e.maxCell())
	case took > slowCell && made > 0:
		e.grain = max(1, min(e.grain/2, int(int64(made)*int64(slowCell)/int64(took))))
	}
}
