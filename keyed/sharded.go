package keyed

import (
	"fmt"
	"math/bits"
	"sync"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// MaxShards is the largest number of shards that NewSharded accepts.
const MaxShards = 1 << 16

// Sharded is a map that any number of goroutines may use at once. Its keys fall
// on shards by their hash, each a Go map behind a lock of its own, so that two
// goroutines wait for each other only if their keys share a shard. The number of
// shards never changes, and neither does the shard of a key.
//
// It is the right thing where many goroutines touch many keys, each for a moment.
// Where one key takes most of the load its shard is one lock again; where the work
// on a key is long, or has to be in the order of the input, use Process or Owners,
// which have no lock to hold. And with two cores, and no more to do than to count, a
// Go map behind one mutex is as cheap: bench has the figures.
//
// All methods but Range, Len and Stats are linearizable, UpdateMany too: each
// takes effect at one moment between its call and its return. None waits for
// more than the locks of its shards, except that LoadOrCompute waits for a
// computation of the same key.
//
// Functions given to Update and UpdateMany run while a lock is held: they must
// not block, and must not use the map, or they wait for themselves. A key that is
// not equal to itself, such as a NaN, can be stored but not found, as in a Go map;
// a key that has no hash panics, as in a Go map.
//
// The zero Sharded is not ready for use: call NewSharded. It must not be copied.
type Sharded[K comparable, V any] struct {
	_      noCopy
	hash   func(K) uint64
	shift  uint // the shard is the top bits of the hash
	shards []shard[K, V]
}

// shard is a part of a Sharded. All fields belong to who holds mu.
//
//	 8 B  mu        what everyone of the shard writes
//	 8 B  m         a pointer: the entries lie elsewhere
//	 8 B  computing a pointer
//	16 B  waits     how often, and how long, a lock was waited for
//	128 B           so that no two shards share a cache line, or a pair of them
type shard[K comparable, V any] struct {
	mu        sync.Mutex
	m         map[K]V
	computing map[K]*computation[V] // by LoadOrCompute, at present; nil if never
	waits     uint64
	waited    time.Duration
	_         [128]byte
}

// noCopy makes go vet report copies of what contains it.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// NewSharded returns an empty map with so many shards, 1 to MaxShards, rounded up
// to a power of two. A few times as many as goroutines that use it at once is
// enough; an empty shard takes about 200 bytes.
func NewSharded[K comparable, V any](shards int) *Sharded[K, V] {
	const fn = "keyed.NewSharded"
	stage.CheckSize(fn, "shards", shards, 1)
	checkMost(fn, "shards", shards, MaxShards)
	n := bits.Len(uint(shards - 1))
	m := &Sharded[K, V]{
		hash:   hasher[K](),
		shift:  uint(64 - n),
		shards: make([]shard[K, V], 1<<n),
	}
	for i := range m.shards {
		m.shards[i].m = make(map[K]V)
	}
	return m
}

// shardOf returns the number of the key's shard. A shift by 64 is 0 in Go.
func (m *Sharded[K, V]) shardOf(key K) int {
	return int(m.hash(key) >> m.shift)
}

// lock returns the key's shard, locked.
func (m *Sharded[K, V]) lock(key K) *shard[K, V] {
	s := &m.shards[m.shardOf(key)]
	s.lock()
	return s
}

func (s *shard[K, V]) lock() {
	if s.mu.TryLock() {
		return
	}
	s.lockSlowly()
}

// lockSlowly keeps the clock off the path of those who do not wait.
func (s *shard[K, V]) lockSlowly() {
	start := time.Now()
	s.mu.Lock()
	s.waits++
	s.waited += time.Since(start)
}

func (s *shard[K, V]) unlock() { s.mu.Unlock() }

// Load returns the key's value and true, or the zero value and false. It never
// waits for a computation of LoadOrCompute.
func (m *Sharded[K, V]) Load(key K) (V, bool) {
	s := m.lock(key)
	v, ok := s.m[key]
	s.unlock()
	return v, ok
}

// Store sets the key's value.
func (m *Sharded[K, V]) Store(key K, v V) {
	s := m.lock(key)
	s.m[key] = v
	s.unlock()
}

// Update sets the key's value to what f makes of it, and returns that. If there
// is none, f gets the zero value and false. No other change of the key comes
// between. If f panics or calls runtime.Goexit, nothing has changed and the lock
// is free. f must neither block nor use the map.
func (m *Sharded[K, V]) Update(key K, f func(v V, present bool) V) V {
	if f == nil {
		stage.CheckFunc("keyed.Sharded.Update", "f", true)
	}
	s := m.lock(key)
	defer s.unlock()
	v, present := s.m[key]
	v = f(v, present)
	s.m[key] = v
	return v
}

// Delete removes the key and returns the value that it had and true, or the zero
// value and false. What LoadOrCompute is computing for the key at that moment goes
// to those who wait for it, but not into the map: after Delete has returned, no
// value appears that was computed from what there was before.
func (m *Sharded[K, V]) Delete(key K) (V, bool) {
	s := m.lock(key)
	v, ok := s.m[key]
	s.remove(key)
	s.unlock()
	return v, ok
}

func (s *shard[K, V]) remove(key K) {
	delete(s.m, key)
	delete(s.computing, key)
}

// Range calls f for the entries until f returns false; for k, v := range m.Range
// does the same. The order is arbitrary. It takes a copy of one shard after the
// other, and calls f without a lock, so f may use the map, and it needs memory for
// the largest shard. An entry that is there all the while is seen exactly once, and
// no key is seen twice; of what is stored or deleted meanwhile, some may be seen.
func (m *Sharded[K, V]) Range(f func(K, V) bool) {
	stage.CheckFunc("keyed.Sharded.Range", "f", f == nil)
	type entry struct {
		k K
		v V
	}
	var copied []entry
	for i := range m.shards {
		s := &m.shards[i]
		s.lock()
		for k, v := range s.m {
			copied = append(copied, entry{k, v})
		}
		s.unlock()
		for _, e := range copied {
			if !f(e.k, e.v) {
				return
			}
		}
		clear(copied)
		copied = copied[:0]
	}
}

// Len returns the number of entries, counted shard by shard: exact if nothing
// changes meanwhile.
func (m *Sharded[K, V]) Len() int {
	n := 0
	for i := range m.shards {
		s := &m.shards[i]
		s.lock()
		n += len(s.m)
		s.unlock()
	}
	return n
}

// ShardedStats tells what the locks of a Sharded have cost, and how evenly its
// keys lie.
type ShardedStats struct {
	Shards  int
	Len     int           // entries
	Largest int           // entries of the largest shard
	Waits   uint64        // how often a lock was not free
	Waited  time.Duration // how long it took to get it, summed over those times
}

// Stats returns the figures so far. It takes the shards one after the other, and
// its own waits count as well.
func (m *Sharded[K, V]) Stats() ShardedStats {
	st := ShardedStats{Shards: len(m.shards)}
	for i := range m.shards {
		s := &m.shards[i]
		s.lock()
		st.Len += len(s.m)
		st.Largest = max(st.Largest, len(s.m))
		st.Waits += s.waits
		st.Waited += s.waited
		s.unlock()
	}
	return st
}

// checkMost panics, naming the function fn and its argument, unless v ≤ most.
func checkMost(fn, arg string, v, most int) {
	if v > most {
		panic(fmt.Sprintf("%s: %s is %d, want at most %d", fn, arg, v, most))
	}
}
