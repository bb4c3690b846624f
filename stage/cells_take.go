package stage

import "math/bits"

// Next moves results that are there, and blocks while none is.
func (e *cells[A, B]) Next(dst []Try[B]) int {
	stopped := e.scope.Stopped()
	if !e.started {
		if stopped {
			return 0
		}
		e.begin()
	}
	k, whole := 0, !stopped && e.spun < spinBudget && !e.slow.Load()
	for {
		got, more := e.take(dst[k:], whole || k > 0)
		k += got
		if k == len(dst) || (k > 0 && !more) {
			break
		}
		if more {
			continue
		}
		if !whole {
			if stopped || e.await() {
				break
			}
			continue
		}
		whole = e.yield()
	}
	if e.round > 0 {
		e.rest()
	}
	if e.counted {
		e.outs.Add(uint64(k))
		e.errs.Add(uint64(countErrors(dst[:k])))
	}
	e.settle()
	return k
}

// yield lets others run and wakes whom the workers want to have woken; false
// means that it is time to park.
func (e *cells[A, B]) yield() bool {
	if e.round == 0 {
		e.settle() // whoever waits for room need not wait for this
		e.spins.Store(true)
	}
	if e.call.Load() {
		e.answer()
	}
	if yield(&e.round) {
		return true
	}
	e.spins.Store(false)
	e.answer()
	return false
}

// rest ends the yielding.
func (e *cells[A, B]) rest() {
	e.spun += e.round
	e.round = 0
	e.spins.Store(false)
	e.answer()
}

func countErrors[T any](items []Try[T]) (k int) {
	for i := range items {
		if items[i].Error != nil {
			k++
		}
	}
	return k
}

func (e *cells[A, B]) begin() {
	e.started = true
	e.mu.Lock()
	e.rouse()
	e.mu.Unlock()
}

// settle makes room for what has been taken.
func (e *cells[A, B]) settle() {
	if e.credit == 0 {
		return
	}
	e.took.Add(uint64(e.credit))
	e.credit = 0
	if e.short.Load() {
		e.mu.Lock()
		e.short.Store(false)
		e.tend()
		e.mu.Unlock()
	}
}

// take moves results to dst, which is not empty, and returns how many, and
// whether there may be more. With whole set, it takes nothing of cells in
// progress.
func (e *cells[A, B]) take(dst []Try[B], whole bool) (got int, more bool) {
	c := e.cur
	complete := e.order == AnyOrder || c.full.Load()
	if !complete && whole {
		return 0, false
	}
	done := c.items
	if !complete {
		done = min(done, bits.TrailingZeros64(^c.doneMask()))
	}
	at := e.at
	if c.taken == 0 && !e.drops.Load() {
		got = copy(dst, c.out[e.at:done])
		e.at += got
		e.credit += got
	} else {
		for ; e.at < done && got < len(dst); e.at++ {
			if c.taken&(1<<uint(e.at)) != 0 {
				continue
			}
			if out := &c.out[e.at]; out.Error != errDropped {
				dst[got] = *out
				got++
			}
			e.credit++
		}
	}
	forget(c.out[at:e.at], e.refsB)
	if e.at < c.items || !complete {
		return got, false
	}
	next := c.next.Load()
	if next == nil {
		if e.order == AnyOrder && !whole && got == 0 {
			e.mu.Lock()
			if next = c.next.Load(); next == nil {
				got = e.takeOpen(dst)
			}
			e.mu.Unlock()
		}
		if next == nil {
			return got, false
		}
	}
	e.cur, e.at = next, 0
	for {
		c.link = e.returned.Load()
		if e.returned.CompareAndSwap(c.link, c) {
			return got, true
		}
	}
}

// takeOpen moves results out of cells that are not complete yet. Under mu, for
// a stage without order, when no complete cell is there.
func (e *cells[A, B]) takeOpen(dst []Try[B]) (got int) {
	for _, c := range e.open {
		there := c.doneMask() &^ c.taken & low(c.items)
		for there != 0 && got < len(dst) {
			i := bits.TrailingZeros64(there)
			there &= there - 1
			if out := &c.out[i]; out.Error != errDropped {
				dst[got] = *out
				got++
			}
			c.out[i] = Try[B]{}
			c.taken |= 1 << uint(i)
			e.credit++
		}
	}
	return got
}

// await blocks until there is progress that the consumer could take; true
// means that there will be none.
func (e *cells[A, B]) await() (end bool) {
	e.settle()
	e.cons.Arm()
	if c := e.cur; e.order == InOrder && (e.at < c.items || !c.full.Load()) {
		c.word.Or(waitBit)
		if c.full.Load() || min(c.items, bits.TrailingZeros64(^c.doneMask())) > e.at {
			e.cons.Disarm()
			return false
		}
		e.spun = 0
		return !e.cons.Park()
	}
	e.mu.Lock()
	there := e.cur.next.Load() != nil
	if e.order == AnyOrder {
		for _, c := range e.open {
			c.word.Or(waitBit)
			there = there || c.doneMask()&^c.taken&low(c.items) != 0
		}
		e.seen = e.took.Load()
		end = e.ended && e.held() == 0
	} else {
		end = e.ended && !there
	}
	e.hungry = !there && !end
	e.mu.Unlock()
	if there || end {
		e.cons.Disarm()
		return end
	}
	e.spun = 0
	return !e.cons.Park()
}

func (e *cells[A, B]) snapshot() StageStats {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = e.took.Load()
	s := e.stat
	s.Name, s.N, s.InFlight, s.Window, s.Calls = e.name, e.n, e.held()-e.asked, e.limit(), e.working
	s.Out, s.Errors = e.outs.Load(), e.errs.Load()
	if e.full != 0 {
		s.Blocked += now() - e.full
	}
	return s
}
