package keyed

import (
	"runtime"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// Alone: while calls cost less than it takes to share them out, whoever pulls keeps
// what it has pulled and runs it at once, in the order of the input, without lanes:
// the soloist. It begins only when no other item is between upstream and the end of
// its call, so the order of each key is the order in which it runs.
//
// That a call is cheap is known when it has returned. So another worker, the guard,
// watches the soloist's progress as long as it runs, and when it stands still takes
// over all that the soloist has not begun, and puts it into lanes; the item in hand
// becomes the first one of its lane, which is then in the soloist's hands. After
// that all is as if there had never been a soloist.
//
// The number of results in the soloist's outlet is also its claim: when result i is
// published, item i+1 is in hand. The guard freezes that number by a bit; then the
// soloist's next publication fails, and nothing but what it had in hand is its own.
//
//	                          e.solo   tail     buf and states           pull right
//	it plays                  it       as is    its own                  its own
//	frozen, has not noticed   nil      frozen   what it has in hand      given up
//	frozen, has noticed       nil      as is    free                     given up
//	done, or stopped          nil      as is    free                     given up
//
// Who waits for whom: a soloist that finds itself frozen waits for mu, which the
// guard holds until the items are in their lanes, some 100 at most.
//
// Invariants, beside those of lanes.go:
//
//   - While there is a soloist all lanes are empty, and it alone has a permit.
//   - Only a guard freezes, under mu, and only a soloist that has an item in hand.
//   - The results of a soloist come behind all that were published before, by a
//     fence for each outlet that has any; and what is run after a soloist comes
//     behind what it has published, by take.
const (
	soloCall  = 150 * time.Nanosecond // a soloist whose calls take more shares them out
	laneCall  = 200 * time.Nanosecond // runs of lanes that take less for an item find a soloist
	watchStep = 8                     // yields between two looks of the guard at the soloist
	watchGaps = 12                    // looks that find no soloist before the guard does something else

	frozen = 1 << 63 // of an outlet's tail
)

// solo is what a worker knows as a soloist.
type solo[A any, K comparable, S any] struct {
	on     bool   // it is one, or has been frozen and has not noticed
	first  uint64 // the number of its first item
	from   uint64 // results in its outlet when it began
	items  int
	states []*state[A, K, S] // of the items; nil without states
	soloTally
}

// alone reports whether whoever pulls may be a soloist. Under mu.
func (e *engine[A, K, S, B]) alone() bool {
	return e.cheap && e.grain > 1 && !e.pinned && e.maxKeys == 0 && e.idleAfter == 0
}

// quiet reports whether nothing is between upstream and the end of its call. Under
// mu, with w having no permit.
func (e *engine[A, K, S, B]) quiet(w *worker[A, K, S, B]) bool {
	return e.running == 0 && w.deque.Len() == 0 && !e.stealable(w)
}

// enough is the room for which a pull is worth while. It is more than 1 only where
// nothing is under way, so that all that is held are results that the reader may take:
// then it is worth while to wait a moment for more. Under mu.
func (e *engine[A, K, S, B]) enough() int {
	if e.Window == 0 && e.alone() && e.running == 0 {
		return e.grain / 2
	}
	return 1
}

// prepare makes the items that w has pulled, the first one with the number seq, ready
// to be played: with their keys and states, and in the books of a Load. The puller's.
func (e *engine[A, K, S, B]) prepare(w *worker[A, K, S, B], items []stage.Try[A], seq uint64) {
	for i := 0; i < len(items); i = e.keysFrom(w, items, i) {
	}
	w.solo.first, w.solo.items = seq, len(items)
	t := e.table
	if t.loose {
		for i := range items {
			if items[i].Error == nil {
				t.hash(w.keys[i]) // which panics if it cannot be: not under a lock
			}
		}
	}
	if t.states != nil {
		if w.solo.states == nil {
			w.solo.states = make([]*state[A, K, S], len(w.buf))
		}
		for i := range items {
			if items[i].Error == nil {
				w.solo.states[i] = t.state(w, w.keys[i])
			}
		}
	}
	if e.load != nil {
		e.enroll(w, items)
	}
}

// enter makes w the soloist. Under mu.
func (e *engine[A, K, S, B]) enter(w *worker[A, K, S, B]) {
	if !e.inOrder {
		for _, v := range e.workers {
			if v != w {
				e.fenceOff(w, v.id, v.out.published())
			}
		}
	}
	w.solo.on, w.solo.from = true, w.out.n
	w.permit, e.pulling = true, true
	e.running++
	e.solo.Store(w)
	e.rouse()
}

// play runs the items of w, which is the soloist, or has been when it returns. It
// returns with mu.
func (e *engine[A, K, S, B]) play(w *worker[A, K, S, B]) {
	s, o, sub, call, load := &w.solo, w.out, e.sub, e.call, e.load != nil
	for s.on && !sub.Stopped() {
		i := int(o.n - s.from)
		if i == s.items {
			break
		}
		item := &w.buf[i]
		result := stage.Try[B]{Error: item.Error}
		if item.Error == nil {
			w.calling = true
			switch {
			case load && s.lane[i]&1 != 0:
				result.Value, result.Error = e.measuredSolo(w, i)
			case call != nil:
				result.Value, result.Error = call(e.ctx, item.Value)
			default:
				result.Value, result.Error = e.stateful(s.states[i], item.Value)
			}
			w.calling = false
			if result.Error != nil {
				result = stage.Try[B]{Error: result.Error}
			}
		}
		e.tell(w, result)
	}
	if s.on {
		w.made = int(o.n - s.from)
	}
	s.on = false
	clock := now()
	e.mu.Lock()
	if e.solo.Load() == w {
		e.solo.Store(nil)
		e.soloLast, e.soloMark = w.id, o.n
		e.pulling = false
		if e.table.refsK {
			clear(w.keys[:s.items])
		}
		if load {
			s.count(w.made)
			if s.runs >= tallyRuns {
				e.flush(w)
			}
		}
		e.book(w, clock, soloCall)
	} else {
		// It has been frozen; or it is stopped, and has been frozen and not noticed:
		// then what it has in hand stays where it is, as nothing runs any more.
		e.book(w, clock, 0)
	}
	w.began = clock
}

// invoke calls f for the soloist's item i. (play has it written out: it is faster.)
func (e *engine[A, K, S, B]) invoke(w *worker[A, K, S, B], i int) (B, error) {
	if e.call != nil {
		return e.call(e.ctx, w.buf[i].Value)
	}
	return e.stateful(w.solo.states[i], w.buf[i].Value)
}

// tell publishes the result of the item in hand, unless w has been frozen: then the
// item is in a lane of w's.
func (e *engine[A, K, S, B]) tell(w *worker[A, K, S, B], result stage.Try[B]) {
	s, o := &w.solo, w.out
	i := o.n - s.from
	r := o.slot()
	r.item, r.seq = result, s.first+i
	if !o.tail.CompareAndSwap(o.n, o.n+1) {
		e.overtaken(w, result)
		return
	}
	o.i++
	o.n++
	if want := e.want.Load(); want != 0 && (want == anyResult || want == s.first+i+2) {
		e.feed()
	}
	if e.refsA {
		w.buf[i] = stage.Try[A]{}
	}
}

// takeOver has w take over from the soloist v. It does nothing if v goes on
// meanwhile, or has nothing more. Under mu.
func (e *engine[A, K, S, B]) takeOver(w, v *worker[A, K, S, B]) {
	s, o := &v.solo, v.out
	p := o.tail.Load()
	i := int(p - s.from)
	if i == s.items || !o.tail.CompareAndSwap(p, p|frozen) {
		return
	}
	e.solo.Store(nil)
	e.soloLast, e.soloMark = v.id, p
	seq := s.first + uint64(i)
	if v.buf[i].Error == nil {
		l, st := e.laneOf(w, v, i)
		if l.put == boxItems {
			l.extend(&w.free)
		}
		en := &l.tail.at[l.put]
		l.put++
		en.seq, en.state = seq, st
		l.pending.Add(1) // it was 0, and the lane lies in no deque: it is in v's hands
		w.opened.Add(1)
		v.lane, v.ran, v.share = l, 0, 1
	}
	for i, seq := i+1, seq+1; i < s.items; i, seq = i+1, seq+1 {
		if err := v.buf[i].Error; err != nil {
			e.emit(w.out, stage.Try[B]{Error: err}, seq)
			continue
		}
		l, st := e.laneOf(w, v, i)
		if l.waits != nil {
			l.waits.comes(false)
		}
		en := w.add(l)
		en.value, en.seq, en.state = v.buf[i].Value, seq, st
	}
	if e.refsA {
		clear(v.buf[i+1 : s.items])
	}
	if e.table.refsK {
		clear(v.keys[:s.items])
	}
	e.lay(w)
	e.steals.Add(uint64(len(w.touched)))
	clear(w.touched)
	w.touched = w.touched[:0]
	e.pulling = false
}

// laneOf is the lane and the state of item i of the soloist v. The puller's.
func (e *engine[A, K, S, B]) laneOf(w, v *worker[A, K, S, B], i int) (*lane[A, K, S], *state[A, K, S]) {
	if e.table.states != nil {
		st := v.solo.states[i]
		return st.home, st
	}
	return e.table.lookup(w, v.keys[i])
}

// overtaken is what a soloist does with its result when it has been frozen.
func (e *engine[A, K, S, B]) overtaken(w *worker[A, K, S, B], result stage.Try[B]) {
	e.mu.Lock() // the guard has put all else into lanes then
	l := w.lane
	e.mu.Unlock()
	s, o := &w.solo, w.out
	i := o.n - s.from
	s.on = false
	w.made = int(i)
	w.buf[i] = stage.Try[A]{}
	if e.load != nil {
		s.count(w.made)
		e.flush(w)
	}
	if l != nil {
		*l.front(&w.free) = entry[A, K, S]{}
		l.got++
		w.ran++
	}
	e.emit(o, result, s.first+i)
	if l != nil {
		e.finish(w, l)
	} else {
		w.made++
	}
}

// watch follows the soloist v, whose outlet's tail was at, and any after it. It
// returns the one that has stood still, and its tail, or nil if there has been none
// for a while.
func (e *engine[A, K, S, B]) watch(v *worker[A, K, S, B], at uint64) (*worker[A, K, S, B], uint64) {
	for gaps := 0; gaps < watchGaps && !e.sub.Stopped(); {
		for range watchStep {
			runtime.Gosched()
		}
		now := e.solo.Load()
		if now == nil {
			v = nil
			gaps++
			continue
		}
		tail := now.out.tail.Load()
		if now == v && tail == at {
			return v, at
		}
		v, at, gaps = now, tail, 0
	}
	return nil, 0
}
