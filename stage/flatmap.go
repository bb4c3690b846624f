package stage

import (
	"context"
	"time"
)

// FlatMap emits the items of the streams that f makes of each value, n of them
// running at once, as they come. An error of in is passed on. Each of the n
// holds at most two chunks of what the reader asks for at a time: one item
// each while the reader is slow.
//
// With [Inline] the streams run one after the other in the goroutine of
// whoever pulls.
func FlatMap[A, B any](in Stream[A], n int, f func(context.Context, A) Stream[B], opts ...Option) Stream[B] {
	return FlatMapOrder("stage.FlatMap", in, n, AnyOrder, f, opts...)
}

// FlatMapOrder is [FlatMap] with the order given, for packages that offer it in
// an order of their own; fn names the caller's function in panics about its
// arguments. InOrder, the streams of the values come one after the other, in
// the order of the values: that of the first is passed on as it comes, the
// others hold what they have and wait, so an endless one is fine.
func FlatMapOrder[A, B any](fn string, in Stream[A], n int, order Order, f func(context.Context, A) Stream[B], opts ...Option) Stream[B] {
	CheckN(fn, n)
	CheckFunc(fn, "f", f == nil)
	checkOrder(fn, order)
	c := Configure(fn, opts...)
	c.checkResizable(fn, n)
	return New(func(s *Scope) Reader[B] {
		sub := s.Child()
		up := Open(sub, in)
		name := s.Label(c.Name, "flatmap")
		inner := func(ctx context.Context, v A) Stream[B] { return f(ctx, v) }
		if c.RecoverPanics {
			inner = func(ctx context.Context, v A) (out Stream[B]) {
				defer func() {
					if v := recover(); v != nil {
						out = Failed[B](newPanic(name, v))
					}
				}()
				return f(ctx, v)
			}
		}
		if n == Inline {
			return &flatInline[A, B]{sub: sub, up: up, f: inner, name: name}
		}
		m := &flatMap[A, B]{scope: s, sub: sub, up: up, f: inner, name: name}
		m.fan = newFan[B](s, sub, name, order)
		m.fan.done = m.release
		s.Report(m.snapshot)
		m.resize(c.size(n), c.Window)
		if c.Parallelism != nil {
			m.resizes = c.Parallelism.Notify(func() { m.resize(c.size(n), c.Window) })
		}
		return m
	})
}

// flatMap runs n workers, each of which takes a value under the pull right and
// brings the stream that f makes of it into a lane of the fan. At most window
// values have been taken whose streams have not been passed on to their end.
//
// A worker without work waits in idle for the pull right and for room in the
// window; whoever gives either up wakes one.
type flatMap[A, B any] struct {
	fan     *fan[B]
	scope   *Scope
	sub     *Scope
	up      Reader[A]
	f       func(context.Context, A) Stream[B]
	name    string
	workers crew
	begun   bool
	resizes func() // stops the news of a Parallelism; nil if there is none

	// Under fan.mu.
	n       int
	window  int
	pulling bool
	ended   bool
	held    int
	spawned int
	working int
	idle    []*Waiter
	turn    *Waiter // of the worker that has an item while n others have one
	free    []*lane[B]
	stat    StageStats
}

func (m *flatMap[A, B]) snapshot() StageStats {
	m.fan.mu.Lock()
	defer m.fan.mu.Unlock()
	s := m.stat
	s.Name, s.N, s.InFlight, s.Window, s.Calls = m.name, m.n, m.held, m.window, m.working
	return s
}

func (m *flatMap[A, B]) Next(dst []Try[B]) int {
	if !m.begun && !m.sub.Stopped() {
		m.begun = true
		m.fan.mu.Lock()
		m.fan.room = min(len(dst), maxGrain)
		m.rouse()
		m.fan.mu.Unlock()
	}
	k := m.fan.Next(dst)
	if m.sub.run.stats != nil && k > 0 {
		m.fan.mu.Lock()
		m.stat.Out += uint64(k)
		m.stat.Errors += uint64(countErrors(dst[:k]))
		m.fan.mu.Unlock()
	}
	return k
}

// rouse lets a worker pull, if one may. Under mu.
func (m *flatMap[A, B]) rouse() {
	if m.pulling || m.ended || m.held >= m.window || m.working >= m.n {
		return
	}
	if k := len(m.idle) - 1; k >= 0 {
		w := m.idle[k]
		m.idle = m.idle[:k]
		w.Wake()
	} else if m.spawned < m.n {
		m.spawned++
		m.workers.add()
		m.sub.Go(m.name, func() {
			defer m.workers.done()
			w := m.sub.NewWaiter(m.name, func() string { return "" })
			defer w.Free()
			for m.work(w) {
			}
		})
	}
}

// release is called when the stream of a value has been passed on to its end.
// Under mu.
func (m *flatMap[A, B]) release(l *lane[B]) {
	m.held--
	m.free = append(m.free, l)
	if m.ended && m.held == 0 {
		m.fan.end()
	}
	m.rouse()
}

// work takes a value and passes its stream on; false means that there are no
// more.
func (m *flatMap[A, B]) work(w *Waiter) bool {
	m.fan.mu.Lock()
	for m.pulling || m.ended || m.held >= m.window || m.working >= m.n {
		full := !m.pulling && !m.ended && m.held >= m.window
		m.idle = append(m.idle, w)
		w.Arm()
		m.fan.mu.Unlock()
		began := now()
		if !w.Park() {
			return false
		}
		m.fan.mu.Lock()
		if full {
			m.stat.Blocked += now() - began
		}
	}
	m.pulling = true
	m.held++
	m.fan.mu.Unlock()

	var a [1]Try[A]
	began := now()
	got := m.up.Next(a[:])
	at := now()

	m.fan.mu.Lock()
	m.stat.Starved += at - began
	for got > 0 && m.working >= m.n { // n has been lowered meanwhile
		m.turn = w
		w.Arm()
		m.fan.mu.Unlock()
		ok := w.Park()
		m.fan.mu.Lock()
		if m.turn = nil; !ok {
			m.fan.mu.Unlock()
			return false
		}
	}
	m.pulling = false
	if got == 0 {
		m.ended = true
		m.held--
		if m.held == 0 {
			m.fan.end()
		}
		m.fan.mu.Unlock()
		return false
	}
	m.stat.In++
	m.working++
	l := m.lane()
	l.wait = w
	m.fan.add(l)
	m.rouse()
	m.fan.mu.Unlock()

	ok := m.pass(l, a[0], at)

	m.fan.mu.Lock()
	m.working--
	m.makeWay()
	m.fan.mu.Unlock()
	return ok
}

// makeWay wakes the worker that has an item and waits for its turn, if fewer
// than n others have one. Under mu.
func (m *flatMap[A, B]) makeWay() {
	if m.turn != nil && m.working < m.n {
		m.turn.Wake()
	}
}

// resize changes n, and the window if that was not given.
func (m *flatMap[A, B]) resize(n, window int) {
	m.fan.mu.Lock()
	defer m.fan.mu.Unlock()
	if m.n, m.window = n, window; window == 0 {
		m.window = n
	}
	if m.spawned > 0 && !m.sub.Stopped() {
		m.makeWay()
		m.rouse()
	}
}

// put is fan.put, and books the time since then, the last booking.
func (m *flatMap[A, B]) put(l *lane[B], k int, over bool, then *time.Duration) bool {
	waited, ok := m.fan.put(l, k, over)
	if m.sub.run.stats != nil {
		at := now()
		m.fan.mu.Lock()
		m.stat.Busy += at - *then - waited
		m.stat.Blocked += waited
		m.fan.mu.Unlock()
		*then = at
	}
	return ok
}

func (m *flatMap[A, B]) lane() *lane[B] {
	if k := len(m.free) - 1; k >= 0 {
		l := m.free[k]
		m.free = m.free[:k]
		return l
	}
	return &lane[B]{}
}

// pass brings the stream of a, which came at the time given, into l; false
// means that the fan is closed.
func (m *flatMap[A, B]) pass(l *lane[B], a Try[A], at time.Duration) bool {
	if a.Error != nil {
		m.fan.chunk(l)[0] = Try[B]{Error: a.Error}
		return m.put(l, 1, true, &at)
	}
	if m.sub.Stopped() {
		return false
	}
	inner := m.sub.Nested()
	defer inner.Cancel(ErrEnded)
	rd := Open(inner, m.f(labelled(inner.ctx, m.name), a.Value))
	returned := false
	defer func() {
		if !returned { // told first, as Close waits for calls that it cancels
			m.sub.lost(m.name, recover())
		}
		rd.Close()
	}()
	ok := m.bring(l, rd, at)
	returned = true
	return ok
}

// bring does that with the stream that rd reads.
func (m *flatMap[A, B]) bring(l *lane[B], rd Reader[B], at time.Duration) bool {
	for {
		k := rd.Next(m.fan.chunk(l))
		if k == 0 && m.sub.Stopped() {
			return false
		}
		if !m.put(l, k, k == 0, &at) {
			return false
		}
		if k == 0 {
			return true
		}
	}
}

func (m *flatMap[A, B]) Close() {
	m.sub.Cancel(ErrClosed)
	if m.resizes != nil {
		m.resizes()
		m.fan.mu.Lock() // not before a resize that is under way has counted its worker
		m.resizes = nil
		m.fan.mu.Unlock()
	}
	if m.workers.wait(m.sub.run) {
		m.up.Close()
	}
	m.fan.close()
}

// flatInline runs the streams in the goroutine of whoever pulls.
type flatInline[A, B any] struct {
	sub   *Scope
	up    Reader[A]
	f     func(context.Context, A) Stream[B]
	name  string
	scope *Scope // of the current inner stream
	inner Reader[B]
}

func (r *flatInline[A, B]) Next(dst []Try[B]) int {
	for {
		if r.inner != nil {
			if k := r.inner.Next(dst); k > 0 {
				return k
			}
			r.closeInner()
		}
		var a [1]Try[A]
		if r.sub.Stopped() || r.up.Next(a[:]) == 0 {
			return 0
		}
		if a[0].Error != nil {
			dst[0] = Try[B]{Error: a[0].Error}
			return 1
		}
		if r.sub.Stopped() {
			return 0
		}
		r.open(a[0].Value)
	}
}

func (r *flatInline[A, B]) open(v A) {
	defer Tag(r.name)
	r.scope = r.sub.Nested()
	r.inner = Open(r.scope, r.f(r.scope.ctx, v))
}

func (r *flatInline[A, B]) closeInner() {
	if r.inner != nil {
		r.inner.Close()
		r.scope.Cancel(ErrEnded)
		r.inner = nil
	}
}

func (r *flatInline[A, B]) Close() {
	r.sub.Cancel(ErrClosed)
	r.closeInner()
	r.up.Close()
}
