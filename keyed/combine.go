package keyed

import (
	"runtime/debug"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// Combine merges values of equal keys while they wait for downstream: it is the
// remedy for a hot key, before a [Process], a [Reduce] or whatever else owns the
// keys, when what they do with values may as well be done with the sum of some:
//
//	bookings = keyed.Combine(bookings, account, sum, 1024)
//	balances, err := keyed.Reduce(ctx, bookings, 8, account, zero, book)
//
// add returns the one value that stands for acc and next, which came right after
// it as values of their key go. It must be associative; it need not be
// commutative. It may change acc and return it. The key of the result must be that
// of its parts.
//
// A value is emitted as soon as downstream asks for it, and never held back in the
// hope of another one: while downstream keeps up, values pass as they are, or as
// few at a time as come together, and the more it falls behind, the more are merged.
// So however hot a key is, no more than one value of it waits here. How many are
// merged depends on the course of the run; the sum does not.
//
// Values of one key leave in the order of the input. Those of different keys leave
// in the order of the first one in each. Errors keep their place: what came before
// an error leaves before it, and is merged with nothing that came after it.
//
// It holds at most size ≥ 1 items, errors and one value for each key; a smaller size
// panics. When that is full, it asks for one more item at a time, to see whether
// that can be merged: if not it pushes back. A key that comes often is never what
// it is full of. It reads in in a goroutine of its own, in which key and add are
// called, one call at a time; they must not block. It ends when in has ended and
// all is taken.
//
// Options are [stage.Name] and [stage.RecoverPanics]: with that a panic of key or
// add takes the place of the value that has come, and acc stays as add has left it.
// What is merged away is counted in StageStats.Dropped.
func Combine[A any, K comparable](in stage.Stream[A], key func(A) K, add func(acc, next A) A, size int, opts ...stage.Option) stage.Stream[A] {
	const fn = "keyed.Combine"
	stage.CheckFunc(fn, "key", key == nil)
	stage.CheckFunc(fn, "add", add == nil)
	stage.CheckSize(fn, "size", size, 1)
	c := stage.Configure(fn, opts...)
	return stage.New(func(s *stage.Scope) stage.Reader[A] {
		p := newPump(s, in, c, "combine", size)
		p.least = 1
		p.stock = &sums[A, K]{pump: p, key: key, add: add, where: map[K]uint64{}}
		return p
	})
}

// sums is the stock of a Combine: a queue of values of different keys, and of
// errors.
//
// Invariants:
//
//   - The queue belongs to the pump while claimed is set, and else to whoever has
//     mu. The pump claims it for each lot of items that it has read, so functions
//     of the user run without a lock, and gives it back before it asks for more.
//   - A reader that finds it claimed says how many items it wants. They are put
//     aside for it when the pump gives the queue back: so a pump that never rests
//     keeps no reader waiting for more than one lot.
//   - where has the place of each value in the queue that may be merged with: those
//     of places from low on. It may have places below, of what has left.
type sums[A any, K comparable] struct {
	*pump[A]
	key func(A) K
	add func(acc, next A) A

	claimed bool           // under mu
	wanted  int            // under mu
	aside   []stage.Try[A] // under mu: at the head of all
	given   int            // of those, taken

	ring  []sum[A, K] // the item of place i is at i mod its length, a power of two
	head  uint64      // the place of the first one
	tail  uint64      // the place behind the last one
	low   uint64      // what stands before this place is merged with nothing
	where map[K]uint64

	// The pump's.
	before int    // items aside, when it claimed the queue: there are no more now
	merged uint64 // values merged away since then
}

type sum[A any, K comparable] struct {
	key  K
	item stage.Try[A]
}

func (c *sums[A, K]) put(items []stage.Try[A]) {
	c.claim()
	for i := range items {
		item := &items[i]
		var k K
		if item.Error == nil {
			if c.sub.Stopped() {
				continue // values are dropped, but not errors
			}
			var err error
			if k, err = c.keyOf(item.Value); err != nil {
				*item = stage.Try[A]{Error: err}
			}
		}
		for !c.take(k, item) {
			c.yield()
			if !c.waitRoom() {
				return
			}
			c.claim()
		}
	}
	c.yield()
}

func (c *sums[A, K]) claim() {
	c.mu.Lock()
	c.claimed = true
	c.before = len(c.aside) - c.given
	c.mu.Unlock()
}

// yield gives the queue back, and the reader what it waits for.
func (c *sums[A, K]) yield() {
	c.mu.Lock()
	c.claimed = false
	c.stat.Dropped += c.merged
	c.merged = 0
	c.held = int(c.tail-c.head) + len(c.aside) - c.given
	if c.wanted > 0 && len(c.aside) == 0 {
		for ; c.wanted > 0 && c.head < c.tail; c.wanted-- {
			c.aside = append(c.aside, c.pop())
		}
		c.wanted = 0
	}
	c.mu.Unlock()
	c.cons.Wake()
}

// give takes what was put aside, or else from the queue, unless the pump is at it.
func (c *sums[A, K]) give(dst []stage.Try[A]) (k int, next time.Duration) {
	c.wanted = 0
	if c.given < len(c.aside) {
		k = copy(dst, c.aside[c.given:])
		clear(c.aside[c.given : c.given+k])
		if c.given += k; c.given == len(c.aside) {
			c.aside, c.given = c.aside[:0], 0
		}
		return k, 0
	}
	if c.claimed {
		c.wanted = min(len(dst), maxGrain)
		return 0, 0
	}
	for ; k < len(dst) && c.head < c.tail; k++ {
		dst[k] = c.pop()
	}
	return k, 0
}

func (c *sums[A, K]) pop() stage.Try[A] {
	s := c.at(c.head)
	c.head++
	item := s.item
	*s = sum[A, K]{}
	return item
}

// take brings one item in; false means that there is no room. The pump's, as all
// below, with the queue claimed.
func (c *sums[A, K]) take(k K, item *stage.Try[A]) bool {
	if item.Error == nil {
		place, ok := c.where[k]
		if !ok || place < max(c.low, c.head) {
			if len(c.where)-c.size >= c.size {
				c.sweep()
			}
			if !c.push(k, item) {
				return false
			}
			c.where[k] = c.tail - 1
			return true
		}
		if c.sub.Stopped() {
			return true
		}
		err := c.merge(&c.at(place).item.Value, item.Value)
		if err == nil {
			c.merged++
			return true
		}
		*item = stage.Try[A]{Error: err}
	}
	if !c.push(k, item) {
		return false
	}
	c.low = c.tail
	return true
}

// push puts an item behind all others, if there is room.
func (c *sums[A, K]) push(k K, item *stage.Try[A]) bool {
	queued := int(c.tail - c.head)
	if queued+c.before >= c.size {
		return false
	}
	if queued == len(c.ring) {
		c.grow()
	}
	*c.at(c.tail) = sum[A, K]{k, *item}
	c.tail++
	return true
}

func (c *sums[A, K]) at(place uint64) *sum[A, K] { return &c.ring[place&uint64(len(c.ring)-1)] }

func (c *sums[A, K]) grow() {
	ring := make([]sum[A, K], max(16, 2*len(c.ring)))
	for at := c.head; at < c.tail; at++ {
		ring[at&uint64(len(ring)-1)] = *c.at(at)
	}
	c.ring = ring
}

// sweep forgets the places of what has left, of keys too that are not equal to
// themselves.
func (c *sums[A, K]) sweep() {
	clear(c.where)
	for at := max(c.low, c.head); at < c.tail; at++ {
		c.where[c.at(at).key] = at
	}
}

// keyOf calls key. With RecoverPanics a panic is an error.
func (c *sums[A, K]) keyOf(v A) (k K, err error) {
	if c.guard {
		defer c.caught(&err)
	}
	return c.key(v), nil
}

// merge calls add.
func (c *sums[A, K]) merge(acc *A, next A) (err error) {
	if c.guard {
		defer c.caught(&err)
	}
	*acc = c.add(*acc, next)
	return nil
}

func (p *pump[A]) caught(err *error) {
	if v := recover(); v != nil {
		*err = &stage.Panic{Stage: p.name, Value: v, Stack: debug.Stack()}
	}
}

func (c *sums[A, K]) drop() {
	c.ring, c.where, c.aside, c.given = nil, nil, nil, 0
	c.head = c.tail
}
