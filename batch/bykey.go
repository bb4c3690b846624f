package batch

import (
	"fmt"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// ByKey emits the values of in as batches of up to size ≥ 1, each of values of
// one key: that of its first value is that of all. The values of a key come in the
// order of in, within a batch and from one to the next; batches of different
// keys are emitted as they are complete. [Weigh], [Until], [Within] and [Reuse]
// go for each batch as they do in [Chunk].
//
// At most [OpenKeys] keys have a batch open, 1,024 if not given. When one more
// comes, the batch whose first value came first is emitted, full or not. Before an
// error, and at the end of in, all are emitted, in the order of their first
// values; so an error keeps its place for every key.
//
// key is called once for each value, in order. A key that is not equal to itself,
// as NaN is not, puts an error in the value's place.
//
// It holds up to size values for each open key, and runs and blocks as Chunk does.
func ByKey[K comparable, T any](in stage.Stream[T], key func(T) K, size int, opts ...Option) stage.Stream[[]T] {
	const fn = "batch.ByKey"
	stage.CheckFunc(fn, "key", key == nil)
	stage.CheckSize(fn, "size", size, 1)
	s := configure(fn, opts)
	r := newRules[T](fn, size, s)
	open := s.openKeys
	if open == 0 {
		open = DefaultOpenKeys
	}
	return gather("bykey", in, s, open, func(sc *stage.Scope, out *outbox[T], st *stock[T]) gatherer[T] {
		return &keyed[K, T]{rules: r, scope: sc, out: out, stock: st, key: key, limit: open, open: make(map[K]*group[K, T])}
	}, r)
}

// group is the open batch of a key, in a list by the age of first items.
type group[K comparable, T any] struct {
	filling[T]
	key        K
	prev, next *group[K, T]
}

// keyed is the gatherer that has a batch open for each key.
type keyed[K comparable, T any] struct {
	rules[T]
	scope *stage.Scope
	out   *outbox[T]
	stock *stock[T]
	key   func(T) K
	limit int

	open       map[K]*group[K, T]
	head, tail *group[K, T] // the oldest, the youngest
	spare      *group[K, T] // to be used again
}

// room is 1 for each batch that is wanted: with every item one may be complete.
func (g *keyed[K, T]) room(batches int) int { return min(batches, chunk) }

func (g *keyed[K, T]) take(items []stage.Try[T], came time.Duration) {
	for i := range items {
		err := items[i].Error
		if err == nil {
			if g.scope.Stopped() {
				continue
			}
			err = g.sort(items[i].Value, came)
		}
		if err != nil {
			flush[T](g)
			g.out.put(stage.Try[[]T]{Error: err})
		}
	}
}

// sort puts v into the batch of its key.
func (g *keyed[K, T]) sort(v T, came time.Duration) error {
	k := g.key(v)
	if k != k {
		return fmt.Errorf("%s: key of an item is %v, which is not equal to itself", g.fn, k)
	}
	w, err := g.weight(v)
	if err != nil {
		return err
	}
	b := g.open[k]
	if b != nil && !g.fits(&b.filling, w) {
		g.close(b)
		b = nil
	}
	if b == nil {
		if len(g.open) == g.limit {
			g.closeOldest()
		}
		b = g.begin(k, came)
	}
	if g.add(&b.filling, v, w) {
		g.close(b)
	}
	return nil
}

// begin opens a batch for k, the youngest one.
func (g *keyed[K, T]) begin(k K, came time.Duration) *group[K, T] {
	b := g.spare
	if b == nil {
		b = &group[K, T]{}
	} else {
		g.spare = b.next
	}
	*b = group[K, T]{filling: filling[T]{items: g.stock.fresh(), born: came}, key: k, prev: g.tail}
	if g.tail == nil {
		g.head = b
	} else {
		g.tail.next = b
	}
	g.tail = b
	g.open[k] = b
	return b
}

// close emits b.
func (g *keyed[K, T]) close(b *group[K, T]) {
	g.stock.last = len(b.items)
	g.out.put(stage.Try[[]T]{Value: b.items})
	delete(g.open, b.key)
	if b.prev == nil {
		g.head = b.next
	} else {
		b.prev.next = b.next
	}
	if b.next == nil {
		g.tail = b.prev
	} else {
		b.next.prev = b.prev
	}
	*b = group[K, T]{next: g.spare}
	g.spare = b
}

func (g *keyed[K, T]) closeOldest() { g.close(g.head) }

func (g *keyed[K, T]) oldest() (time.Duration, bool) {
	if g.head == nil {
		return 0, false
	}
	return g.head.born, true
}
