package stage

import "runtime"

// guardLooks is how often a guard looks before it acts on what another worker
// is about to do anyway.
const guardLooks = 2

// guardPatience is how often a guard looks before it takes an item of a cell
// that has only just been opened.
const guardPatience = 8

// The guard is at most one worker without work that stays awake, yielding,
// while there is something that another worker could do. It acts
//
//   - at once if the pull right is to be had, and f is slow (cells of one item)
//     or fewer workers are in f than there are processors;
//   - after guardLooks otherwise: then it pulls, or takes over an item of a cell
//     that is still open.
//
// Before it does, it ceases to be the guard and rouses the next one. So the
// last worker without work is awake as long as an item waits, however suddenly
// f becomes slow; and a cell of a cheap f is done before anybody joins it.
//
// While n calls run, nobody else is needed: whoever returns from f looks. But a
// worker in upstream's Next is in no call, and may be there for long. If then
// all others are in f, one more worker than n is started to watch over the open
// cells. Should n calls run when the first one comes back, it keeps the pull
// right and its cell until one of them returns, which goes idle in its stead.
//
// Whoever is woken lands on the processor of who wakes it, behind a call of f
// that may take long, and a goroutine that yields on another processor keeps
// that from looking there: it comes back through the global queue at once. So
// waking is left to who yields: workers are woken by the consumer, and the
// consumer by the guard; both look once more when they cease to yield.

// rouse wakes an idle worker, or starts one, to be the guard, unless there is
// one or none is needed. Under mu.
func (e *cells[A, B]) rouse() {
	if e.guard || e.working >= e.n {
		return
	}
	var w *worker[A, B]
	if k := len(e.idle) - 1; k >= 0 {
		w = e.idle[k]
		e.idle = e.idle[:k]
	} else if e.spawned < e.n || (e.spawned == e.n && e.pulling) {
		w = &worker[A, B]{wait: e.sub.NewWaiter(e.name, e.why), fresh: true}
		e.spawned++
		e.workers.add()
	} else {
		return
	}
	w.guard, e.guard = true, true
	e.called = w
	e.call.Store(true)
	if !e.spins.Load() && e.call.Swap(false) {
		e.launch(w)
	}
}

// launch wakes a worker, or starts its goroutine.
func (e *cells[A, B]) launch(w *worker[A, B]) {
	if w.fresh {
		w.fresh = false
		e.start(w)
		return
	}
	w.wait.Wake()
}

// answer launches the worker that the consumer was left to.
func (e *cells[A, B]) answer() {
	if e.call.Swap(false) {
		e.launch(e.called)
	}
}

// wakeCons wakes the consumer.
func (e *cells[A, B]) wakeCons() {
	e.poke.Store(true)
	if !e.watch.Load() && e.poke.Swap(false) {
		e.cons.Wake()
	}
}

// look yields for a while, as the guard, but no longer than until the consumer
// has moved, which may have made room: it reports whether that is so.
func (e *cells[A, B]) look() (moved bool) {
	e.watch.Store(true)
	took := e.took.Load()
	for range lookOnce {
		if e.poke.Load() && e.poke.Swap(false) {
			e.cons.Wake()
		}
		runtime.Gosched()
		if e.took.Load() != took {
			break
		}
	}
	e.watch.Store(false)
	if e.poke.Swap(false) {
		e.cons.Wake()
	}
	return e.took.Load() != took
}

// start runs w in a goroutine; crash does, when the one before is lost in f.
func (e *cells[A, B]) start(w *worker[A, B]) {
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
	if !w.calling || (v != nil && !e.recover) {
		w.wait.Free()
		e.sub.lost(e.name, v)
		e.workers.done()
		return
	}
	err := Goexit(e.name)
	if v != nil {
		err = newPanic(e.name, v)
	}
	w.c.in[w.i] = Try[A]{}
	w.c.out[w.i] = Try[B]{Error: err}
	e.start(w)
}

// next finds w something to do: a cell of its own, or an item of another
// worker's. It blocks until there is; false means that the stage is closed.
//
// There is no defer of Unlock: upstream's Next may panic, with mu free.
func (e *cells[A, B]) next(w *worker[A, B]) bool {
	e.mu.Lock()
	e.finish(w)
	guard, looks := w.guard, 0
	w.guard = false
	var before *cell[A, B] // the unclaimed cell of the look before
	var gen uint32
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
		if canPull && (e.grain == 1 || e.working < e.procs || looks >= guardLooks) {
			if guard {
				e.guard, guard = false, false
			}
			if e.pull(w) {
				e.mu.Unlock()
				return true
			}
			looks = 0
			continue
		}
		var unclaimed *cell[A, B]
		for _, c := range e.open {
			if c.unclaimed() {
				unclaimed = c
				break
			}
		}
		lasting := looks >= guardLooks && unclaimed == before && unclaimed != nil && unclaimed.gen == gen
		if free && (lasting || looks >= guardPatience && unclaimed != nil) {
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
			looks = 0
			continue
		}
		work := canPull || (free && unclaimed != nil)
		loiter := looks < loiters && !e.slow.Load()
		if (work || loiter) && (guard || !e.guard) {
			guard, e.guard = true, true
			if before = unclaimed; before != nil {
				gen = before.gen
			}
			e.mu.Unlock()
			moved := e.look()
			e.mu.Lock()
			if !moved || before != nil {
				looks++ // with a cell to help in, it is that which is waited for
			}
			w.clock = 0
			continue
		}
		if loiter && e.loiter < e.procs-1 {
			e.loiter++
			e.mu.Unlock()
			took := e.took.Load()
			for range lookOnce {
				runtime.Gosched()
				if e.took.Load() != took {
					break
				}
			}
			e.mu.Lock()
			e.loiter--
			looks++
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
		w.clock, looks = 0, 0
		guard, w.guard = w.guard, false
	}
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
		e.wakeCons()
	}
}
