package keyed

import (
	"runtime"
	"sync/atomic"
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
// The soloist counts the items that it has done in claim, one by one: when that is i,
// item i is in hand. The guard freezes claim by a bit; then the soloist's next count
// fails, and nothing but what it had in hand is its own.
//
// A result that crosses to another processor costs more than most calls do. So the
// soloist collects a few before it spills them into its outlet. It does so at once
// when the reader waits, and with an error, which a cancellation that comes later must
// not mask. The guard does it for a soloist that it has frozen. With n = 1 there is no
// guard, and so no claim: then each result goes into the outlet at once, or a call that
// does not return would hold up those before it.
//
//	                          e.solo   claim      buf and states           pull right
//	it plays                  it       as is      its own                  its own
//	it spills                 it       spilling   its own                  its own
//	frozen, has not noticed   nil      frozen     what it has in hand      given up
//	frozen, has noticed       nil      as is      free                     given up
//	done, or stopped          nil      as is      free                     given up
//
// Who waits for whom: a soloist that finds itself frozen waits for mu, which the
// guard holds until the items are in their lanes, some 100 at most.
//
// Invariants, beside those of lanes.go:
//
//   - While there is a soloist all lanes are empty, and it alone has a permit.
//   - Only a guard freezes, under mu, and only a soloist that has an item in hand and
//     does not spill. So the outlet is the soloist's or, while it is frozen and under
//     mu, the guard's.
//   - What has been claimed is spilled when the soloist is done, or stands still and is
//     taken over; when it is stopped nobody wants it any more. With n = 1 nobody could
//     take over: so nothing is kept back, and there is no claim. Whoever spills looks at
//     want afterwards, so no result is slept through.
//   - The results of a soloist come behind all that were published before, by a
//     fence for each outlet that has any; and what is run after a soloist comes
//     behind what it has published, by take.
const (
	soloCall     = 150 * time.Nanosecond // a soloist whose calls take more shares them out
	laneCall     = 200 * time.Nanosecond // runs of lanes that take less for an item find a soloist
	watchStep    = 8                     // yields between two looks of the guard at the soloist
	patience     = 8                     // looks that find the soloist standing still before it is taken over
	patienceTime = 50 * time.Microsecond // or so much time between the first of them and another one
	watchGaps    = 12                    // looks that find no soloist before the guard does something else

	spillItems = 16 // results that a soloist collects

	frozen   = 1 << 63 // of a claim
	spilling = 1 << 62
)

// solo is what a worker knows as a soloist.
type solo[A any, K comparable, S, B any] struct {
	on      bool   // it is one, or has been frozen and has not noticed
	first   uint64 // the number of its first item
	items   int
	done    int                      // of them, those that it has claimed
	due     int                      // when it has claimed so many it spills
	spilled int                      // items in its outlet; for who may spill
	base    uint64                   // claim when it began
	results [spillItems]stage.Try[B] // of those between spilled and done, and of the next
	states  []*state[A, K, S]        // of the items; nil without states
	soloTally
	_     [lineSize]byte
	claim atomic.Uint64 // items done as a soloist, ever; and frozen or spilling
	_     [lineSize]byte
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

// hope keeps for how many pulls it is not waited for quiet: for more and more, while a
// call that is stuck lets none come. Under mu.
func (e *engine[A, K, S, B]) hope(quiet bool) {
	switch {
	case quiet:
		e.gap, e.vain = 0, 0
	case e.gap > 0:
		e.gap--
	default:
		e.vain = min(2*e.vain+1, maxGap)
		e.gap = e.vain
	}
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
	s := &w.solo
	s.on, s.done, s.due, s.spilled, s.base = true, 0, spillItems, 0, s.claim.Load()
	w.permit, e.pulling = true, true
	e.running++
	e.solo.Store(w)
	e.rouse()
}

// play runs the items of w, which is the soloist, or has been when it returns. It
// returns with mu.
func (e *engine[A, K, S, B]) play(w *worker[A, K, S, B]) {
	s, sub, call, load := &w.solo, e.sub, e.call, e.load != nil
	for s.on && s.done < s.items && !sub.Stopped() {
		i := s.done
		item, result := &w.buf[i], &s.results[i%spillItems]
		if item.Error != nil {
			*result = stage.Try[B]{Error: item.Error}
			e.tell(w)
			continue
		}
		w.calling = true
		switch {
		case load && s.picked(i):
			result.Value, result.Error = e.measuredSolo(w)
		case call != nil:
			result.Value, result.Error = call(e.ctx, item.Value)
		default:
			result.Value, result.Error = e.stateful(s.states[i], item.Value)
		}
		w.calling = false
		if result.Error != nil {
			*result = stage.Try[B]{Error: result.Error}
		}
		e.tell(w)
	}
	if s.on {
		w.made = s.done
	}
	s.on = false
	clock := now()
	e.mu.Lock()
	if e.solo.Load() == w {
		e.solo.Store(nil)
		e.soloLast, e.soloMark = w.id, w.out.n
		e.pulling = false
		if load {
			e.uncount(w, s.done)
			if s.runs >= tallyRuns {
				e.flush(w)
			}
		}
		if e.table.refsK {
			clear(w.keys[:s.items])
		}
		e.book(w, clock, soloCall)
	} else {
		// It has been frozen; or it is stopped, and has been frozen and not noticed:
		// then what it has in hand stays where it is, as nothing runs any more.
		e.stat.Busy += clock - w.began
		w.made = 0
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

// takeOver has w take over from the soloist v. It does nothing if v goes on
// meanwhile, or has nothing more. Under mu.
func (e *engine[A, K, S, B]) takeOver(w, v *worker[A, K, S, B]) {
	s := &v.solo
	p := s.claim.Load()
	i := int(p - s.base) // not while it spills: that is no claim
	if p&spilling != 0 || i == s.items || !s.claim.CompareAndSwap(p, p|frozen) {
		return
	}
	e.spill(v, i)
	e.solo.Store(nil)
	e.soloLast, e.soloMark = v.id, v.out.n
	if e.load != nil {
		e.uncount(v, i)
	}
	w.free.drain(&e.free)
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
	e.free.drain(&w.free)
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

// watch follows the soloist v, whose claim was at, and any after it. It returns the
// one that has stood still, and its claim, or nil if there has been none for a while.
// A moment is not enough: its processor may have had something else to do. How long
// it is goes by looks, and by the clock where these are far apart.
func (e *engine[A, K, S, B]) watch(v *worker[A, K, S, B], at uint64) (*worker[A, K, S, B], uint64) {
	still, since := 0, time.Duration(0)
	for gaps := 0; gaps < watchGaps && !e.sub.Stopped(); {
		for range watchStep {
			runtime.Gosched()
		}
		soloist := e.solo.Load()
		if soloist == nil {
			v, still = nil, 0
			gaps++
			continue
		}
		claim := soloist.solo.claim.Load()
		if soloist != v || claim != at {
			v, at, gaps, still = soloist, claim, 0, 0
			continue
		}
		clock := now()
		if still++; still == 1 {
			since = clock
		}
		if still == patience || clock-since > patienceTime {
			return v, at
		}
	}
	return nil, 0
}
