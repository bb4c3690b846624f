package batch

import (
	"context"
	"hash/maphash"
	"sync"
)

// table is what a worker of a MapReduce has reduced so far: a map of few keys, and with
// more than manyKeys one in parts by the hashes of its keys, which are the same in all
// tables of a run. So parts are merged one by one, by as many goroutines as there are.
//
// A table in parts is larger than the cache, and whoever adds to it waits for the memory
// most of the time. So what is added waits in bursts, one for each part, and a burst
// that is full is reduced at once: the memory is asked for all of it together. It is
// reduced into a table that all workers have in common, whose parts are taken one at a
// time, and only if another worker has just that part, into the worker's own: so nobody
// waits, keys are seldom in several tables, and little is left to be merged. Bursts that
// are not full in the end are left to the merge too. The table of a single worker has
// parts, but neither bursts nor a common table: all is reduced as it comes.
type table[K comparable, V any] struct {
	m      *mapping[K, V]
	few    map[K]*V // nil: the table is in parts
	spare  []V      // for the next keys of few
	parts  []shard[K, V]
	bursts []burst[K, V]  // one for each part, or none: of several workers
	common *commons[K, V] // with bursts

	// Of a mapper that emits.
	ctx    context.Context
	open   bool // a call is in progress
	inside bool // and in emit
	err    error
	fail   func(error) // is told of err
}

// commons is the table that the workers of a run have in common.
type commons[K comparable, V any] struct {
	parts [1 << partBits]struct {
		_  pad
		mu sync.Mutex // tried only, never waited for
		shard[K, V]
	}
}

// burst is what is to be added to a part.
type burst[K comparable, V any] struct {
	n    int
	each [burstSize]hashed[K, V]
}

// shard is a hash table: an index that is probed linearly, and the pairs in the
// order in which their keys came. It is no map, as that would cost two accesses for
// each item, to look and to store.
//
// A slot of the index has the lower half of the key's hash in its upper half, where
// the search begins with it too, and the pair's place from 1 on in its lower one; 0
// is an empty slot. So pairs are looked at only when the hash agrees, and not at
// all when the index grows.
type shard[K comparable, V any] struct {
	index []uint64
	pairs []pair[K, V]
}

type pair[K comparable, V any] struct {
	key   K
	value V
}

// hashed is a pair on its way to a part.
type hashed[K comparable, V any] struct {
	pair[K, V]
	hash uint32 // the lower half
}

const (
	partBits  = 6 // the upper bits of a hash: those that an index does not use
	manyKeys  = 1 << 12
	spareSize = 64
	leastSize = 8  // of an index
	burstSize = 32 // about as many loads as a core has under way at once
)

func newTable[K comparable, V any](m *mapping[K, V], fail func(error)) *table[K, V] {
	return &table[K, V]{m: m, few: make(map[K]*V), fail: fail}
}

// add reduces v into what there is for k: now, or, of several workers with many keys, when
// its burst is full or in the merge.
func (t *table[K, V]) add(ctx context.Context, k K, v V) error {
	if t.m.stopped(ctx) {
		return context.Canceled // which only says so
	}
	if t.few != nil {
		if old := t.few[k]; old != nil {
			return t.m.reduce(ctx, old, v)
		}
		if len(t.few) < manyKeys {
			t.put(k, v)
			return nil
		}
		t.split()
		if t.m.scope != nil {
			t.common, t.bursts = t.m.commons(), make([]burst[K, V], 1<<partBits)
		}
	}
	h := maphash.Comparable(t.m.seed, k)
	part := partOf(h)
	if t.bursts == nil {
		return t.parts[part].add(ctx, t.m, uint32(h), k, v)
	}
	b := &t.bursts[part]
	b.each[b.n] = hashed[K, V]{pair[K, V]{k, v}, uint32(h)}
	if b.n++; b.n < burstSize {
		return nil
	}
	return t.flush(ctx, part)
}

// put puts a new key into few.
func (t *table[K, V]) put(k K, v V) {
	if len(t.spare) == cap(t.spare) {
		t.spare = make([]V, 0, min(spareSize, len(t.few)+1))
	}
	t.spare = append(t.spare, v)
	t.few[k] = &t.spare[len(t.spare)-1]
}

// take reduces what another table of few keys has into few, however many these are, until
// it has had enough. What is left then stays where it is.
func (t *table[K, V]) take(ctx context.Context, other *table[K, V], enough func() bool) error {
	few := other.few
	other.few, other.spare = nil, nil
	for k, v := range few {
		if t.m.stopped(ctx) {
			return context.Canceled // which only says so
		}
		old := t.few[k]
		switch {
		case other.few != nil || enough():
			if other.few == nil {
				other.few = make(map[K]*V)
			}
			other.few[k] = v
		case old == nil:
			t.put(k, *v)
		default:
			if err := t.m.reduce(ctx, old, *v); err != nil {
				return err
			}
		}
	}
	return nil
}

// emitter makes the emit of a mapper that may have several pairs.
func (t *table[K, V]) emitter() func(K, V) {
	plain, scope := t.m.plain, t.m.scope
	if plain == nil || scope == nil {
		return t.emit
	}
	return func(k K, v V) { // quickly, what is most frequent
		if t.open && !scope.Stopped() {
			if old := t.few[k]; old != nil {
				t.inside = true
				*old = plain(*old, v)
				t.inside = false
				return
			}
		}
		t.emit(k, v)
	}
}

// emit is add for a mapper that may have several pairs.
func (t *table[K, V]) emit(k K, v V) {
	if !t.open {
		panic("batch.FlatMapReduce: emit is called when mapper has returned")
	}
	t.inside = true
	if t.err == nil {
		if t.err = t.add(t.ctx, k, v); t.err != nil {
			t.fail(t.err)
		}
	}
	t.inside = false
}

// returned ends the call of a mapper that emits, and returns the error of its item.
func (t *table[K, V]) returned(err error) error {
	t.open = false
	switch {
	case t.inside:
		return errRecovered
	case t.err != nil && (err == nil || !isCancel(t.err)):
		return t.err
	}
	return err
}

// close is called when no mapper will be called for the table, however that came.
func (t *table[K, V]) close() { t.open = false }

// partOf is the part that a key with the hash belongs to.
func partOf(h uint64) int { return int(h >> (64 - partBits)) }

// flush reduces a burst that is full.
func (t *table[K, V]) flush(ctx context.Context, part int) error {
	b := &t.bursts[part]
	some := b.each[:b.n]
	b.n = 0
	if c := &t.common.parts[part]; c.mu.TryLock() {
		err := c.addAll(ctx, t.m, some)
		c.mu.Unlock() // and not after a panic, which ends the run
		return err
	}
	return t.parts[part].addAll(ctx, t.m, some)
}

// split puts the pairs of few into parts, the worker's own.
func (t *table[K, V]) split() {
	t.parts = make([]shard[K, V], 1<<partBits)
	for k, v := range t.few {
		h := maphash.Comparable(t.m.seed, k)
		p := &t.parts[partOf(h)]
		if len(p.index) == 0 {
			p.reserve(max(1, len(t.few)>>(partBits-1)))
		}
		p.put(p.free(uint32(h)), uint32(h), k, *v)
	}
	t.few, t.spare = nil, nil
}

// table is what the workers have in common, when they have ended.
func (c *commons[K, V]) table(m *mapping[K, V]) *table[K, V] {
	t := &table[K, V]{m: m, parts: make([]shard[K, V], len(c.parts))}
	for i := range c.parts {
		t.parts[i] = c.parts[i].shard
	}
	return t
}

// whole is a table without bursts as a map of values.
func (t *table[K, V]) whole() map[K]V {
	keys := len(t.few)
	for i := range t.parts {
		keys += len(t.parts[i].pairs)
	}
	m := make(map[K]V, keys)
	for i := range t.parts {
		t.parts[i].into(m)
	}
	for k, v := range t.few {
		m[k] = *v
	}
	return m
}

// add reduces v into the pair of k.
func (p *shard[K, V]) add(ctx context.Context, m *mapping[K, V], h uint32, k K, v V) error {
	if len(p.index) == 0 {
		p.resize(leastSize)
	}
	i := h & p.mask()
	for slot := p.index[i]; slot != 0; slot = p.index[i] {
		if uint32(slot>>32) == h {
			if e := &p.pairs[uint32(slot)-1]; e.key == k {
				return m.reduce(ctx, &e.value, v)
			}
		}
		i = (i + 1) & p.mask()
	}
	p.put(i, h, k, v)
	return nil
}

// addAll adds up to burstSize pairs, in order, and leaves none of them alive. Where their
// keys are is found out before anything changes, and where to look for that before it is
// looked at: so no load waits for one that is for another pair.
func (p *shard[K, V]) addAll(ctx context.Context, m *mapping[K, V], some []hashed[K, V]) error {
	if len(p.index) == 0 {
		p.resize(leastSize)
	}
	var slots [burstSize]uint64
	for j := range some {
		slots[j] = p.index[some[j].hash&p.mask()]
	}
	var places [burstSize]uint32
	for j := range some {
		places[j] = p.search(slots[j], &some[j])
	}
	for j := range some {
		if m.stopped(ctx) {
			return context.Canceled // which only says so
		}
		e := &some[j]
		var err error
		if at := places[j]; at != 0 {
			err = m.reduce(ctx, &p.pairs[at-1].value, e.value)
		} else {
			err = p.add(ctx, m, e.hash, e.key, e.value) // its key may be there by now
		}
		if err != nil {
			return err
		}
	}
	if m.refs {
		clear(some)
	}
	return nil
}

func (p *shard[K, V]) mask() uint32 { return uint32(len(p.index) - 1) }

// search looks for the key of e, in whose first slot of the index there is slot, and
// returns the place of its pair, or 0.
func (p *shard[K, V]) search(slot uint64, e *hashed[K, V]) uint32 {
	for i := e.hash & p.mask(); slot != 0; slot = p.index[i] {
		if at := uint32(slot); uint32(slot>>32) == e.hash && p.pairs[at-1].key == e.key {
			return at
		}
		i = (i + 1) & p.mask()
	}
	return 0
}

// put adds a pair, whose key is new, at slot i, which is empty.
func (p *shard[K, V]) put(i, h uint32, k K, v V) {
	if len(p.pairs) == cap(p.pairs) {
		pairs := make([]pair[K, V], len(p.pairs), 2*len(p.pairs)+leastSize/2)
		copy(pairs, p.pairs)
		p.pairs = pairs
	}
	p.pairs = append(p.pairs, pair[K, V]{k, v})
	p.index[i] = uint64(h)<<32 | uint64(len(p.pairs))
	if len(p.pairs) > room(len(p.index)) {
		p.resize(2 * len(p.index))
	}
}

// room is how many keys an index of a size has slots for: two thirds are full at
// most, so that a search is short.
func room(size int) int { return size / 3 * 2 }

// free is the slot for a key that is not there.
func (p *shard[K, V]) free(h uint32) uint32 {
	i := h & p.mask()
	for p.index[i] != 0 {
		i = (i + 1) & p.mask()
	}
	return i
}

// resize makes a larger index.
func (p *shard[K, V]) resize(size int) {
	old := p.index
	p.index = make([]uint64, size)
	for _, slot := range old {
		if slot != 0 {
			p.index[p.free(uint32(slot>>32))] = slot
		}
	}
}

// reserve makes room for n keys, so that nothing need grow meanwhile.
func (p *shard[K, V]) reserve(n int) {
	if cap(p.pairs) < n {
		pairs := make([]pair[K, V], len(p.pairs), n)
		copy(pairs, p.pairs)
		p.pairs = pairs
	}
	size := max(len(p.index), leastSize)
	for room(size) < n {
		size *= 2
	}
	if size > len(p.index) {
		p.resize(size)
	}
}

// into puts all pairs into m.
func (p *shard[K, V]) into(m map[K]V) {
	for i := range p.pairs {
		m[p.pairs[i].key] = p.pairs[i].value
	}
}
