package stage

import "math/bits"

// Next moves results that are there, and blocks while none is.
func (e *cells[A, B]) Next(dst []Try[B]) int {
	stopped := e.scope.Stopped()
	if !e.started {
		if stopped {
			return 0
		}
		e.start()
	}
	k, round := 0, 0
	for {
		got, passed, more := e.take(dst[k:], k > 0 || round < spins)
		k += got
		if k == len(dst) || (k > 0 && !more) {
			break
		}
		if passed > 0 || more {
			continue
		}
		if stopped || (!yield(&round) && e.await()) {
			break
		}
	}
	if e.counted {
		e.errs = countErrors(dst[:k])
	}
	if e.credit > 0 || e.errs > 0 {
		e.mu.Lock()
		e.settle()
		e.mu.Unlock()
	}
	return k
}

func countErrors[T any](items []Try[T]) (k int) {
	for i := range items {
		if items[i].Error != nil {
			k++
		}
	}
	return k
}

func (e *cells[A, B]) start() {
	e.started = true
	e.mu.Lock()
	e.rouse()
	e.mu.Unlock()
}

// settle books what the consumer has taken. Under mu.
func (e *cells[A, B]) settle() {
	e.stat.Out += uint64(e.outs)
	e.stat.Errors += uint64(e.errs)
	e.release(e.credit)
	e.outs, e.errs, e.credit = 0, 0, 0
}

// take moves results to dst, which is not empty. It returns how many, how many
// items that took care of (some may have been filtered out), and whether there
// may be more. With whole set, it takes nothing of cells in progress.
func (e *cells[A, B]) take(dst []Try[B], whole bool) (got, passed int, more bool) {
	c := e.cur
	if c == nil {
		if whole && e.lined.Load() == e.popped {
			return 0, 0, false
		}
		e.mu.Lock()
		e.settle()
		c = e.pop()
		if c == nil && e.order == AnyOrder && !whole {
			got, passed = e.takeOpen(dst)
			e.settle()
		}
		e.mu.Unlock()
		if c == nil {
			return got, passed, false
		}
		e.cur, e.at = c, 0
	}
	done := c.items
	complete := e.order == AnyOrder || c.complete()
	if !complete {
		if whole {
			return 0, 0, false
		}
		done = min(done, bits.TrailingZeros64(^c.doneMask()))
	}
	if c.taken == 0 && !e.drops.Load() {
		got = copy(dst, c.out[e.at:done])
		passed = got
		forget(c.out[e.at:e.at+got], e.refsB)
		e.at += got
	} else {
		for ; e.at < done && got < len(dst); e.at++ {
			if c.taken&(1<<uint(e.at)) != 0 {
				continue
			}
			if out := &c.out[e.at]; out.Error != errDropped {
				dst[got] = *out
				got++
			}
			c.out[e.at] = Try[B]{}
			passed++
		}
	}
	e.outs += got
	e.credit += passed
	if e.at < c.items || !complete {
		return got, passed, false
	}
	e.mu.Lock()
	e.put(c)
	e.settle()
	c = e.pop()
	e.mu.Unlock()
	e.cur, e.at = c, 0
	return got, passed, c != nil
}

// takeOpen moves results out of cells that are not complete yet. Under mu, for
// a stage without order, when no complete cell is there.
func (e *cells[A, B]) takeOpen(dst []Try[B]) (got, passed int) {
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
			passed++
		}
	}
	e.outs += got
	e.credit += passed
	return got, passed
}

// await blocks until there is progress that the consumer could take; true
// means that there will be none.
func (e *cells[A, B]) await() (end bool) {
	e.cons.Arm()
	if c := e.cur; c != nil { // InOrder: c is the next one, and not complete
		c.word.Or(waitBit)
		if c.complete() || min(c.items, bits.TrailingZeros64(^c.doneMask())) > e.at {
			e.cons.Disarm()
			return false
		}
		if e.credit > 0 {
			e.mu.Lock()
			e.settle()
			e.mu.Unlock()
		}
		return !e.cons.Park()
	}
	e.mu.Lock()
	e.settle()
	there := e.head != nil
	if e.order == AnyOrder {
		for _, c := range e.open {
			c.word.Or(waitBit)
			there = there || c.doneMask()&^c.taken&low(c.items) != 0
		}
		end = e.ended && e.held == 0
	} else {
		end = e.ended && !there
	}
	e.hungry = !there && !end
	e.mu.Unlock()
	if there || end {
		e.cons.Disarm()
		return end
	}
	return !e.cons.Park()
}
