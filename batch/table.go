package batch

import (
	"context"
	"hash/maphash"
)

// table is what a worker of a MapReduce has reduced so far. It is no map, as that
// would cost two accesses for each item, to look and to store, and could be
// merged with another one by one goroutine only. A table with many keys is in
// parts by their hash, which is the same in all tables of a run: so parts are
// merged one by one, by as many goroutines as there are, and each of them stays in
// the cache meanwhile.
type table[K comparable, V any] struct {
	m     *mapping[K, V]
	shift uint // of the hash, for what is left to be the number of the part
	parts []shard[K, V]
}

// shard is a hash table: an index that is probed linearly, and the pairs in the
// order in which their keys came.
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

const (
	partBits  = 6
	manyKeys  = 1 << 12 // with more of them a table is in parts
	leastSize = 8       // of an index

	wholeShift = 64            // one part: no bit is left
	partsShift = 64 - partBits // the upper bits: those that the index does not use
)

func newTable[K comparable, V any](m *mapping[K, V]) *table[K, V] {
	return &table[K, V]{m: m, shift: wholeShift, parts: make([]shard[K, V], 1)}
}

// add reduces v into what there is for k.
func (t *table[K, V]) add(ctx context.Context, k K, v V) error {
	h := maphash.Comparable(t.m.seed, k)
	p := &t.parts[h>>t.shift]
	if len(p.pairs) == manyKeys && t.shift == wholeShift {
		t.split()
		p = &t.parts[h>>t.shift]
	}
	return p.add(ctx, t.m, uint32(h), k, v)
}

// split puts the pairs of a table that has one part into many.
func (t *table[K, V]) split() {
	if t.shift == partsShift {
		return
	}
	whole := t.parts[0]
	t.shift, t.parts = partsShift, make([]shard[K, V], 1<<partBits)
	for i := range t.parts {
		t.parts[i].reserve(len(whole.pairs) >> partBits)
	}
	for _, e := range whole.pairs {
		h := maphash.Comparable(t.m.seed, e.key)
		p := &t.parts[h>>t.shift]
		p.put(p.free(uint32(h)), uint32(h), e.key, e.value)
	}
}

// len is how many keys there are.
func (t *table[K, V]) len() (n int) {
	for i := range t.parts {
		n += len(t.parts[i].pairs)
	}
	return n
}

func (p *shard[K, V]) add(ctx context.Context, m *mapping[K, V], h uint32, k K, v V) (err error) {
	if len(p.index) == 0 {
		p.resize(leastSize)
	}
	mask := uint32(len(p.index) - 1)
	i := h & mask
	for ; p.index[i] != 0; i = (i + 1) & mask {
		slot := p.index[i]
		if uint32(slot>>32) != h {
			continue
		}
		if e := &p.pairs[uint32(slot)-1]; e.key == k {
			if m.plain != nil {
				e.value = m.plain(e.value, v)
				return nil
			}
			e.value, err = m.reducer(ctx, e.value, v)
			return err
		}
	}
	p.put(i, h, k, v)
	return nil
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
	mask := uint32(len(p.index) - 1)
	i := h & mask
	for p.index[i] != 0 {
		i = (i + 1) & mask
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

// whole is the table as a map.
func (t *table[K, V]) whole() map[K]V {
	m := make(map[K]V, t.len())
	for i := range t.parts {
		t.parts[i].into(m)
	}
	return m
}

func (p *shard[K, V]) into(m map[K]V) {
	for i := range p.pairs {
		m[p.pairs[i].key] = p.pairs[i].value
	}
}
