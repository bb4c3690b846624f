package batch

import (
	"sync"
	"time"

	"github.com/seed95b73fdc/sluice/lockfree"
	"github.com/seed95b73fdc/sluice/stage"
)

// agedReader is the reader of a stage with Within. A goroutine, the pump, reads
// upstream and fills batches; the reader takes what is complete, or what is old
// enough. Invariants:
//
//   - The gatherer and its outbox are the pump's while it works, and the reader's
//     under mu while the pump waits: then they are lent. The pump lends them before
//     it asks upstream for items, and when it waits for room.
//   - What is in ready comes before what is in the outbox, and that before what is
//     in open batches. The pump goes on only when its outbox is empty.
//   - The reader waits for the pump, and for the clock if a batch is open and lent.
//     The pump wakes it when ready gets something, when it has lent open
//     batches to a reader that waits without a clock, and when it ends.
//   - The pump waits for upstream, and for the reader to have emptied the
//     outbox; the reader wakes it then.
//   - A wait with a clock is no stall, as the clock will end it.
type agedReader[T any] struct {
	scope *stage.Scope
	sub   *stage.Scope // upstream's and the pump's
	up    stage.Reader[T]
	name  string
	d     time.Duration
	open  int // batches that may be open at once
	over  chan struct{}
	begun bool
	epoch time.Time

	item  *stage.Waiter // the reader's: for something to take
	timer *time.Timer
	armed time.Duration // when the timer fires; 0: it does not run
	space *stage.Waiter // the pump's: for the outbox to be empty

	mu    sync.Mutex // never held while somebody waits
	g     gatherer[T]
	out   *outbox[T]
	stock *stock[T]
	size  int
	ready outbox[T]
	want  int // batches that the reader has asked for last
	lent  bool
	short bool // the pump waits for space
	waits waiting
	ended bool
	stats stage.StageStats
	held  int
	since time.Duration // when the pump began to wait
}

// waiting is how the reader waits.
type waiting uint8

const (
	notAtAll waiting = iota
	clockless
	clocked
)

func newAged[T any](s, sub *stage.Scope, up stage.Reader[T], name string, d time.Duration, g gatherer[T], out *outbox[T], st *stock[T], open int) *agedReader[T] {
	r := &agedReader[T]{
		scope: s, sub: sub, up: up, name: name, d: d, open: open,
		over: make(chan struct{}),
		g:    g, out: out, stock: st, size: st.size, want: 1,
	}
	r.item = s.NewWaiter(name, func() string { return "its reader waits for an item" })
	r.space = sub.NewWaiter(name, func() string { return "holds a batch that its reader does not take" })
	s.Report(r.snapshot)
	return r
}

func (r *agedReader[T]) now() time.Duration { return time.Since(r.epoch) }

// looks is how often a reader that finds nothing yields before it waits: the
// pump may be about to bring something.
const looks = 16

// Next is called by one goroutine at a time.
func (r *agedReader[T]) Next(dst []stage.Try[[]T]) int {
	r.stock.back()
	if !r.begun {
		if r.sub.Stopped() {
			return 0
		}
		r.begun, r.epoch = true, time.Now()
		r.want = min(len(dst), chunk)
		r.sub.Go(r.name, r.pump)
	}
	for round := 0; ; round++ {
		r.mu.Lock()
		r.want, r.waits = min(len(dst), chunk), notAtAll
		k := r.give(dst)
		var until time.Duration
		aging := false
		if k == 0 && r.lent && !r.ended {
			if until, aging = r.g.oldest(); aging {
				until += r.d
				if now := r.now(); now >= until {
					k = r.overdue(dst, now)
				}
			}
		}
		if k > 0 || r.ended || r.scope.Stopped() {
			r.mu.Unlock()
			r.stock.out(dst[:k])
			return k
		}
		if round < looks {
			r.mu.Unlock()
			yield()
			continue
		}
		r.waits = clockless
		if aging {
			r.waits = clocked
		}
		r.item.Arm()
		r.mu.Unlock()
		if !r.park(until, aging) {
			return 0
		}
	}
}

// park waits for the pump, and if aging for a time to come; false means that the
// scope has ended.
func (r *agedReader[T]) park(until time.Duration, aging bool) bool {
	if !aging {
		return r.item.Park()
	}
	if r.armed != until {
		if r.timer == nil {
			r.timer = time.NewTimer(until - r.now())
		} else {
			r.timer.Reset(until - r.now())
		}
		r.armed = until
	}
	woken, fired := r.item.ParkUntil(r.timer.C)
	if fired {
		r.armed = 0 // should the two clocks ever disagree
	}
	return woken || fired
}

// give moves what is complete to dst, and wakes the pump if that makes space.
func (r *agedReader[T]) give(dst []stage.Try[[]T]) int {
	k := r.ready.give(dst)
	if r.lent {
		if r.ready.empty() {
			k += r.out.give(dst[k:])
		}
		r.stow()
		if r.short && r.out.empty() {
			r.short = false
			r.space.Wake()
		}
	}
	r.count(dst[:k])
	return k
}

// stow moves what is in the outbox to ready, as far as there is room.
func (r *agedReader[T]) stow() {
	var one [1]stage.Try[[]T]
	for r.ready.len() < r.want && r.out.give(one[:]) > 0 {
		r.ready.put(one[0])
	}
}

// overdue moves batches that are old enough to dst. The gatherer is lent.
func (r *agedReader[T]) overdue(dst []stage.Try[[]T], now time.Duration) int {
	for r.out.len() < len(dst) {
		born, open := r.g.oldest()
		if !open || now < born+r.d {
			break
		}
		r.g.closeOldest()
	}
	k := r.out.give(dst)
	r.count(dst[:k])
	return k
}

// wake wakes the reader if it waits. Under mu.
func (r *agedReader[T]) wake() {
	if r.waits != notAtAll {
		r.waits = notAtAll
		r.item.Wake()
	}
}

// pump is the goroutine. It ends with the input, or when sub is cancelled.
func (r *agedReader[T]) pump() {
	defer close(r.over)
	buf := make([]stage.Try[T], chunk)
	keep := !lockfree.HoldsPointers[T]()
	for {
		room := r.lend()
		k := r.up.Next(buf[:room])
		came := r.takeBack(k)
		if k == 0 {
			break
		}
		r.take(buf[:k], came)
		if !keep {
			clear(buf[:k])
		}
		if !r.deliver() {
			return
		}
	}
	if !r.sub.Stopped() { // else that was not the end of the input
		flush(r.g)
		r.deliver()
	}
	r.mu.Lock()
	r.ended = true
	r.wake()
	r.mu.Unlock()
}

func (r *agedReader[T]) take(items []stage.Try[T], came time.Duration) {
	defer stage.Tag(r.name)
	r.g.take(items, came)
}

// lend gives the gatherer to the reader while the pump is upstream, and returns
// how many items to ask for.
func (r *agedReader[T]) lend() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	room := r.g.room(r.want)
	r.lent, r.since = true, r.now()
	if r.waits == clockless {
		if _, aging := r.g.oldest(); aging {
			r.wake() // for the clock to be started
		}
	}
	return room
}

// takeBack ends what lend began, with k items, and returns when they came.
func (r *agedReader[T]) takeBack(k int) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	came := r.now()
	r.stats.Starved += came - r.since
	r.stats.In += uint64(k)
	r.held += k
	r.lent = false
	return came
}

// deliver brings what is in the outbox to the reader, and waits until all of it
// has found room. False means that nobody will take it.
func (r *agedReader[T]) deliver() bool {
	if r.out.empty() {
		return true
	}
	var began time.Duration
	parked := false
	for {
		r.mu.Lock()
		if parked {
			r.stats.Blocked += r.now() - began
		}
		r.lent = false
		r.stow()
		r.wake()
		if r.out.empty() {
			r.mu.Unlock()
			return true
		}
		r.lent, r.short, r.since, began, parked = true, true, r.now(), r.now(), true
		r.space.Arm()
		r.mu.Unlock()
		if !r.space.Park() {
			return false
		}
	}
}

// Close ends the pump, waits for it, and then closes what it has read.
func (r *agedReader[T]) Close() {
	r.sub.Cancel(stage.ErrClosed)
	if r.begun && !r.sub.Await(r.over) {
		return // the pump is stuck in upstream, which is left as it is
	}
	r.up.Close()
	r.item.Free()
	r.space.Free()
	if r.timer != nil {
		r.timer.Stop()
	}
	r.mu.Lock()
	*r.out, r.ready, r.ended, r.lent, r.held = outbox[T]{}, outbox[T]{}, true, false, 0
	r.mu.Unlock()
}
