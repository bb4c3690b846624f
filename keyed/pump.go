package keyed

import (
	"runtime"
	"sync"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// maxLate bounds what is read of a cancelled run, for errors that were there
// before: its readers end by themselves, but one of another make might not.
const maxLate = 1024

// pump is what Combine and Throttle have in common: a goroutine that reads their
// input and puts it into a stock, from which the reader takes.
//
// Who waits for whom:
//
//   - the reader waits in cons for what the pump brings, or until a time that the
//     stock names;
//   - the pump waits in prod for room that the reader makes, and inside upstream's
//     Next.
//
// Invariants:
//
//   - mu is never held while a function of the user runs, or while anybody waits.
//   - Who waits arms its waiter under mu; who makes its condition true does so
//     under mu, and wakes it then. So no wake-up is lost.
type pump[A any] struct {
	stock stock[A]
	scope *stage.Scope // the reader's
	sub   *stage.Scope // the pump's and upstream's: cancelled by Close
	up    stage.Reader[A]
	name  string
	size  int
	least int // items that it asks for also without room
	guard bool
	cons  *stage.Waiter
	prod  *stage.Waiter
	over  chan struct{} // closed when the pump has returned
	begun bool          // the reader's, as those below
	shut  bool
	timer *time.Timer

	mu    sync.Mutex
	held  int // items in the stock
	ended bool
	stat  stage.StageStats
}

// stock is where the items are between the pump and the reader.
type stock[A any] interface {
	// put brings items in. It is the pump's, with mu free, and need not keep to
	// the room if least allows for that.
	put(items []stage.Try[A])
	// give moves items to dst and returns how many. If there is none now, but will
	// be at a time of the clock, that is next, else 0. Under mu.
	give(dst []stage.Try[A]) (k int, next time.Duration)
	// drop forgets all items. It is the last call.
	drop()
}

// newPump opens in. The stock is yet to be given.
func newPump[A any](s *stage.Scope, in stage.Stream[A], c stage.Config, operator string, size int) *pump[A] {
	p := &pump[A]{scope: s, sub: s.Child(), size: size, guard: c.RecoverPanics, over: make(chan struct{})}
	p.up = stage.Open(p.sub, in)
	p.name = s.Label(c.Name, operator)
	p.cons = s.NewWaiter(p.name, func() string { return "its reader waits for an item" })
	p.prod = p.sub.NewWaiter(p.name, func() string { return "window is full, its reader waits elsewhere" })
	s.Report(p.snapshot)
	return p
}

// Next moves items that are there, and blocks while none is.
func (p *pump[A]) Next(dst []stage.Try[A]) int {
	if !p.begun {
		if p.shut || p.scope.Stopped() {
			return 0
		}
		p.begun = true
		p.sub.Go(p.name, p.run)
	}
	for round := 0; ; round++ {
		stopped := p.scope.Stopped()
		p.mu.Lock()
		k, next := p.stock.give(dst)
		if k > 0 {
			p.book(dst[:k])
			p.mu.Unlock()
			p.prod.Wake()
			return k
		}
		if stopped || p.ended && p.held == 0 {
			p.mu.Unlock()
			return 0
		}
		if round < spins && next == 0 {
			p.mu.Unlock()
			runtime.Gosched()
			continue
		}
		p.cons.Arm()
		p.mu.Unlock()
		p.await(next)
		round = 0
	}
}

// await parks the reader until it is woken, or that time has come.
func (p *pump[A]) await(until time.Duration) {
	if until == 0 {
		p.cons.Park()
		return
	}
	if wait := until - now(); p.timer == nil {
		p.timer = time.NewTimer(wait)
	} else {
		p.timer.Reset(wait)
	}
	p.cons.ParkUntil(p.timer.C)
	p.timer.Stop()
}

// book counts what the reader takes. Under mu.
func (p *pump[A]) book(items []stage.Try[A]) {
	p.held -= len(items)
	p.stat.Out += uint64(len(items))
	for i := range items {
		if items[i].Error != nil {
			p.stat.Errors++
		}
	}
}

// run is the pump's goroutine.
func (p *pump[A]) run() {
	defer close(p.over)
	defer p.prod.Free()
	p.read()
	// Not deferred: a panic is not the end of the items, and cancels the run.
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.cons.Wake()
}

// read brings items from upstream to the stock until there are no more.
func (p *pump[A]) read() {
	buf := make([]stage.Try[A], min(p.size, maxGrain))
	counted := p.scope.Counted()
	for late := 0; late < maxLate; {
		room := max(p.room(), p.least)
		if room == 0 {
			if !p.waitRoom() {
				return
			}
			continue
		}
		var at time.Duration
		if counted {
			at = now()
		}
		k := p.up.Next(buf[:min(room, len(buf))])
		p.mu.Lock()
		p.stat.In += uint64(k)
		if counted {
			p.stat.Starved += now() - at
		}
		p.mu.Unlock()
		if k == 0 {
			return
		}
		if p.sub.Stopped() {
			late++
		}
		p.stock.put(buf[:k])
		clear(buf[:k])
	}
}

func (p *pump[A]) room() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.size - p.held
}

// waitRoom blocks until there is room; false means that the run has ended.
func (p *pump[A]) waitRoom() bool {
	at := now()
	for round := 0; ; round++ {
		p.mu.Lock()
		if p.held < p.size {
			p.stat.Blocked += now() - at
			p.mu.Unlock()
			return true
		}
		if round < spins {
			p.mu.Unlock()
			runtime.Gosched()
			continue
		}
		p.prod.Arm()
		p.mu.Unlock()
		if !p.prod.Park() {
			return false
		}
		round = 0
	}
}

func (p *pump[A]) snapshot() stage.StageStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stat
	s.Name, s.N, s.Window, s.InFlight = p.name, 1, p.size, p.held
	return s
}

// Close ends the pump, waits for it, and closes upstream.
func (p *pump[A]) Close() {
	if p.shut {
		return
	}
	p.shut = true
	p.sub.Cancel(stage.ErrClosed)
	gone := !p.begun || p.sub.Await(p.over)
	p.cons.Free()
	if !gone {
		return // what it uses is left as it is
	}
	if !p.begun {
		p.prod.Free()
	}
	p.up.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stock.drop()
	p.ended, p.held = true, 0
}
