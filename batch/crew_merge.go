package batch

import (
	"context"
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
	for _, t := range tables {
		g.parts = max(g.parts, len(t.parts))
	}
	for _, t := range tables {
		if len(t.parts) < g.parts {
			t.split()
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
		p, err := g.merge(i)
		if err != nil {
			return false, err
		}
		if g.fill(p) {
			return true, nil
		}
	}
}

// merge reduces the i-th parts of all tables into the largest of them.
func (g *merger[K, V]) merge(i int) (shard[K, V], error) {
	if len(g.tables) == 0 {
		return shard[K, V]{}, nil
	}
	largest := g.tables[0]
	for _, t := range g.tables {
		if len(t.parts[i].pairs) > len(largest.parts[i].pairs) {
			largest = t
		}
	}
	into := largest.parts[i]
	ctx := g.scope.Context()
	for _, t := range g.tables {
		if t == largest {
			continue
		}
		p := &t.parts[i]
		// Pairs come in the order of their slots. Were the index smaller than that,
		// one half of it would be overfull before the other one is filled.
		into.reserve(len(into.pairs) + len(p.pairs))
		for _, slot := range p.index {
			if slot == 0 {
				continue
			}
			if g.scope.Stopped() {
				return into, context.Canceled // which only says so
			}
			e := &p.pairs[uint32(slot)-1]
			if err := into.add(ctx, g.m, uint32(slot>>32), e.key, e.value); err != nil {
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
