package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/seed95b73fdc/sluice/bench/internal/measure"
	"github.com/seed95b73fdc/sluice/keyed"
)

// shardedRows: what does a count cost in a map that goroutines share?
func shardedRows(c config) measure.Group {
	const n, few, many = 2, 1_000, 1_000_000
	g := measure.Group{
		Key:   "sharded",
		Title: "A map that two goroutines share",
		Job: "Two goroutines have half of the items each and call a no-op f. Each item has a key, whose count they raise, or, " +
			"in the last row, look at nine times of ten. At the end the counts are added up and checked. " +
			"The counts of sync.Map are atomics behind pointers, as its users do; the others have them as values. " +
			"A map without a lock, in one goroutine, is what sharing costs nothing.",
	}
	for _, row := range []struct {
		name  string
		keys  []int
		reads int // of ten
	}{
		{"count, 1,000 keys", uniformKeys(few, c.items), 0},
		{"count, 1,000 keys, Zipf", zipfKeys(few, c.items), 0},
		{"count, 1,000,000 keys", uniformKeys(many, c.items), 0},
		{"read 9 of 10, 1,000 keys, Zipf", zipfKeys(few, c.items), 9},
	} {
		var entries []entry
		for _, m := range []struct {
			name string
			n    int
			make func() counter
		}{
			{"map, one goroutine", 1, func() counter { return plainCounts{} }},
			{shardedName, n, func() counter { return shardedCounts{keyed.NewSharded[int, int](shardsMeasured)} }},
			{"map and mutex", n, func() counter { return &mutexCounts{m: make(map[int]int)} }},
			{"map and RWMutex", n, func() counter { return &rwCounts{m: make(map[int]int)} }},
			{"sync.Map of atomics", n, func() counter { return &syncCounts{} }},
			{"xsync Map", n, func() counter { return xsyncCounts{xsync.NewMap[int, int]()} }},
		} {
			entries = append(entries, entry{m.name, counting(row.keys, row.reads, m.n, m.make), inOrder})
		}
		g.Rows = append(g.Rows, job{upTo(c.items), n, noop}.row(row.name, shardedName, entries...))
		g.Drawn = append(g.Drawn, row.name)
	}
	return g
}

const (
	shardedName    = "sluice keyed.Sharded"
	shardsMeasured = 64
)

// uniformKeys returns count keys below n, each as likely as the next.
func uniformKeys(n, count int) []int {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	keys := make([]int, count)
	for i := range keys {
		keys[i] = rng.IntN(n)
	}
	return keys
}

// zipfKeys returns count keys below n, of which few come often.
func zipfKeys(n, count int) []int {
	const exponent = 1.1
	zipf := rand.NewZipf(rand.New(rand.NewPCG(2, uint64(n))), exponent, 1, uint64(n-1))
	keys := make([]int, count)
	for i := range keys {
		keys[i] = int(zipf.Uint64())
	}
	return keys
}

// counter counts by key.
type counter interface {
	add(key int)
	get(key int) int
	total() int
}

// counting is the way that counts the keys of items in a shared map: n goroutines
// with an equal share each.
func counting(keys []int, reads, n int, newCounter func() counter) way {
	const of = 10
	return func(ctx context.Context, j job, take func(int)) error {
		m := newCounter()
		results := make([]int, len(j.items))
		errs := make([]error, n)
		var raised atomic.Int64
		var wg sync.WaitGroup
		for w := range n {
			from, to := w*len(j.items)/n, (w+1)*len(j.items)/n
			wg.Go(func() {
				counted := 0
				for i := from; i < to; i++ {
					r, err := j.f(ctx, j.items[i])
					if err != nil {
						errs[w] = err
						return
					}
					results[i] = r
					key := keys[j.items[i]%len(keys)]
					if i%of < reads {
						m.get(key)
						continue
					}
					m.add(key)
					counted++
				}
				raised.Add(int64(counted))
			})
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		if got := m.total(); int64(got) != raised.Load() {
			return fmt.Errorf("the counts add up to %d, not %d", got, raised.Load())
		}
		for _, r := range results {
			take(r)
		}
		return nil
	}
}

type plainCounts map[int]int

func (m plainCounts) add(key int)     { m[key]++ }
func (m plainCounts) get(key int) int { return m[key] }
func (m plainCounts) total() (sum int) {
	for _, v := range m {
		sum += v
	}
	return sum
}

type shardedCounts struct{ m *keyed.Sharded[int, int] }

func oneMore(v int, _ bool) int { return v + 1 }

func (s shardedCounts) add(key int)     { s.m.Update(key, oneMore) }
func (s shardedCounts) get(key int) int { v, _ := s.m.Load(key); return v }
func (s shardedCounts) total() (sum int) {
	for _, v := range s.m.Range {
		sum += v
	}
	return sum
}

type mutexCounts struct {
	mu sync.Mutex
	m  plainCounts
}

func (s *mutexCounts) add(key int) {
	s.mu.Lock()
	s.m[key]++
	s.mu.Unlock()
}

func (s *mutexCounts) get(key int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.m[key]
}

func (s *mutexCounts) total() int { return s.m.total() }

type rwCounts struct {
	mu sync.RWMutex
	m  plainCounts
}

func (s *rwCounts) add(key int) {
	s.mu.Lock()
	s.m[key]++
	s.mu.Unlock()
}

func (s *rwCounts) get(key int) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.m[key]
}

func (s *rwCounts) total() int { return s.m.total() }

type syncCounts struct{ m sync.Map }

func (s *syncCounts) add(key int) {
	v, ok := s.m.Load(key)
	if !ok {
		v, _ = s.m.LoadOrStore(key, new(atomic.Int64))
	}
	v.(*atomic.Int64).Add(1)
}

func (s *syncCounts) get(key int) int {
	v, ok := s.m.Load(key)
	if !ok {
		return 0
	}
	return int(v.(*atomic.Int64).Load())
}

func (s *syncCounts) total() (sum int) {
	s.m.Range(func(_, v any) bool {
		sum += int(v.(*atomic.Int64).Load())
		return true
	})
	return sum
}

type xsyncCounts struct{ m *xsync.Map[int, int] }

func (s xsyncCounts) add(key int) {
	s.m.Compute(key, func(v int, _ bool) (int, xsync.ComputeOp) { return v + 1, xsync.UpdateOp })
}

func (s xsyncCounts) get(key int) int { v, _ := s.m.Load(key); return v }
func (s xsyncCounts) total() (sum int) {
	s.m.Range(func(_, v int) bool { sum += v; return true })
	return sum
}
