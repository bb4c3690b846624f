package stage

import (
	"fmt"
	"sync"
)

// defaultBranch is how many items a branch of a many-out operator holds.
const defaultBranch = 64

// hub brings the items of one upstream to several branches. In a run it is
// opened once, by the first of its branches that is; see Shared. A goroutine,
// the pump, reads upstream when a branch is read that has nothing, and gives
// each item to the branches that it is for; a branch that nobody of the run
// reads, or reads any more, is passed over.
//
// A reader waits in its branch for an item. The pump waits for a reader to
// wait, or, with an item in hand, for room in a branch. So if the reader of the
// full branch waits for another branch first, nothing can ever move: that is
// the stall that a Concat of both sides of a Split runs into. The pump waits
// for room in the scope of the branch's reader, so that it passes over a branch
// whose reader has been cancelled, as the one of a Take that has all it wants.
type hub[T any] struct {
	name string
	sub  *Scope // upstream's and the pump's; ends with the run or the last branch
	up   Reader[T]
	send func(h *hub[T], item Try[T]) // gives an item to its branches; in the pump
	over chan struct{}                // closed when the pump has returned

	mu       sync.Mutex
	branches []*branch[T]
	begun    bool
	ended    bool
	gone     bool       // every branch that was opened has been closed
	unclosed int        // branches opened and not closed
	pump     *Waiter    // of the pump, for a reader to wait
	idle     bool       // it does
	full     *branch[T] // that the pump waits for
	turns    uint64
}

type branch[T any] struct {
	hub    *hub[T]
	name   string
	scope  *Scope  // its reader's
	wait   *Waiter // of its reader, for an item
	space  *Waiter // of the pump, for room
	opened bool
	closed bool
	hungry uint64 // the turn since when its reader waits, or 0
	room   int
	size   int      // the most that it holds
	q      []Try[T] // a ring, which grows up to size
	head   int
	len    int
}

// fork makes k streams that share in. names are their names in reports.
func fork[T any](fn, operator string, in Stream[T], names []string, opts []Option, send func(h *hub[T], item Try[T])) []Stream[T] {
	c := Configure(fn, opts...)
	size := c.Window
	if size == 0 {
		size = defaultBranch
	}
	key := new(byte)
	outs := make([]Stream[T], len(names))
	for i := range outs {
		outs[i] = New(func(s *Scope) Reader[T] {
			var b *branch[T]
			Shared(s, key, func(h *hub[T]) bool {
				b = h.open(i, s)
				return b != nil
			}, func(base *Scope) *hub[T] {
				h := &hub[T]{sub: base, up: Open(base, in), send: send, over: make(chan struct{})}
				h.name = base.Label(c.Name, operator)
				for _, name := range names {
					h.branches = append(h.branches, &branch[T]{hub: h, name: name, size: size})
				}
				return h
			})
			return b
		})
	}
	return outs
}

// numbered are the names of the branches of an operator without better ones.
func numbered(k int) []string {
	names := make([]string, k)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	return names
}

// open returns branch i for a reader in s, or nil if it has been opened in
// this run before, or upstream runs already: then it is run once more.
func (h *hub[T]) open(i int, s *Scope) *branch[T] {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.branches[i]
	if b.opened || h.begun || h.gone {
		return nil
	}
	b.opened, b.scope = true, s
	h.unclosed++
	b.wait = s.NewWaiter(h.name, func() string { return "branch " + b.name + " is empty" })
	b.space = s.NewWaiter(h.name, h.why)
	return b
}

// begin starts the pump. Under mu.
func (h *hub[T]) begin() {
	h.begun = true
	h.pump = h.sub.NewWaiter(h.name, func() string { return "" })
	h.sub.Go(h.name, func() {
		defer close(h.over)
		defer h.pump.Free()
		h.run()
		h.end() // not deferred: a panic is not the end of the items, and cancels the run
	})
}

// why describes the pump of a stalled run.
func (h *hub[T]) why() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.full == nil {
		return ""
	}
	for _, b := range h.branches {
		if b.hungry != 0 && b != h.full {
			return fmt.Sprintf("branch %s is full, its reader waits for branch %s", h.full.name, b.name)
		}
	}
	return fmt.Sprintf("branch %s is full, its reader waits elsewhere", h.full.name)
}

// end tells the readers that no more items come.
func (h *hub[T]) end() {
	h.mu.Lock()
	h.ended = true
	for _, b := range h.branches {
		if b.hungry != 0 {
			b.hungry = 0
			b.wait.Wake()
		}
	}
	h.mu.Unlock()
}

// run is the pump.
func (h *hub[T]) run() {
	buf := make([]Try[T], 1)
	p := pace{grain: 1} // of the function that chooses a branch
	for {
		h.mu.Lock()
		room := h.demand()
		for room == 0 {
			h.idle = true
			h.pump.Arm()
			h.mu.Unlock()
			if !h.pump.Park() {
				return
			}
			h.mu.Lock()
			h.idle = false
			room = h.demand()
		}
		h.mu.Unlock()
		room = min(room, p.grain)
		if len(buf) < room {
			buf = make([]Try[T], room)
		}
		k := h.up.Next(buf[:room])
		if k == 0 {
			return
		}
		p.start()
		for i := range buf[:k] {
			if buf[i].Error == nil && h.sub.Stopped() {
				continue // an error that is there goes on
			}
			h.send(h, buf[i])
		}
		clear(buf[:k])
		p.took(k)
		h.mu.Lock()
		h.serve()
		h.mu.Unlock()
	}
}

// demand is the largest room of a reader that waits. Under mu.
func (h *hub[T]) demand() int {
	room := 0
	for _, b := range h.branches {
		if b.hungry != 0 {
			room = max(room, b.room)
		}
	}
	return room
}

// serve wakes the readers that wait and have got something. Under mu.
func (h *hub[T]) serve() {
	for _, b := range h.branches {
		if b.hungry != 0 && b.len > 0 {
			b.hungry = 0
			b.wait.Wake()
		}
	}
}

// read reports whether somebody will read the branch. Under mu.
func (b *branch[T]) read() bool { return b.opened && !b.closed && !b.scope.Stopped() }

// push gives an item to a branch, once there is room; false means that nobody
// will read it. In the pump.
func (h *hub[T]) push(b *branch[T], item Try[T]) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for b.opened && !b.closed && b.len == b.size {
		h.serve()
		h.full = b
		b.space.Arm()
		h.mu.Unlock()
		ok := b.space.Park()
		h.mu.Lock()
		h.full = nil
		if !ok {
			return false
		}
	}
	if !b.opened || b.closed {
		return false
	}
	if b.len == len(b.q) {
		b.grow()
	}
	b.q[(b.head+b.len)%len(b.q)] = item
	b.len++
	return true
}

// all gives an item to every branch.
func (h *hub[T]) all(item Try[T]) {
	for _, b := range h.branches {
		h.push(b, item)
	}
}

// grow makes room for more items. Under mu.
func (b *branch[T]) grow() {
	q := make([]Try[T], min(max(2*len(b.q), 1), b.size))
	k := copy(q, b.q[b.head:])
	copy(q[k:], b.q[:b.head])
	b.q, b.head = q, 0
}

// Next takes what the branch holds.
func (b *branch[T]) Next(dst []Try[T]) int {
	h := b.hub
	h.mu.Lock()
	for b.len == 0 {
		if h.ended || b.closed || b.scope.Stopped() {
			h.mu.Unlock()
			return 0
		}
		if !h.begun {
			h.begin()
		}
		h.turns++
		b.hungry, b.room = h.turns, min(len(dst), b.size, maxGrain)
		b.wait.Arm()
		if h.idle {
			h.pump.Wake()
		}
		h.mu.Unlock()
		ok := b.wait.Park()
		h.mu.Lock()
		b.hungry = 0
		if !ok && b.len == 0 {
			h.mu.Unlock()
			return 0
		}
	}
	k := min(len(dst), b.len)
	for i := range k {
		slot := &b.q[b.head]
		dst[i] = *slot
		*slot = Try[T]{}
		b.head = (b.head + 1) % len(b.q)
	}
	b.len -= k
	if h.full == b {
		b.space.Wake()
	}
	h.mu.Unlock()
	return k
}

// Close lets the other branches go on; the last one closes upstream.
func (b *branch[T]) Close() {
	h := b.hub
	h.mu.Lock()
	if b.closed {
		h.mu.Unlock()
		return
	}
	b.closed = true
	clear(b.q)
	b.len = 0
	b.wait.Free()
	b.space.Free()
	if h.full == b {
		b.space.Wake()
	}
	h.unclosed--
	h.gone = h.unclosed == 0
	last, begun := h.gone, h.begun
	h.mu.Unlock()
	if !last {
		return
	}
	h.sub.Cancel(ErrClosed)
	if begun && !h.sub.run.await(h.over) {
		return // the pump is stuck, and upstream with it
	}
	h.up.Close()
}
