package keyed

import (
	"runtime"
	"time"

	"github.com/seed95b73fdc/sluice/lockfree"
	"github.com/seed95b73fdc/sluice/stage"
)

const (
	dequeSize  = 64
	lookOnce   = 8  // yields of a worker between two looks for work
	loiters    = 12 // looks of a worker that finds none, before it parks
	maxGap     = 31 // pulls between two that wait for a moment to be alone, when that is in vain
	guardLooks = 2  // looks of a guard before it acts on what another worker may do anyway
)

// rouse wakes an idle worker, or starts one, to be the guard, unless there is one
// or none is needed. Under mu.
func (e *engine[A, K, S, B]) rouse() {
	if e.pinned {
		e.rousePinned()
		return
	}
	if e.guard || e.running >= e.n || e.sub.Stopped() {
		return
	}
	if k := len(e.idle) - 1; k >= 0 {
		w := e.idle[k]
		e.idle = e.idle[:k]
		w.guard, e.guard = true, true
		w.wait.Wake()
		return
	}
	if k := len(e.workers); k < e.n || k == e.n && e.pulling {
		w := e.hire()
		w.guard, e.guard = true, true
		e.start(w)
	}
}

// hire makes a worker.
func (e *engine[A, K, S, B]) hire() *worker[A, K, S, B] {
	k := len(e.workers)
	w := &worker[A, K, S, B]{id: int32(k + 1), out: &e.outlets[k], wait: e.sub.NewWaiter(e.name, e.why)}
	w.deque = lockfree.NewDeque[*lane[A, K, S]](dequeSize)
	w.out.init()
	e.workers = append(e.workers, w)
	e.alive++
	return w
}

// start gives a worker its goroutine, or another one when that is lost in f.
func (e *engine[A, K, S, B]) start(w *worker[A, K, S, B]) {
	e.sub.GoElse(e.name, func() {
		e.shift(w)
		e.leave(w)
	}, func(p *stage.Panic) (settled bool) {
		if !w.calling || p != nil && !e.RecoverPanics {
			e.leave(w)
			return false
		}
		err := stage.Goexit(e.name)
		if p != nil {
			err = p
		}
		e.failed(w, err)
		e.start(w)
		return true
	})
}

// leave is the end of a worker's goroutine.
func (e *engine[A, K, S, B]) leave(w *worker[A, K, S, B]) {
	w.wait.Free()
	e.mu.Lock()
	e.alive--
	last := e.alive == 0 && e.sub.Stopped()
	e.mu.Unlock()
	if last {
		e.gone.Do(func() { close(e.over) })
	}
}

// why describes an idle worker of a stalled run.
func (e *engine[A, K, S, B]) why() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.pulling && !e.ended && e.room(1) <= 0 {
		return "window is full, its reader waits elsewhere"
	}
	return ""
}

// tend sees to it that the pull right, which is free, is taken up: now if there is
// room, or else when the reader has made some. Under mu.
func (e *engine[A, K, S, B]) tend() {
	if e.pulling || e.ended || e.running >= e.n && !e.pinned {
		return
	}
	if e.roomOrShort() {
		e.rouse()
	}
}

// roomOrShort reports whether an item may be pulled, and if not, has the reader
// call tend when it has made room. Under mu, with the pull right free.
func (e *engine[A, K, S, B]) roomOrShort() bool {
	if e.room(1) > 0 {
		return true
	}
	e.short.Store(true)
	if e.room(1) > 0 {
		return true
	}
	if e.full == 0 {
		e.full = now()
	}
	return false
}

// stealable reports whether there is a lane that w could run. Under mu.
func (e *engine[A, K, S, B]) stealable(w *worker[A, K, S, B]) bool {
	if len(e.handed) > 0 {
		return true
	}
	for _, v := range e.workers {
		if v != w && v.deque.Len() > 0 {
			return true
		}
	}
	return false
}

// steal takes a lane that was handed in, or lies in another worker's deque. Under
// mu.
func (e *engine[A, K, S, B]) steal(w *worker[A, K, S, B]) *lane[A, K, S] {
	if k := len(e.handed) - 1; k >= 0 {
		l := e.handed[k]
		e.handed[k] = nil
		e.handed = e.handed[:k]
		return l
	}
	for i := range e.workers {
		v := e.workers[(i+int(w.id))%len(e.workers)] // the one behind w first
		if v == w {
			continue
		}
		for {
			l, o := v.deque.Steal()
			if o == lockfree.Success {
				e.steals.Add(1)
				return l
			}
			if o == lockfree.Empty {
				break
			}
		}
	}
	return nil
}

// hand gives lanes to whoever is free. Under mu.
func (e *engine[A, K, S, B]) hand(lanes []*lane[A, K, S]) {
	if len(lanes) == 0 {
		return
	}
	if e.pinned {
		e.injectLocked(lanes)
		return
	}
	e.handed = append(e.handed, lanes...)
	e.rouse()
}

// back puts a lane that has been run, and has more, where it comes from.
func (e *engine[A, K, S, B]) back(w *worker[A, K, S, B], l *lane[A, K, S]) {
	if e.pinned {
		w.own = append(w.own, l)
		return
	}
	w.deque.Push(l)
}

// next returns the next lane for w, and blocks until there is one; nil means that
// the stage is closed.
func (e *engine[A, K, S, B]) next(w *worker[A, K, S, B]) *lane[A, K, S] {
	if e.pinned {
		return e.nextPinned(w)
	}
	if w.again {
		// The lane at the near end has had its turn: now the oldest one.
		w.again = false
		for {
			l, o := w.deque.Steal()
			if o == lockfree.Success {
				return l
			}
			if o == lockfree.Empty {
				break
			}
		}
	} else if l, ok := w.deque.Pop(); ok {
		return l
	}
	return e.find(w)
}

// find is next for a worker whose deque is empty: it pulls, steals, or waits.
//
// There is no defer of Unlock: upstream's Next and key may panic, with mu free.
func (e *engine[A, K, S, B]) find(w *worker[A, K, S, B]) *lane[A, K, S] {
	var clock time.Duration
	if w.made > 0 {
		clock = now()
	}
	e.mu.Lock()
	e.book(w, clock, laneCall)
	w.began = clock
	guard, looks, mine := w.guard, 0, false // mine: it was the soloist just now
	w.guard = false
	for {
		if e.sub.Stopped() {
			if guard {
				e.guard = false
			}
			e.mu.Unlock()
			return nil
		}
		free := e.running < e.n
		if free {
			// What it has just pulled; or earlier, when there was no permit.
			if l, ok := w.deque.Pop(); ok {
				if guard {
					e.guard = false
				}
				e.running++
				w.permit = true
				if w.deque.Len() > 0 {
					e.rouse()
				} else {
					e.tend()
				}
				e.mu.Unlock()
				return l
			}
		}
		room := 0
		if free && !e.pulling && !e.ended {
			room = e.room(e.grain) // asked once: it may be less a moment later
		}
		canPull := room > 0 && (looks >= loiters || room >= e.enough())
		canSteal := free && e.stealable(w)
		tiny := e.grain == 1
		if v := e.solo.Load(); v != nil && free && (guard || !e.guard) {
			guard, e.guard = true, true
			at := v.solo.claim.Load()
			e.mu.Unlock()
			v, at = e.watch(v, at)
			e.mu.Lock()
			w.began = now()
			if v != nil && v == e.solo.Load() && at == v.solo.claim.Load() && !e.sub.Stopped() {
				e.takeOver(w, v)
			}
			continue
		}
		alone := canPull && e.alone()
		if alone && looks < loiters && e.gap == 0 && !e.quiet(w) {
			canPull = false // for a moment: it may well be quiet soon
		}
		switch {
		case canSteal && (tiny || looks >= guardLooks && !canPull || looks >= loiters):
			if guard {
				e.guard, guard = false, false
			}
			l := e.steal(w)
			if l == nil {
				looks = 0
				continue
			}
			e.running++
			w.permit = true
			e.rouse()
			e.mu.Unlock()
			if w.began == 0 {
				w.began = now()
			}
			return l
		case canPull && (tiny || e.running < e.procs || looks >= guardLooks):
			if guard {
				e.guard, guard = false, false
			}
			mine = alone && e.quiet(w)
			if alone {
				e.hope(mine)
			}
			e.pull(w, room, mine)
			looks = 0
			continue
		}
		work := room > 0 || canSteal
		if (work || looks < loiters && !e.slow.Load()) && (guard || !e.guard || mine) {
			if !e.guard {
				guard, e.guard = true, true
			}
			e.mu.Unlock()
			took := e.took.Load()
			for range lookOnce {
				runtime.Gosched()
				if room == 0 && e.took.Load() != took {
					break // there may be room
				}
			}
			e.mu.Lock()
			if work || e.took.Load() == took {
				looks++
			}
			w.began = 0
			continue
		}
		if guard {
			e.guard, guard = false, false
		}
		e.idle = append(e.idle, w)
		e.flush(w)
		w.wait.Arm()
		if !e.guard {
			e.tend() // which may well rouse w itself
		}
		e.mu.Unlock()
		w.wait.Park()
		e.mu.Lock()
		w.began, looks, mine = 0, 0, false
		guard, w.guard = w.guard, false
	}
}

// book takes w's permit back and enters what it has run since the last time; clock
// is the time. An item that has taken less than cheap has cost less than it takes to
// share it out. Under mu.
func (e *engine[A, K, S, B]) book(w *worker[A, K, S, B], clock, cheap time.Duration) {
	e.dismiss(w)
	e.free.drain(&w.free)
	if w.made == 0 {
		return
	}
	took := clock - w.began
	e.stat.Busy += took
	dear := took >= cheap*time.Duration(w.made)
	if !dear || e.dear || cheap != soloCall {
		e.cheap = !dear
		e.pace(took, w.made)
	}
	e.dear = dear
	w.made = 0
}

// dismiss takes w's permit back. Under mu.
func (e *engine[A, K, S, B]) dismiss(w *worker[A, K, S, B]) {
	if w.permit {
		w.permit = false
		e.running--
	}
}

// stop gives up what w has in hand, when the stage is closed.
func (e *engine[A, K, S, B]) stop(w *worker[A, K, S, B]) {
	e.mu.Lock()
	e.dismiss(w)
	e.mu.Unlock()
}

// pace chooses the grain by the time that made items took. Under mu.
func (e *engine[A, K, S, B]) pace(took time.Duration, made int) {
	took = max(took, 1)
	slow := took/time.Duration(made) > slowCall || e.grain > 1 && e.offer <= 2
	if slow != e.slow.Load() {
		e.slow.Store(slow)
	}
	could := int(int64(made) * int64(slowPull) / int64(took))
	switch {
	case took < cheapPull && made >= e.grain:
		e.grain = min(2*e.grain, e.maxPull())
	case took > slowPull && could < e.grain:
		e.grain = max(1, min(e.grain/2, could))
	default:
		return
	}
	e.tiny.Store(e.grain == 1)
}
