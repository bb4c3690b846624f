package batch

import (
	"slices"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// Chunk emits the values of in as batches of up to size ≥ 1. A batch is emitted
// when it has size values, when [Until] ends it, when the next value would make it
// heavier than [Weigh] allows, when it is as old as [Within] allows, before an
// error, which is passed on in its place, and at once when in ends; not when the
// run is cancelled. It is never empty, and never touched again unless [Reuse] is
// set.
//
// Without Within it runs in the goroutine of whoever pulls, and waits for a
// batch to be complete; it asks in for no more than the batch has room for where
// its reader asks for one batch, were no item heavier than those before, and is at
// most 64 items ahead else. With Within a goroutine of its own fills the next batch
// while the reader is busy with the one before, and pushes back when both are full.
func Chunk[T any](in stage.Stream[T], size int, opts ...Option) stage.Stream[[]T] {
	const fn = "batch.Chunk"
	stage.CheckSize(fn, "size", size, 1)
	s := configure(fn, opts)
	refuse(fn, "OpenKeys", s.openKeys != 0)
	r := newRules[T](fn, size, s)
	return gather("chunk", in, s, 1, func(sc *stage.Scope, out *outbox[T], st *stock[T]) gatherer[T] {
		return &single[T]{rules: r, scope: sc, out: out, stock: st}
	}, r)
}

// single is the gatherer that has one batch open.
type single[T any] struct {
	rules[T]
	scope    *stage.Scope
	out      *outbox[T]
	stock    *stock[T]
	cur      filling[T]
	heaviest int // weight of an item so far
}

func (g *single[T]) room(batches int) int {
	left := g.size - len(g.cur.items)
	if batches > 1 { // the reader is not slow
		if g.size >= chunk {
			return chunk
		}
		return min(chunk, left+min(batches-1, chunk)*g.size)
	}
	if g.until != nil {
		return 1
	}
	if g.weigh != nil {
		left = min(left, max(1, (g.maxWeigh-g.cur.weight)/max(1, g.heaviest)))
	}
	return min(chunk, left)
}

func (g *single[T]) take(items []stage.Try[T], came time.Duration) {
	for len(items) > 0 {
		if err := items[0].Error; err != nil {
			g.fail(err)
			items = items[1:]
			continue
		}
		if g.plain() {
			items = items[g.takeRun(items, came):]
			continue
		}
		if !g.scope.Stopped() {
			g.takeOne(items[0].Value, came)
		}
		items = items[1:]
	}
}

// takeRun adds the values before the next error, as far as the open batch has
// room, and returns how many; it needs no function of the user.
func (g *single[T]) takeRun(items []stage.Try[T], came time.Duration) (k int) {
	g.begin(came)
	n := len(g.cur.items)
	items = items[:min(len(items), g.size-n)]
	into := slices.Grow(g.cur.items, len(items))[:n+len(items)]
	for to := into[n:][:len(items)]; k < len(items) && items[k].Error == nil; k++ {
		to[k] = items[k].Value
	}
	if g.cur.items = into[:n+k]; n+k == g.size {
		g.closeOldest()
	}
	return k
}

// space is the room that the open batch has, for values that come without errors.
func (g *single[T]) space() []T {
	g.begin(0)
	items := g.cur.items
	if len(items) == cap(items) {
		items = slices.Grow(items, min(g.size-len(items), max(leastCap, len(items))))
		g.cur.items = items
	}
	return items[len(items):min(cap(items), g.size)]
}

// filled adds the first k values of space.
func (g *single[T]) filled(k int) {
	if g.cur.items = g.cur.items[:len(g.cur.items)+k]; len(g.cur.items) == g.size {
		g.closeOldest()
	}
}

// takeOne is written out, as it is called for each item where functions of the
// user are.
func (g *single[T]) takeOne(v T, came time.Duration) {
	if g.weigh != nil {
		w, err := g.weight(v)
		if err != nil {
			g.fail(err)
			return
		}
		g.heaviest = max(g.heaviest, w)
		if !g.fits(&g.cur, w) {
			g.closeOldest()
		}
		g.begin(came)
		g.cur.weight += w
	} else {
		g.begin(came)
	}
	g.cur.items = append(g.cur.items, v)
	last := g.until != nil && g.until(v)
	if last || len(g.cur.items) >= g.size || g.weigh != nil && g.cur.weight >= g.maxWeigh {
		g.closeOldest()
	}
}

// fail emits an error behind what is open.
func (g *single[T]) fail(err error) {
	g.close()
	g.out.put(stage.Try[[]T]{Error: err})
}

// begin opens a batch if there is none.
func (g *single[T]) begin(came time.Duration) {
	if len(g.cur.items) > 0 {
		return
	}
	if g.cur.born = came; cap(g.cur.items) == 0 {
		g.cur.items = g.stock.fresh()
	}
}

// close emits the open batch, if there is one.
func (g *single[T]) close() {
	if len(g.cur.items) > 0 {
		g.closeOldest()
	}
}

func (g *single[T]) closeOldest() {
	g.stock.last = len(g.cur.items)
	g.out.put(stage.Try[[]T]{Value: g.cur.items})
	g.cur = filling[T]{}
}

func (g *single[T]) oldest() (time.Duration, bool) { return g.cur.born, len(g.cur.items) > 0 }
