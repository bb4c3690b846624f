package keyed

import (
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// take makes w the one that runs l, for what has come until now.
func (e *engine[A, K, S, B]) take(w *worker[A, K, S, B], l *lane[A, K, S]) {
	w.lane, w.ran = l, 0
	w.share = int(min(l.pending.Load(), maxRun))
	if e.tiny.Load() {
		w.share = 1 // so that pending is exact, and the next lane's turn comes
	}
	if e.inOrder {
		return
	}
	if l.last > 0 && l.last != w.id {
		e.fenceOff(w, l.last, l.mark)
	}
	if e.soloLast > 0 && e.soloLast != w.id {
		e.fenceOff(w, e.soloLast, e.soloMark)
	}
}

// fenceOff has the reader empty an outlet up to a mark before it takes what w
// publishes from now on.
func (e *engine[A, K, S, B]) fenceOff(w *worker[A, K, S, B], outlet int32, mark uint64) {
	if e.outlets[outlet-1].taken.Load() >= mark {
		return
	}
	r := w.out.slot()
	r.item, r.seq = stage.Try[B]{Error: e.fences[outlet]}, mark
	w.out.fenced.Add(1)
	w.out.publish()
}

// run calls f for the entries of w's lane that are its share. It reports false
// when the stage is closed.
func (e *engine[A, K, S, B]) run(w *worker[A, K, S, B]) bool {
	l, sub, call, refsA, load := w.lane, e.sub, e.call, e.refsA, e.load != nil
	for w.ran < w.share {
		if sub.Stopped() {
			return false
		}
		en := l.front(&w.free)
		seq := en.seq
		var b B
		var err error
		w.calling = true
		if seq == farewell {
			e.farewell(w, en)
			continue
		}
		if load {
			b, err = e.measured(w, en)
		} else if call != nil {
			b, err = call(e.ctx, en.value)
		} else {
			b, err = e.stateful(en.state, en.value)
		}
		w.calling = false
		if refsA {
			*en = entry[A, K, S]{}
		}
		l.got++
		w.ran++
		if err != nil {
			e.emit(w.out, stage.Try[B]{Error: err}, seq)
		} else {
			e.emit(w.out, stage.Try[B]{Value: b}, seq)
		}
	}
	e.finish(w, l)
	return true
}

// finish gives up a lane that w has run.
func (e *engine[A, K, S, B]) finish(w *worker[A, K, S, B], l *lane[A, K, S]) {
	w.made += w.ran
	w.lane = nil
	if e.load != nil {
		l.done.Add(uint64(w.ran - w.byes))
	}
	w.byes = 0
	l.last, l.mark = w.id, w.out.n
	if l.pending.Add(-int64(w.ran)) > 0 {
		w.again = true
		e.back(w, l)
	} else {
		w.closed.Store(w.closed.Load() + 1)
	}
}

// measured calls f, and measures some of the calls.
func (e *engine[A, K, S, B]) measured(w *worker[A, K, S, B], en *entry[A, K, S]) (b B, err error) {
	if m := w.lane.waits; m != nil {
		m.begins()
	}
	var began time.Duration
	if sampled(&w.dice) {
		began = now()
	}
	if e.call != nil {
		b, err = e.call(e.ctx, en.value)
	} else {
		b, err = e.stateful(en.state, en.value)
	}
	if began != 0 {
		w.lane.samples.Add(1)
		w.lane.service.Add(int64(now() - began))
	}
	return b, err
}

// failed is called for an entry whose call has not returned: its result is err.
func (e *engine[A, K, S, B]) failed(w *worker[A, K, S, B], err error) {
	w.calling = false
	if w.solo.on {
		w.solo.results[w.solo.done%spillItems] = stage.Try[B]{Error: err}
		e.tell(w)
		return
	}
	en := w.lane.front(&w.free)
	seq := en.seq
	*en = entry[A, K, S]{}
	w.lane.got++
	w.ran++
	if seq == farewell {
		w.byes++
		e.sub.Fail(err) // it belongs to no item
		e.parted()
		return
	}
	e.emit(w.out, stage.Try[B]{Error: err}, seq)
}

// stateful calls f with a state, which is made if it is new.
func (e *engine[A, K, S, B]) stateful(st *state[A, K, S], item A) (b B, err error) {
	if !st.made {
		s, err := e.newS(e.ctx, st.key)
		if err != nil {
			return b, err
		}
		st.value, st.made = s, true
	}
	return e.with(e.ctx, &st.value, item)
}

// farewell tells of a state that is parted with. If newState has never succeeded
// there is none.
func (e *engine[A, K, S, B]) farewell(w *worker[A, K, S, B], en *entry[A, K, S]) {
	if st := en.state; st.made {
		if e.bye != nil {
			kept := new(S)
			*kept = st.value
			e.bye(st.key, kept)
		}
		var none S
		st.value, st.made = none, false
	}
	w.calling = false
	*en = entry[A, K, S]{}
	w.lane.got++
	w.ran++
	w.byes++
	e.parted()
}

// parted counts a farewell that is done; the last one may be the end.
func (e *engine[A, K, S, B]) parted() {
	if e.farewells.Add(-1) == 0 {
		e.feed()
	}
}

// emit publishes a result, and wakes the reader if it waits for it.
func (e *engine[A, K, S, B]) emit(o *outlet[B], item stage.Try[B], seq uint64) {
	r := o.slot()
	r.item, r.seq = item, seq
	o.publish()
	if want := e.want.Load(); want != 0 && (want == anyResult || want == seq+2) {
		e.feed()
	}
}

// What the reader may want, beside the result of an item.
const anyResult = 1

// wanted reports whether the reader waits for the result of item seq, or of one before
// it.
func (e *engine[A, K, S, B]) wanted(seq uint64) bool {
	want := e.want.Load()
	return want != 0 && (want == anyResult || want <= seq+2)
}

// feed wakes the reader, if it waits.
func (e *engine[A, K, S, B]) feed() {
	if e.want.Load() != 0 && e.want.Swap(0) != 0 {
		e.cons.Wake()
	}
}

// shift is a worker's life, or the part of it up to a call that has not returned
// and whose error is the item's.
func (e *engine[A, K, S, B]) shift(w *worker[A, K, S, B]) {
	if w.solo.on {
		e.play(w) // what is left behind that call
		e.mu.Unlock()
		l := e.find(w) // with a permit, which play has given back
		if l == nil {
			return
		}
		e.take(w, l)
	}
	for {
		if w.lane == nil {
			l := e.next(w)
			if l == nil {
				return
			}
			e.take(w, l)
		}
		if !e.run(w) {
			e.stop(w)
			return
		}
	}
}
