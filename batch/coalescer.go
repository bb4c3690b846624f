package batch

import (
	"context"
	"sync"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// Coalescer makes one call of the calls of many: items that several goroutines
// bring at about the same time are flushed together. It may be used by any number
// of goroutines. It has no goroutine of its own: each flush runs in one that ends
// with it.
//
// Invariants, all under mu:
//
//   - A call is in open, or in one flight, or has been delivered or given up.
//   - With an age, at is when the first call in open is due, and the timer fires
//     then; or at is zero, and open is empty.
//   - Without one, a call is in open only while a flight is under way, whose end
//     launches it.
//   - Callers wait for their delivery or for their context; flights for flush
//     alone; Close for the flights. Nobody waits under mu.
type Coalescer[A, B any] struct {
	flush  func(context.Context, []A) ([]B, error)
	name   string
	size   int
	within time.Duration
	calls  sync.Pool

	mu      sync.Mutex
	open    queue[A, B]
	timer   *time.Timer
	at      time.Time
	flights map[*flight[A, B]]struct{}
	closed  bool
	landed  chan struct{} // made by Close, closed when all flights have ended
	unheard error         // the first panic that no caller was there for: for Close
}

// queue holds calls in the order in which they came. It is a list, as any of them
// may give up, and all of them at once when a context ends that they share.
type queue[A, B any] struct {
	first, last *call[A, B]
	len         int
}

// call is what one caller of Do waits for.
type call[A, B any] struct {
	prev, next *call[A, B] // while in open

	item      A
	came      time.Time
	flight    *flight[A, B] // nil while in open
	done      chan struct{} // gets one value when delivered
	delivered bool
	result    B
	err       error
}

// flight is a flush under way.
type flight[A, B any] struct {
	calls   []*call[A, B]
	waiting int // callers that have not given up
	ctx     context.Context
	cancel  context.CancelCauseFunc
}

// NewCoalescer returns a Coalescer that flushes up to size ≥ 1 items at once: as
// soon as there are size, and with [Within] when the first of them has waited for
// so long. Without Within, items are flushed at once if no flush is under way;
// else they wait for its end and are flushed together, so a lone caller never
// waits, and busy ones share.
//
// flush gets the items in the order in which they came and returns a result for
// each, in the same order. Several flushes may run at once. What a flush gets as
// its context belongs to no single caller: it carries no values, and ends when
// all of them have given up, or Close has. A flush must not call Close of its own
// Coalescer, nor Do without Within: either would wait for the flush itself.
func NewCoalescer[A, B any](flush func(ctx context.Context, items []A) (results []B, err error), size int, opts ...Option) *Coalescer[A, B] {
	const fn = "batch.NewCoalescer"
	stage.CheckFunc(fn, "flush", flush == nil)
	stage.CheckSize(fn, "size", size, 1)
	s := configure(fn, opts)
	refuse(fn, "Weigh", s.weigh != nil)
	refuse(fn, "Until", s.until != nil)
	refuse(fn, "Reuse", s.reuse)
	refuse(fn, "OpenKeys", s.openKeys != 0)
	if s.name == "" {
		s.name = "batch.Coalescer"
	}
	return &Coalescer[A, B]{
		flush: flush, name: s.name, size: size, within: s.within,
		calls:   sync.Pool{New: func() any { return &call[A, B]{done: make(chan struct{}, 1)} }},
		flights: make(map[*flight[A, B]]struct{}),
	}
}

// Do hands in an item and blocks until its flush is over, or ctx has ended. It
// returns the item's result, or:
//
//   - the error of its flush, as it is;
//   - a [*ResultsError] if that returned no result for the item;
//   - a [*stage.Panic] if it panicked, a [stage.ErrGoexit] if it ended its
//     goroutine;
//   - [context.Cause] of ctx when that ends first. The item is taken back if its
//     flush has not begun; if it has, its result is dropped. Other callers see
//     nothing of that;
//   - [ErrClosed] once Close has been called.
//
// With an error the result is the zero value.
func (c *Coalescer[A, B]) Do(ctx context.Context, item A) (result B, err error) {
	if ctx == nil {
		panic("batch.Coalescer.Do: the context is nil")
	}
	if ctx.Err() != nil {
		return result, context.Cause(ctx)
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return result, ErrClosed
	}
	w := c.calls.Get().(*call[A, B])
	w.item, w.came = item, time.Now()
	c.open.push(w)
	switch {
	case c.open.len == c.size, c.within == 0 && len(c.flights) == 0:
		c.launch()
	case c.within > 0 && c.open.len == 1:
		c.due(w.came.Add(c.within))
	}
	c.mu.Unlock()
	select {
	case <-w.done:
	case <-ctx.Done():
		if !c.giveUp(w) {
			return result, context.Cause(ctx)
		}
		<-w.done
	}
	result, err = w.result, w.err
	*w = call[A, B]{done: w.done}
	c.calls.Put(w)
	return result, err
}

// giveUp takes a call back; true means that it has been delivered.
func (c *Coalescer[A, B]) giveUp(w *call[A, B]) (delivered bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case w.delivered:
		return true
	case w.flight != nil:
		if w.flight.waiting--; w.flight.waiting == 0 {
			w.flight.cancel(errAllGone)
		}
		return false
	}
	c.open.remove(w)
	if c.within > 0 {
		if c.open.len == 0 {
			c.due(time.Time{})
		} else {
			c.due(c.open.first.came.Add(c.within))
		}
	}
	return false
}

func (q *queue[A, B]) push(w *call[A, B]) {
	if w.prev = q.last; w.prev == nil {
		q.first = w
	} else {
		w.prev.next = w
	}
	q.last = w
	q.len++
}

func (q *queue[A, B]) remove(w *call[A, B]) {
	if w.prev == nil {
		q.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
	q.len--
}

// due sets the timer, or stops it with the zero time. Under mu.
func (c *Coalescer[A, B]) due(at time.Time) {
	if c.at.Equal(at) {
		return
	}
	c.at = at
	switch {
	case c.timer == nil:
		c.timer = time.AfterFunc(time.Until(at), c.tick)
	case at.IsZero():
		c.timer.Stop()
	default:
		c.timer.Reset(time.Until(at))
	}
}

// tick is called by the timer, and may be late: for a batch that has gone.
func (c *Coalescer[A, B]) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.at.IsZero() && time.Until(c.at) <= 0 {
		c.launch()
	}
}

// launch begins the flush of what is open. Under mu.
func (c *Coalescer[A, B]) launch() {
	f := &flight[A, B]{calls: make([]*call[A, B], 0, c.open.len), waiting: c.open.len}
	f.ctx, f.cancel = context.WithCancelCause(context.Background())
	for c.open.len > 0 {
		w := c.open.first
		c.open.remove(w)
		w.flight = f
		f.calls = append(f.calls, w)
	}
	c.flights[f] = struct{}{}
	if c.within > 0 {
		c.due(time.Time{})
	}
	go c.fly(f)
}

// Close refuses further items, flushes at once what was accepted, and blocks until
// every flush is over; then no goroutine is left, and it returns nil. If a flush has
// panicked after all its callers had given up, so that nobody has heard of it, Close
// returns the first such [*stage.Panic]. When ctx ends first, the contexts of the
// flushes end too, and Close returns [context.Cause] without waiting for them. It may
// be called again, and by several goroutines.
func (c *Coalescer[A, B]) Close(ctx context.Context) error {
	if ctx == nil {
		panic("batch.Coalescer.Close: the context is nil")
	}
	c.mu.Lock()
	c.closed = true
	if c.open.len > 0 {
		c.launch()
	}
	if c.landed == nil {
		c.landed = make(chan struct{})
		if len(c.flights) == 0 {
			close(c.landed)
		}
	}
	c.mu.Unlock()
	select {
	case <-c.landed:
		return c.lost()
	default:
	}
	select {
	case <-c.landed:
		return c.lost()
	case <-ctx.Done():
	}
	c.mu.Lock()
	for f := range c.flights {
		f.cancel(errCloseGone)
	}
	c.mu.Unlock()
	return context.Cause(ctx)
}

func (c *Coalescer[A, B]) lost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unheard
}
