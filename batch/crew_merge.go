package batch

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed95b73fdc/sluice/stage"
)

// merger makes one map of the tables of all workers. Goroutines take its parts one
// by one, and merge those of all tables into one; as a map is filled by one
// goroutine at a time, whoever brings a part while none does fills it with all
// that is there, and the others go on to the next parts meanwhile.
type merger[K comparable, V any] struct {
	scope  *stage.Scope
	m      *mapping[K, V]
	tables []*table[K, V]
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

func newMerger[K comparable, V any](s *stage.Scope, m *mapping[K, V], tables []*table[K, V]) *merger[K, V] {
	g := &merger[K, V]{scope: s, m: m, tables: tables, parts: 1}
	keys := 0
	for _, t := range tables {
		keys += len(t.few)
		g.parts = max(g.parts, len(t.parts))
	}
	if keys > manyKeys || g.parts > 1 {
		g.parts = 1 << partBits
		for _, t := range tables {
			if t.few != nil {
				t.split()
			}
		}
	}
	g.left = g.parts
	return g
}

// work merges parts until none is left; complete means that with it the result
// has become so.
func (g *merger[K, V]) work() (complete bool, err error) {
	for {
		i := int(g.next.Add(1)) - 1
		if i >= g.parts {
			return false, nil
		}
		if g.parts == 1 {
			err := g.mergeFew()
			return err == nil, err
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

// mergeFew makes the result of tables that have few keys, all together.
func (g *merger[K, V]) mergeFew() error {
	into := newTable(g.m)
	for _, t := range g.tables {
		if len(t.few) > len(into.few) {
			into = t
		}
	}
	ctx := g.scope.Context()
	for _, t := range g.tables {
		if t == into {
			continue
		}
		for k, v := range t.few {
			if g.scope.Stopped() {
				return context.Canceled // which only says so
			}
			if err := into.add(ctx, k, *v); err != nil {
				return err
			}
		}
	}
	g.result = into.whole()
	return nil
}

// merge reduces the i-th parts of all tables into the largest of them.
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
		if t == largest || len(t.parts[i].pairs) == 0 {
			continue
		}
		p := &t.parts[i]
		into.reserve(len(into.pairs) + len(p.pairs))
		for some := range slices.Chunk(p.pairs, burstSize) {
			if err := into.addAll(ctx, g.m, some); err != nil {
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
