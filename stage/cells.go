package stage

import (
	"context"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed95b73fdc/sluice/lockfree"
)

// Cells: the engine under every parallel stage that makes at most one item of
// each. n workers take turns at pulling: whoever has the pull right fills a
// cell, publishes it, gives the right up, and runs f on the cell's items,
// results into the same cell. Nobody waits for a turn to deliver: the consumer
// takes the cells, in input order or as they are done, and gives them back.
//
// Who waits for whom:
//
//   - a worker without work waits in idle, for rouse;
//   - the consumer waits in cons, for progress in a cell or for a cell;
//   - the worker with the pull right waits inside upstream's Next.
//
// Invariants:
//
//   - held is the number of items taken from upstream and not yet taken by
//     downstream, plus those just being asked for; held ≤ limit when a pull
//     begins, so the window is exact.
//   - The pull right is free, upstream has not ended, and there is room: then
//     some worker is the guard, or about to look. There is no room: then short
//     is set, before room is looked at once more, and the consumer, which makes
//     room before it looks at short, rouses a worker.
//   - An item is claimed before it is run, by an atomic step on its cell's
//     word, so it is run once, by any worker.
//   - While an item is unclaimed, or could be pulled, and a worker is idle,
//     some worker is the guard (cells_work.go). So P3 holds however suddenly f
//     becomes slow, and a cheap f does not pay for waking workers in vain.
//   - A cell is reused only after every item of it is done and taken. Its
//     generation is part of its word, so that a late helper's claim fails.
//
// The word of a cell, from the low end:
//
//	cursor  8 bits  how many items have been claimed (the owner's last, vain
//	                claim makes it one more)
//	base    8 bits  once shared: items below base were done by the owner
//	items   8 bits
//	shared  1 bit   a helper has joined: done is what the bitmap says
//	wait    1 bit   the consumer waits for progress in this cell
//	gen    32 bits  incarnation
//
// As long as only its owner works on a cell, each claim says that the item
// before it is done: the cursor is the progress, and costs one atomic add an
// item. The first helper freezes that in base, and from then on every worker
// sets the item's bit in the bitmap. Whoever completes a cell InOrder sets full
// as its last step on the cell, so the consumer gives no cell back before that;
// and while it does not need part of a cell, full is all that it looks at:
// looking at the word would slow the cell's worker down.
const (
	maxGrain = 64 // items in a cell; also the bits of a bitmap

	cheapCell = 20 * time.Microsecond // a cell that takes less makes the next larger
	slowCell  = 60 * time.Microsecond // a cell that takes more makes the next smaller

	slowCall = 200 * time.Microsecond // a call that takes more is waited for parked

	wordByte   = 0xff
	baseShift  = 8
	itemsShift = 16
	sharedBit  = 1 << 24
	waitBit    = 1 << 25
	genShift   = 32
)

type cell[A, B any] struct {
	word atomic.Uint64 // claims and progress; see above
	_    pad
	bits atomic.Uint64 // items done, from base on, once shared
	full atomic.Bool   // InOrder: complete, and no worker's any more
	_    pad

	// Written before the cell is published, by the worker that pulls.
	in    []Try[A]
	out   []Try[B]
	items int
	gen   uint32

	next  atomic.Pointer[cell[A, B]] // the one after it in the consumer's queue
	link  *cell[A, B]                // in a list of free cells
	place int                        // under mu: index in open, or -1
	taken uint64                     // the consumer's: items taken, AnyOrder
}

// emptyCell is what the consumer's queue begins with.
func emptyCell[A, B any]() *cell[A, B] {
	c := &cell[A, B]{place: -1}
	c.full.Store(true)
	return c
}

// doneMask returns a bit for each item that is done.
func (c *cell[A, B]) doneMask() uint64 {
	w := c.word.Load()
	if w&sharedBit != 0 {
		return low(int(w>>baseShift)&wordByte) | c.bits.Load()
	}
	return low(int(w&wordByte) - 1)
}

// low returns a mask of the k lowest bits.
func low(k int) uint64 {
	if k >= 64 {
		return ^uint64(0)
	}
	return 1<<uint(k) - 1
}

func (c *cell[A, B]) unclaimed() bool { return int(c.word.Load()&wordByte) < c.items }

// claim takes one item for a helper. Called under mu, for a cell in open.
func (c *cell[A, B]) claim() (i int, ok bool) {
	for {
		w := c.word.Load()
		i = int(w & wordByte)
		if i >= int(w>>itemsShift)&wordByte {
			return 0, false
		}
		to := w + 1
		if w&sharedBit == 0 {
			to |= sharedBit | uint64(i-1)<<baseShift
		}
		if c.word.CompareAndSwap(w, to) {
			return i, true
		}
	}
}

// Order says in which order a [Transform] emits what it made of its items.
type Order int

const (
	// AnyOrder emits each result as soon as it is there.
	AnyOrder Order = iota
	// InOrder emits results in the order of the items that they were made of.
	InOrder
)

func checkOrder(fn string, order Order) {
	if order != AnyOrder && order != InOrder {
		argPanic(fn, "order is %d, want AnyOrder or InOrder", order)
	}
}

type cells[A, B any] struct {
	f       Func[A, B]
	scope   *Scope // the consumer's
	sub     *Scope // the workers' and upstream's: cancelled by Close
	ctx     context.Context
	up      Reader[A]
	name    string
	window  int // 0: not given
	order   Order
	drops   atomic.Bool // f has dropped an item
	slow    atomic.Bool // its calls take longer than slowCall
	recover bool
	resizes func()      // stops the news of a Parallelism; nil if there is none
	surplus atomic.Bool // more calls may run than n, since that was lowered
	refsA   bool        // values keep memory alive
	refsB   bool
	counted bool // someone looks at the Stats
	cons    *Waiter
	workers crew
	_       pad

	short atomic.Bool // some worker may lack room; set under mu
	_     pad

	// Wake-ups that are left to somebody who yields; see cells_work.go.
	spins  atomic.Bool // the consumer yields
	call   atomic.Bool // it is to wake called
	watch  atomic.Bool // the guard yields
	poke   atomic.Bool // it is to wake the consumer
	called *worker[A, B]
	_      pad

	// Written by the consumer.
	took     atomic.Uint64              // items taken, ever; and those that workers saw filtered out
	returned atomic.Pointer[cell[A, B]] // a list of free cells
	outs     atomic.Uint64              // items handed on, if counted
	errs     atomic.Uint64              // errors among them
	_        pad

	mu      sync.Mutex
	n       int
	procs   int  // of the n, as many as there are processors
	pulling bool // some worker has the pull right
	ended   bool // upstream has
	guard   bool // some worker is the guard, or has been woken to be
	hungry  bool // the consumer waits for a cell
	grain   int
	offer   int    // at most this much room is offered to upstream's Next
	pulled  uint64 // items taken from upstream, ever, and those being asked for
	asked   int    // those
	seen    uint64 // took as last looked at
	working int    // workers that have an item in hand
	spawned int
	loiter  int // workers without work that yield before they park
	idle    []*worker[A, B]
	turn    *Waiter       // of the worker that is back from upstream while n calls run
	open    []*cell[A, B] // cells of more than one item with items not done
	free    *cell[A, B]
	tail    *cell[A, B] // the consumer's queue: InOrder published, AnyOrder completed cells
	moves   uint64      // counts what happened, for the guard
	full    time.Duration
	stat    StageStats
	_       pad

	// The consumer's.
	started bool
	cur     *cell[A, B]
	at      int // items of cur that are taken
	credit  int // items taken and not yet in took
	round   int // yields of the present wait
	spun    int // and of those before, since it last parked
}

// worker is one of the n that call f. Its fields belong to its goroutine.
type worker[A, B any] struct {
	wait     *Waiter
	guard    bool // woken to be the guard; written under mu by who wakes
	fresh    bool // its goroutine has not been started
	c        *cell[A, B]
	gen      uint32
	i        int
	helps    bool // c is another worker's
	calling  bool // in f, for item i of c
	finished bool // c is complete, and it was this worker that completed it
	began    time.Duration
	clock    time.Duration // a recent reading, or 0
	made     int           // items run since began
}

func openCells[A, B any](s *Scope, operator string, in Stream[A], n int, order Order, f Func[A, B], c Config) *cells[A, B] {
	sub := s.Child()
	up := Open(sub, in)
	name := s.Label(c.Name, operator)
	e := &cells[A, B]{
		f: f, scope: s, sub: sub, ctx: labelled(sub.ctx, name), up: up, name: name,
		n: n, window: c.Window, order: order, recover: c.RecoverPanics,
		procs: min(n, runtime.GOMAXPROCS(0)), grain: 1, offer: 1,
		refsA: lockfree.HoldsPointers[A](), refsB: lockfree.HoldsPointers[B](), counted: s.run.stats != nil,
	}
	e.cur = emptyCell[A, B]()
	e.tail = e.cur
	e.cons = s.NewWaiter(name, func() string { return "its reader waits for a result" })
	s.Report(e.snapshot)
	if c.Parallelism != nil {
		e.resizes = c.Parallelism.Notify(func() { e.resize(c.size(n)) })
		e.resize(c.size(n))
	}
	return e
}

// limit is the window. Under mu, as all below.
func (e *cells[A, B]) limit() int {
	switch {
	case e.window > 0:
		return e.window
	case e.grain == 1:
		return e.n
	default:
		return maxGrain * e.n
	}
}

// maxCell is the most items that a cell may get: n cells must fit into the
// window, and at least two, so that a worker need not wait for the consumer.
func (e *cells[A, B]) maxCell() int {
	if e.window > 0 {
		return max(1, min(maxGrain, e.window/e.n))
	}
	return min(maxGrain, maxGrain*e.n/2)
}

func (e *cells[A, B]) held() int { return int(e.pulled - e.seen) }

// room is how many items may be pulled. It is exact where it is less than
// want.
func (e *cells[A, B]) room(want int) int {
	room := e.limit() - e.held()
	if room < want {
		e.seen = e.took.Load()
		room = e.limit() - e.held()
	}
	return room
}

// tend sees to it that the pull right, which is free, is taken up: now if
// there is room, or else when the consumer has made some.
func (e *cells[A, B]) tend() {
	if e.pulling || e.ended || e.working >= e.n {
		return
	}
	if e.room(1) <= 0 {
		e.short.Store(true)
		if e.room(1) <= 0 {
			if e.full == 0 {
				e.full = now()
			}
			return
		}
	}
	e.rouse()
}

// get returns a cell with room for k items.
func (e *cells[A, B]) get(k int) *cell[A, B] {
	if e.free == nil {
		e.free = e.returned.Swap(nil)
	}
	c := e.free
	if c == nil {
		c = &cell[A, B]{place: -1}
	} else {
		e.free = c.link
		c.link = nil
		e.close(c) // if its worker has not yet come to do it
	}
	if len(c.in) < k {
		size := 1 << bits.Len(uint(k-1))
		c.in = make([]Try[A], size)
		c.out = make([]Try[B], size)
	}
	return c
}

// put gives a cell back that nobody needs.
func (e *cells[A, B]) put(c *cell[A, B]) {
	c.link = e.free
	e.free = c
}

// close takes a cell off the open ones.
func (e *cells[A, B]) close(c *cell[A, B]) {
	if c.place < 0 {
		return
	}
	last := len(e.open) - 1
	moved := e.open[last]
	e.open[c.place] = moved
	moved.place = c.place
	e.open[last] = nil
	e.open = e.open[:last]
	c.place = -1
}

// line puts a cell at the end of the consumer's queue.
func (e *cells[A, B]) line(c *cell[A, B]) {
	c.next.Store(nil)
	e.tail.next.Store(c)
	e.tail = c
}

// Close cancels the calls that run, and waits for the workers and for what
// feeds them.
func (e *cells[A, B]) Close() {
	e.sub.Cancel(ErrClosed)
	if e.resizes != nil {
		e.resizes()
		e.mu.Lock() // not before a resize that is under way has counted its worker
		e.hungry = false
		e.mu.Unlock()
	}
	gone := e.workers.wait(e.sub.run)
	e.cons.Free()
	if !gone {
		return // what feeds the one that is stuck is left as it is
	}
	e.up.Close()
	e.mu.Lock()
	e.returned.Store(nil)
	e.free, e.open, e.idle = nil, nil, nil
	e.cur = emptyCell[A, B]()
	e.tail = e.cur
	e.at, e.working, e.asked = 0, 0, 0
	e.pulled = e.took.Load()
	e.ended, e.full = true, 0
	e.mu.Unlock()
}
