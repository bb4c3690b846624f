package keyed

import (
	"runtime/debug"

	"github.com/seed95b73fdc/sluice/stage"
)

// pull takes items from upstream, for which there is room, and puts them into
// their lanes; or, if nothing else is under way and w may be alone, runs them. Under
// mu, which it gives up meanwhile.
func (e *engine[A, K, S, B]) pull(w *worker[A, K, S, B], room int, alone bool) {
	k := min(e.grain, e.offer, room)
	first := e.pulled
	e.pulling = true
	e.pulled += uint64(k)
	e.asked = k
	if e.full != 0 {
		e.stat.Blocked += now() - e.full
		e.full = 0
	}
	for i := 0; i < k && !alone && e.free.first != nil; i++ { // and not all: others pull too
		w.free.put(e.free.get())
	}
	if e.stealable(w) {
		e.rouse() // upstream may block: someone must watch over the lanes
	}
	e.mu.Unlock()
	before := w.began
	if before == 0 {
		before = now()
	}
	if len(w.buf) < k {
		w.buf = make([]stage.Try[A], maxGrain)
		w.keys = make([]K, maxGrain)
	}
	got := e.up.Next(w.buf[:k])
	at := now()
	alone = alone && got > 0
	if alone {
		e.prepare(w, w.buf[:got], first)
	} else {
		e.route(w, w.buf[:got], first)
	}
	e.mu.Lock()
	e.stat.Starved += at - before
	e.stat.In += uint64(got)
	e.asked = 0
	e.pulled -= uint64(k - got)
	e.pulling = false
	if got == 0 {
		e.ended = true
		e.flush(w)
		e.feed()
	} else if got == k {
		e.offer = min(e.offer*2, maxGrain)
	} else {
		e.offer = got * 2
	}
	w.began, w.made = at, 0
	clear(w.touched)
	w.touched = w.touched[:0]
	if alone {
		e.enter(w)
		e.mu.Unlock()
		e.play(w)
	}
}

// route puts items, the first one with the number seq, into their lanes, and the
// lanes that had none before into w's deque. With no items it parts with all
// states. The puller's.
func (e *engine[A, K, S, B]) route(w *worker[A, K, S, B], items []stage.Try[A], seq uint64) {
	for i := 0; i < len(items); i = e.keysFrom(w, items, i) {
	}
	t := e.table
	if t.rung != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
	}
	for i := range items {
		if items[i].Error != nil {
			e.emit(w.out, stage.Try[B]{Error: items[i].Error}, seq+uint64(i))
			continue
		}
		l, st := t.lookup(w, w.keys[i])
		if st != nil && t.rung != nil {
			st.last = now()
		}
		if e.load != nil {
			some := sampled(&w.dice)
			if some {
				e.load.see(w.keys[i], int(l.index), 1)
			}
			if l.waits != nil {
				l.waits.comes(some)
			}
		}
		en := w.add(l)
		en.value, en.seq, en.state = items[i].Value, seq+uint64(i), st
	}
	if e.refsA {
		clear(items)
	}
	if t.refsK {
		clear(w.keys[:len(items)])
	}
	if len(items) == 0 && !e.sub.Stopped() {
		t.partAll(w, 0)
	}
	e.lay(w)
	if t.rung != nil {
		t.watch()
	}
}

// lay puts the lanes that w has put something into, and that had nothing before,
// where they are run from. The puller's.
func (e *engine[A, K, S, B]) lay(w *worker[A, K, S, B]) {
	w.opened.Add(w.commit())
	if e.pinned {
		e.inject(w.touched)
		return
	}
	for i := len(w.touched) - 1; i >= 0; i-- {
		w.deque.Push(w.touched[i]) // what came first is pushed last, and run first
	}
}

// keysFrom finds the keys of items, from the i-th on, and returns how far it has
// come. With RecoverPanics a panic of key is the item's error.
func (e *engine[A, K, S, B]) keysFrom(w *worker[A, K, S, B], items []stage.Try[A], i int) (next int) {
	next = i
	if e.RecoverPanics {
		defer func() {
			if next < len(items) {
				if v := recover(); v != nil {
					items[next] = stage.Try[A]{Error: &stage.Panic{Stage: e.name, Value: v, Stack: debug.Stack()}}
				}
			}
		}()
	}
	for ; next < len(items); next++ {
		if items[next].Error == nil {
			w.keys[next] = e.key(items[next].Value)
		}
	}
	return next
}

// commit shows the runners what has been added, and leaves in touched the lanes
// that had nothing before, and returns how many these are.
func (w *worker[A, K, S, B]) commit() uint64 {
	ready := w.touched[:0]
	for _, l := range w.touched {
		fresh := int64(l.fresh)
		l.fresh = 0
		if l.pending.Add(fresh) == fresh {
			ready = append(ready, l)
		}
	}
	w.touched = ready
	return uint64(len(ready))
}
