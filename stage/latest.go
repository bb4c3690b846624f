package stage

import (
	"sync"
	"sync/atomic"
	"time"
)

// Debounce passes a value on when no other one has come for quiet: of values
// that follow each other faster only the last one is left. A debounce is not a
// rate: see [Throttle]. The others are dropped, counted in [StageStats.Dropped]
// and told to the function of [OnDrop]. At an error, and at the end of in, what
// waits is passed on at once, before it.
//
// A value that has been quiet for long enough is never dropped: until downstream
// takes it, in is pushed back. It has a goroutine of its own, which reads in, and
// holds one value and one error. A quiet below 1 ns panics.
func Debounce[T any](in Stream[T], quiet time.Duration, opts ...Option) Stream[T] {
	return latest("stage.Debounce", "debounce", "quiet", in, quiet, opts, true)
}

// Sample passes on, every so often, the newest value that has come since the
// last time, if there is one. The others are dropped, counted in
// [StageStats.Dropped] and told to the function of [OnDrop]. The first time is
// every after the first item has been asked for. If downstream comes late it
// gets the newest value at once, and the next one when the next time comes. At
// an error, and at the end of in, what waits is passed on at once, before it.
//
// It has a goroutine of its own, which reads in, and holds one value and one
// error; in is pushed back by nothing but an error that waits. An every below
// 1 ns panics.
func Sample[T any](in Stream[T], every time.Duration, opts ...Option) Stream[T] {
	return latest("stage.Sample", "sample", "every", in, every, opts, false)
}

func latest[T any](fn, operator, arg string, in Stream[T], d time.Duration, opts []Option, settles bool) Stream[T] {
	if d < 1 {
		argPanic(fn, "%s is %v, want at least 1ns", arg, d)
	}
	c := Configure(fn, opts...)
	onDrop := typed[func(T)](fn, "OnDrop", c.Value(onDropKey{}))
	return New(func(s *Scope) Reader[T] {
		sub := s.Child()
		l := &newest[T]{sub: sub, up: Open(sub, in), d: d, settles: settles, onDrop: onDrop, over: make(chan struct{})}
		l.name = s.Label(c.Name, operator)
		l.cons = s.NewWaiter(l.name, func() string { return "its reader waits for a value" })
		s.Report(l.snapshot)
		return l
	})
}

// newest has a pump, which reads upstream and keeps the newest value, and a
// reader, which waits until that is due. The reader waits in cons for a value,
// an error, or the time when the value is due; the pump waits in prod while
// there is an error, or a value that it may not drop any more.
type newest[T any] struct {
	sub     *Scope
	up      Reader[T]
	name    string
	d       time.Duration
	settles bool // a value is due d after it has come, and then not dropped any more
	onDrop  func(T)
	cons    *Waiter
	prod    *Waiter
	over    chan struct{} // closed when the pump has returned
	timer   *time.Timer

	in, out, errs, dropped atomic.Uint64

	mu    sync.Mutex
	began time.Time // when the first item was asked for; zero before
	value T
	has   bool
	due   time.Time // when the value may go
	err   error     // behind the value
	ended bool
	asks  bool // the pump waits
}

func (l *newest[T]) snapshot() StageStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := StageStats{Name: l.name, Window: 2, In: l.in.Load(), Out: l.out.Load(), Errors: l.errs.Load(), Dropped: l.dropped.Load()}
	s.InFlight = max(0, int(s.In-s.Out-s.Dropped))
	return s
}

func (l *newest[T]) begin() {
	l.began = time.Now()
	l.prod = l.sub.NewWaiter(l.name, func() string { return "holds a value, its reader waits elsewhere" })
	l.sub.Go(l.name, func() {
		defer close(l.over)
		defer l.prod.Free()
		l.pump()
		l.mu.Lock()
		l.ended = true
		l.mu.Unlock()
		l.cons.Wake()
	})
}

func (l *newest[T]) pump() {
	var buf [1]Try[T]
	for l.up.Next(buf[:]) > 0 {
		l.in.Add(1)
		item := buf[0]
		buf[0] = Try[T]{}
		l.mu.Lock()
		for l.err != nil || item.Error == nil && l.has && l.settles && l.isDue() {
			l.asks = true
			l.prod.Arm()
			l.mu.Unlock()
			if !l.prod.Park() {
				return
			}
			l.mu.Lock()
		}
		gone, drops := l.value, item.Error == nil && l.has
		if item.Error != nil {
			l.err = item.Error
		} else {
			l.keep(item.Value)
		}
		l.mu.Unlock()
		if drops {
			l.dropped.Add(1)
			if l.onDrop != nil && !l.sub.Stopped() {
				l.onDrop(gone)
			}
			var none T
			lost(gone, none)
			continue // the reader waits for the time at which the first one was due
		}
		l.cons.Wake()
	}
}

// keep makes v the value. Under mu.
func (l *newest[T]) keep(v T) {
	at := time.Now()
	switch {
	case l.settles:
		l.due = at.Add(l.d)
	case !l.has: // when it is the next time
		l.due = l.began.Add((at.Sub(l.began)/l.d + 1) * l.d)
	}
	l.value, l.has = v, true
}

// isDue reports whether the value may go. Under mu.
func (l *newest[T]) isDue() bool { return !time.Now().Before(l.due) }

// Next waits for an item, and until it is due.
func (l *newest[T]) Next(dst []Try[T]) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.began.IsZero() && !l.sub.Stopped() {
		l.begin()
	}
	for {
		stopped := l.sub.Stopped()
		if l.has && (stopped || l.ended || l.err != nil || l.isDue()) || l.err != nil {
			return l.give(dst)
		}
		if l.ended || stopped {
			return 0
		}
		l.cons.Arm()
		if !l.has {
			l.mu.Unlock()
			l.cons.Park()
			l.mu.Lock()
			continue
		}
		l.schedule(time.Until(l.due))
		l.mu.Unlock()
		l.cons.ParkUntil(l.timer.C)
		l.mu.Lock()
	}
}

// schedule sets the timer, which may still be set for a value that has been
// dropped. Under mu.
func (l *newest[T]) schedule(d time.Duration) {
	if l.timer == nil {
		l.timer = time.NewTimer(d)
		return
	}
	l.timer.Reset(d)
}

// give moves what there is to dst: the value, or else the error. Under mu.
func (l *newest[T]) give(dst []Try[T]) int {
	if l.has {
		var zero T
		dst[0] = Try[T]{Value: l.value}
		l.value, l.has = zero, false
	} else {
		dst[0] = Try[T]{Error: l.err}
		l.err = nil
		l.errs.Add(1)
	}
	l.out.Add(1)
	if l.asks {
		l.asks = false
		l.prod.Wake()
	}
	return 1
}

func (l *newest[T]) Close() {
	l.sub.Cancel(ErrClosed)
	l.cons.Free()
	if l.timer != nil {
		l.timer.Stop()
	}
	if !l.began.IsZero() && !l.sub.Await(l.over) {
		return
	}
	l.up.Close()
	var zero T
	l.value, l.has, l.err, l.ended = zero, false, nil, true
}
