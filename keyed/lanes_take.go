package keyed

import (
	"math/bits"
	"runtime"

	"github.com/seed95b73fdc/sluice/stage"
)

const (
	spins      = 24  // yields of the reader before it parks, but for
	spinBudget = 128 // yields, in any number of waits, after which it parks at once
	restYields = 6   // yields between two looks at the outlet of a soloist
)

// Next moves results that are there, and blocks while none is.
func (e *engine[A, K, S, B]) Next(dst []stage.Try[B]) int {
	stopped := e.scope.Stopped()
	if !e.started {
		if stopped {
			return 0
		}
		e.begin()
	}
	for round := 0; ; round++ {
		if k := e.gather(dst); k > 0 {
			e.settle(dst[:k])
			return k
		}
		if e.outlets == nil || e.scope.Stopped() {
			return 0
		}
		if round < spins && e.spun < spinBudget && !e.slow.Load() {
			if e.solo.Load() == nil {
				e.spun++ // a soloist spills soon, or is taken over; with n = 1 it spills each
			}
			runtime.Gosched()
			for k := 1; k < restYields && e.solo.Load() != nil; k++ {
				runtime.Gosched() // to look at its outlet disturbs the soloist
			}
			continue
		}
		if e.await() {
			return 0
		}
		e.spun, round = 0, 0
	}
}

// settle makes room for what has been taken.
func (e *engine[A, K, S, B]) settle(items []stage.Try[B]) {
	errs := 0
	for i := range items {
		if items[i].Error != nil {
			errs++
		}
	}
	if errs > 0 {
		e.errs.Add(uint64(errs))
	}
	e.took.Add(uint64(len(items)))
	if e.short.Load() {
		e.mu.Lock()
		e.short.Store(false)
		if e.full != 0 && !e.pulling && e.room(1) > 0 {
			e.stat.Blocked += now() - e.full
			e.full = 0
		}
		e.tend()
		e.mu.Unlock()
	}
}

// gather moves results that may be taken to dst, and returns how many.
func (e *engine[A, K, S, B]) gather(dst []stage.Try[B]) (k int) {
	if e.inOrder {
		return e.gatherInOrder(dst)
	}
	for moved := true; moved && k < len(dst); {
		moved = false
		for i := range e.outlets {
			o := &e.outlets[i]
			got, some := e.empty(o, dst[k:])
			k += got
			moved = moved || some
		}
	}
	return k
}

// empty moves results of one outlet to dst, up to a fence that is closed; some
// tells whether it has moved at all.
func (e *engine[A, K, S, B]) empty(o *outlet[B], dst []stage.Try[B]) (got int, some bool) {
	tail := o.published()
	from, closed := o.pos, false
	for o.pos < tail && got < len(dst) && !closed {
		results := o.front(tail)
		k := 0
		for ; k < len(results) && got < len(dst); k++ {
			r := &results[k]
			if r.item.Error != nil {
				if f, ok := r.item.Error.(fence); ok {
					if e.outlets[f-1].pos < r.seq {
						closed = true
						break
					}
					r.item.Error = nil
					continue
				}
			}
			dst[got] = r.item
			got++
		}
		o.pop(results[:k], e.refsB)
	}
	if o.pos == from {
		return 0, false
	}
	o.taken.Store(o.pos)
	return got, true
}

// reorder holds results that came before an earlier item's.
type reorder[B any] struct {
	head uint64 // the item whose result is next
	ring []late[B]
}

type late[B any] struct {
	item stage.Try[B]
	seq1 uint64 // the item's number and 1, or 0
}

// put holds a result. The ring grows to no more than twice the window.
func (r *reorder[B]) put(item stage.Try[B], seq uint64) {
	if need := seq - r.head + 1; need > uint64(len(r.ring)) {
		ring := make([]late[B], max(maxGrain, 1<<bits.Len64(need-1)))
		for i := range r.ring {
			if l := r.ring[i]; l.seq1 > 0 {
				ring[(l.seq1-1)&uint64(len(ring)-1)] = l
			}
		}
		r.ring = ring
	}
	r.ring[seq&uint64(len(r.ring)-1)] = late[B]{item, seq + 1}
}

// gatherInOrder moves the results of the next items.
func (e *engine[A, K, S, B]) gatherInOrder(dst []stage.Try[B]) (k int) {
	for i := range e.outlets {
		o := &e.outlets[i]
		tail := o.published()
		if o.pos == tail {
			continue
		}
		for o.pos < tail {
			results := o.front(tail)
			for i := range results {
				r := &results[i]
				if r.seq == e.late.head && k < len(dst) {
					dst[k] = r.item
					k++
					e.late.head++
				} else {
					e.late.put(r.item, r.seq)
				}
			}
			o.pop(results, e.refsB)
		}
		o.taken.Store(o.pos)
	}
	r := &e.late
	if len(r.ring) == 0 {
		return k
	}
	mask := uint64(len(r.ring) - 1)
	for k < len(dst) {
		l := &r.ring[r.head&mask]
		if l.seq1 != r.head+1 {
			break
		}
		dst[k] = l.item
		if e.refsB {
			*l = late[B]{}
		}
		k++
		r.head++
	}
	return k
}

// there reports whether gather would find something.
func (e *engine[A, K, S, B]) there() bool {
	if !e.inOrder {
		for i := range e.outlets {
			if e.outlets[i].pos != e.outlets[i].published() {
				return true
			}
		}
		return false
	}
	for i := range e.outlets {
		o := &e.outlets[i]
		for tail := o.published(); o.pos < tail; {
			results := o.front(tail)
			for i := range results {
				e.late.put(results[i].item, results[i].seq)
			}
			o.pop(results, e.refsB)
		}
		o.taken.Store(o.pos)
	}
	r := &e.late
	return len(r.ring) > 0 && r.ring[r.head&uint64(len(r.ring)-1)].seq1 == r.head+1
}

// await blocks until there is a result that can be taken; true means that there
// will be none.
func (e *engine[A, K, S, B]) await() (end bool) {
	e.cons.Arm()
	if e.inOrder {
		e.want.Store(e.late.head + 2)
	} else {
		e.want.Store(anyResult)
	}
	there := e.there()
	if !there {
		e.mu.Lock()
		end = e.drained()
		e.mu.Unlock()
	}
	if there || end {
		e.want.Store(0)
		e.cons.Disarm()
		return end
	}
	ok := e.cons.Park()
	e.want.Store(0)
	return !ok
}
