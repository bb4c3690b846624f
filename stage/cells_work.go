package stage

import (
	"math/bits"
	"runtime"
	"time"
)

// guardRounds is how often the guard yields before it looks again: long enough
// for a worker that runs to make progress that can be seen.
const guardRounds = 8

// guardLooks is how often a guard that finds nothing to do looks again before
// it parks.
const guardLooks = 2

// The guard is at most one worker without work that stays awake, yielding,
// while there is something that another worker could do. It acts when
//
//   - the pull right is to be had, and f is slow (cells of one item) or fewer
//     workers are in f than there are processors; or
//   - nothing has moved between two of its looks: then the workers are stuck
//     in calls, and it pulls, or takes over an item of an open cell.
//
// Before it does, it ceases to be the guard and rouses the next one. A guard
// that gets to run has found a processor that nobody else wants, so it costs
// little while the workers keep all of them busy.

// While n calls run, nobody else is needed: whoever returns from f looks.
//
// A worker in upstream's Next is in no call, and may be there for long. If then
// all others are in f, one more worker than n is started to watch over the open
// cells. Should n calls run when the first one comes back, it keeps the pull
// right and its cell until one of them returns, which goes idle in its stead.

// rouse wakes an idle worker, or starts one, to be the guard, unless there is
// one or none is needed. Under mu.
func (e *cells[A, B]) rouse() {
	if e.guard || e.working >= e.n {
		return
	}
	if k := len(e.idle) - 1; k >= 0 {
		w := e.idle[k]
		e.idle = e.idle[:k]
		w.guard, e.guard = true, true
		w.wait.Wake()
	} else if e.spawned < e.n || (e.spawned == e.n && e.pulling) {
		e.guard = true
		e.spawn(&worker[A, B]{guard: true})
	}
}

// spawn starts w, which may be one whose goroutine has been lost in f.
func (e *cells[A, B]) spawn(w *worker[A, B]) {
	if w.wait == nil {
		w.wait = e.sub.NewWaiter(e.name, e.why)
		e.spawned++
	}
	e.workers.add()
	e.sub.run.live.Add(1)
	e.sub.spawn(e.ctx, func() { e.work(w) }, true, func(v any) { e.crash(w, v) })
}

// why describes an idle worker of a stalled run.
func (e *cells[A, B]) why() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.pulling && !e.ended && e.room(1) <= 0 {
		return "window is full, its reader waits elsewhere"
	}
	return ""
}

// work is the life of a worker.
func (e *cells[A, B]) work(w *worker[A, B]) {
	if w.calling {
		// The goroutine before this one was lost in f; the item has its error.
		if e.run(w, true) {
			w.calling = false
		}
	}
	for e.next(w) && e.run(w, false) {
	}
	w.wait.Free()
	e.workers.done()
}

// crash is called when f, or upstream's Next, has not returned: with the value
// of the panic, or nil after runtime.Goexit.
func (e *cells[A, B]) crash(w *worker[A, B], v any) {
	defer e.workers.done()
	if !w.calling || (v != nil && !e.recover) {
		w.wait.Free()
		e.sub.lost(e.name, v)
		return
	}
	var err error = &stageError{e.name, ErrGoexit}
	if v != nil {
		err = newPanic(e.name, v)
	}
	w.c.in[w.i] = Try[A]{}
	w.c.out[w.i] = Try[B]{Error: err}
	e.spawn(w)
}

// next finds w something to do: a cell of its own, or an item of another
// worker's. It blocks until there is; false means that the stage is closed.
//
// There is no defer of Unlock: upstream's Next may panic, with mu free.
func (e *cells[A, B]) next(w *worker[A, B]) bool {
	e.mu.Lock()
	e.finish(w)
	guard, stuck, looks := w.guard, false, 0
	w.guard = false
	for {
		if e.sub.Stopped() {
			if guard {
				e.guard = false
			}
			e.mu.Unlock()
			return false
		}
		free := e.working < e.n
		canPull := free && !e.pulling && !e.ended && e.room(e.grain) > 0
		if canPull && (e.grain == 1 || e.working < e.procs || stuck) {
			if guard {
				e.guard, guard = false, false
			}
			if e.pull(w) {
				e.mu.Unlock()
				return true
			}
			stuck = false
			continue
		}
		var unclaimed *cell[A, B]
		for _, c := range e.open {
			if c.unclaimed() {
				unclaimed = c
				break
			}
		}
		if stuck && free && unclaimed != nil {
			if i, ok := unclaimed.claim(); ok {
				if guard {
					e.guard = false
				}
				w.c, w.gen, w.i, w.helps = unclaimed, unclaimed.gen, i, true
				e.working++
				e.rouse()
				e.mu.Unlock()
				return true
			}
			stuck = false
			continue
		}
		work := canPull || (free && unclaimed != nil)
		if (work || looks < guardLooks) && (guard || !e.guard) {
			guard, e.guard = true, true
			if looks++; work {
				looks = 0
			}
			before := e.progress()
			e.mu.Unlock()
			for range guardRounds {
				runtime.Gosched()
			}
			e.mu.Lock()
			stuck = e.progress() == before
			w.clock = 0
			continue
		}
		if guard {
			e.guard, guard = false, false
		}
		e.idle = append(e.idle, w)
		w.wait.Arm()
		if !e.guard {
			e.tend() // which may well rouse w itself
		}
		e.mu.Unlock()
		w.wait.Park()
		e.mu.Lock()
		w.clock, stuck, looks = 0, false, 0
		guard, w.guard = w.guard, false
	}
}

// progress changes whenever something has moved. Under mu.
func (e *cells[A, B]) progress() uint64 {
	p := e.moves
	for _, c := range e.open {
		p += c.word.Load() & wordByte
	}
	return p
}

// pull fills a cell from upstream and publishes it; false means that upstream
// has ended. Under mu, which it gives up meanwhile.
func (e *cells[A, B]) pull(w *worker[A, B]) bool {
	k := min(e.grain, e.offer, e.room(e.grain))
	c := e.get(k)
	e.pulling = true
	e.pulled += uint64(k)
	e.asked = k
	if e.full != 0 {
		e.stat.Blocked += now() - e.full
		e.full = 0
	}
	if len(e.open) > 0 {
		e.rouse() // upstream may block: someone must watch over the open cells
	}
	e.mu.Unlock()
	if w.clock == 0 {
		w.clock = now()
	}
	got := e.up.Next(c.in[:k])
	at := now()
	// The consumer's core owns these lines. Fetching them all at once here is
	// much cheaper than one by one below, where every item ends with an atomic
	// step that waits for the stores before it.
	clear(c.out[:got])
	e.mu.Lock()
	e.stat.Starved += at - w.clock
	e.asked = 0
	e.pulled -= uint64(k - got)
	e.moves++
	if got > 0 && e.working >= e.n && !e.waitTurn(w) {
		return false
	}
	e.pulling = false
	if got == 0 {
		e.ended = true
		e.put(c)
		e.feed()
		return false
	}
	if got == k {
		e.offer = min(e.offer*2, maxGrain)
	} else {
		e.offer = got * 2
	}
	e.stat.In += uint64(got)
	w.c, w.i, w.helps, w.began, w.made = c, 0, false, at, 0
	e.publish(c, got)
	w.gen = c.gen
	e.working++
	if got > 1 {
		e.rouse()
	} else {
		e.tend()
	}
	return true
}

// waitTurn blocks until fewer than n calls run; false means that the stage is
// closed. Under mu, which it gives up meanwhile.
func (e *cells[A, B]) waitTurn(w *worker[A, B]) bool {
	e.turn = w.wait
	w.wait.Arm()
	e.mu.Unlock()
	ok := w.wait.Park()
	e.mu.Lock()
	e.turn = nil
	w.clock = 0
	if ok {
		e.working-- // counted for w by whoever made way
	}
	return ok
}

// publish makes a filled cell known to the consumer and the other workers,
// with its first item claimed. Under mu.
func (e *cells[A, B]) publish(c *cell[A, B], items int) {
	c.gen++
	c.items = items
	c.taken = 0
	c.bits.Store(0)
	c.full.Store(false)
	word := uint64(c.gen)<<genShift | uint64(items)<<itemsShift | 1
	if e.hungry && (e.order == InOrder || items > 1) {
		// The consumer has nothing before this cell: its progress wakes it.
		word |= waitBit
		e.hungry = e.order == AnyOrder
	}
	c.word.Store(word)
	if items > 1 {
		c.place = len(e.open)
		e.open = append(e.open, c)
	}
	if e.order == InOrder {
		e.line(c)
	}
}

// feed wakes the consumer if it waits for a cell. Under mu.
func (e *cells[A, B]) feed() {
	if e.hungry {
		e.hungry = false
		e.cons.Wake()
	}
}

// run calls f for the items of w's cell that w can claim; if called is set, f
// has been called for the first one. It reports false when the stage is
// closed.
func (e *cells[A, B]) run(w *worker[A, B], called bool) bool {
	c, i, items := w.c, w.i, w.c.items
	in, out := c.in[:items], c.out[:items]
	sub, ctx, value, refsA := e.sub, e.ctx, e.f.value, e.refsA
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
				b, err := value(ctx, a.Value)
				if err != nil {
					out[i] = Try[B]{Error: err}
				} else {
					out[i] = Try[B]{Value: b}
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
		e.cons.Wake()
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
	if e.turn != nil {
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
	switch {
	case took < cheapCell && made >= e.grain:
		e.grain = min(2*e.grain, e.maxCell())
	case took > slowCell && made > 0:
		e.grain = max(1, min(e.grain/2, int(int64(made)*int64(slowCell)/int64(took))))
	}
}
