package batch

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

const (
	quick    = time.Millisecond
	lookEach = 4 // keys: so often time is looked at
)

// merger makes one map of the tables of all workers. Goroutines take its parts one
// by one, and merge those of all tables into one; as a map is filled by one
// goroutine at a time, whoever brings a part while none does fills it with all
// that is there, and the others go on to the next parts meanwhile.
type merger[K comparable, V any] struct {
	scope  *stage.Scope
	m      *mapping[K, V]
	few    *table[K, V]   // all that there is; or nil, and
	tables []*table[K, V] // in parts
	parts  int
	next   atomic.Int32 // the part that is taken next

	mu      sync.Mutex // never held while somebody waits
	ready   []shard[K, V]
	merged  int // parts
	keys    int // in them
	filling bool
	left    int     // parts that are not in the result yet
	result  map[K]V // of whoever fills it
}

// newMerger puts small tables together first, one by one, as long as that is quickly done.
// What is left then is one table of few keys, or tables in parts.
func newMerger[K comparable, V any](s *stage.Scope, m *mapping[K, V], tables []*table[K, V]) (*merger[K, V], error) {
	g := &merger[K, V]{scope: s, m: m}
	few := newTable(m, nil)
	for _, t := range tables {
		if len(t.few) > len(few.few) {
			few = t
		}
	}
	looks, began := 0, time.Now()
	enough := func() bool {
		looks++
		return looks%lookEach == 0 && time.Since(began) > quick
	}
	for _, t := range tables {
		if t == few {
			continue
		}
		if t.few != nil {
			if err := few.take(s.Context(), t, enough); err != nil {
				return nil, err
			}
		}
		if len(t.few) > 0 || t.few == nil && t.parts != nil {
			g.tables = append(g.tables, t)
		}
	}
	if len(g.tables) == 0 {
		g.parts, g.few = 1, few
		return g, nil
	}
	g.tables = append(g.tables, few)
	g.parts = 1 << partBits
	for _, t := range g.tables {
		if t.few != nil {
			t.split()
		}
	}
	g.left = g.parts
	return g, nil
}

// work merges parts until none is left; complete means that with it the result
// has become so.
func (g *merger[K, V]) work() (complete bool, err error) {
	for {
		i := int(g.next.Add(1)) - 1
		if i >= g.parts {
			return false, nil
		}
		if g.few != nil {
			g.result = g.few.whole()
			return true, nil
		}
		p, err := g.merge(i)
		if err != nil {
			return false, err
		}
		if g.fill(p) {
			return true, nil
		}
	}
}

// merge reduces the i-th parts of all tables, and what waits for them in bursts, into the
// largest of them.
func (g *merger[K, V]) merge(i int) (shard[K, V], error) {
	largest := g.tables[0]
	for _, t := range g.tables {
		if len(t.parts[i].pairs) > len(largest.parts[i].pairs) {
			largest = t
		}
	}
	into := largest.parts[i]
	ctx := g.scope.Context()
	for _, t := range g.tables {
		if t.bursts != nil {
			b := &t.bursts[i]
			if err := into.addAll(ctx, g.m, b.each[:b.n]); err != nil {
				return into, err
			}
		}
		if t == largest || len(t.parts[i].pairs) == 0 {
			continue
		}
		p := &t.parts[i]
		into.reserve(len(into.pairs) + len(p.pairs))
		var some [burstSize]hashed[K, V]
		for pairs := range slices.Chunk(p.pairs, burstSize) {
			for j, e := range pairs {
				some[j] = hashed[K, V]{e, uint32(maphash.Comparable(g.m.seed, e.key))}
			}
			if err := into.addAll(ctx, g.m, some[:len(pairs)]); err != nil {
				return into, err
			}
		}
		*p = shard[K, V]{}
	}
	largest.parts[i] = shard[K, V]{}
	return into, nil
}

// fill brings a merged part into the result, or leaves that to whoever does so
// already; it is true if the result is complete.
func (g *merger[K, V]) fill(p shard[K, V]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.merged++
	g.keys += len(p.pairs)
	g.ready = append(g.ready, p)
	if g.filling {
		return false
	}
	g.filling = true
	for len(g.ready) > 0 {
		some := g.ready
		g.ready = nil
		if g.result == nil { // the parts are about equal
			g.result = make(map[K]V, g.keys*g.parts/g.merged)
		}
		g.mu.Unlock()
		for i := range some {
			some[i].into(g.result)
		}
		g.mu.Lock()
		g.left -= len(some)
	}
	g.filling = false
	return g.left == 0
}
