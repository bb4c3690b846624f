package main

import (
	"context"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"

	"github.com/destel/rill"
	"github.com/seed95b73fdc/sluice/batch"
	"github.com/seed95b73fdc/sluice/stage"
)

// text is a text of words, some much more frequent than others.
type text struct {
	words  []string // words[v] is the one of item v
	spread []int32  // items in the order of their words
	starts []int32  // where those of each word begin in spread
}

// newText makes a text of count words, of which so many are different, by Zipf's
// law or, if that is 0, all about equally frequent. It is the same each time.
func newText(count, distinct int, zipf float64) *text {
	rng := rand.New(rand.NewPCG(1, 2))
	law := func() int { return rng.IntN(distinct) }
	if zipf > 0 {
		z := rand.NewZipf(rng, zipf, 1, uint64(distinct-1))
		law = func() int { return int(z.Uint64()) }
	}
	t := &text{words: make([]string, count), spread: make([]int32, count), starts: make([]int32, distinct+1)}
	ids := make([]int, count)
	for v := range ids {
		ids[v] = law()
		t.words[v] = "word-" + strconv.Itoa(ids[v])
		t.spread[v] = int32(v)
		t.starts[ids[v]+1]++
	}
	slices.SortStableFunc(t.spread, func(a, b int32) int { return ids[a] - ids[b] })
	for k := range distinct {
		t.starts[k+1] += t.starts[k]
	}
	return t
}

// word is that of an item, and none for what is not one.
func (t *text) word(v int) string {
	if v < 0 || v >= len(t.words) {
		return "word--1"
	}
	return t.words[v]
}

// check takes, for each word, as many of the text's items that are that word as
// have been counted: all of them once, if the counts are right.
func (t *text) check(take func(int), counts ...map[string]int) {
	seen := make([]int32, len(t.starts))
	for _, m := range counts {
		for word, c := range m {
			k, err := strconv.Atoi(word[len("word-"):])
			for range c {
				if err != nil || k < 0 || t.starts[k]+seen[k] == t.starts[k+1] {
					take(-1)
					continue
				}
				take(int(t.spread[t.starts[k]+seen[k]]))
				seen[k]++
			}
		}
	}
}

func plus(a, b int) int { return a + b }

// counting are the ways to count words.
func (t *text) counting() (loop, limit, fold, inParts, mapReduce, rillWay, mutex, sharded entry) {
	count := func(ctx context.Context, j job, m map[string]int, items []int) error {
		for _, v := range items {
			r, err := j.f(ctx, v)
			if err != nil {
				return err
			}
			m[t.word(r)]++
		}
		return nil
	}
	loop = entry{plainLoop.name, func(ctx context.Context, j job, take func(int)) error {
		m := make(map[string]int)
		if err := count(ctx, j, m, j.items); err != nil {
			return err
		}
		t.check(take, m)
		return nil
	}, anyOrder}
	limit = entry{"two halves, two maps, not merged", func(ctx context.Context, j job, take func(int)) error {
		maps, err := t.parts(ctx, j, func(ctx context.Context, items []int) (map[string]int, error) {
			m := make(map[string]int)
			return m, count(ctx, j, m, items)
		})
		if err == nil {
			t.check(take, maps...)
		}
		return err
	}, anyOrder}
	fold = entry{"sluice batch.Fold (finite slice only)", func(ctx context.Context, j job, take func(int)) error {
		m, err := batch.Fold(ctx, j.items, j.n, func() map[string]int { return make(map[string]int) },
			func(ctx context.Context, m map[string]int, v int) (map[string]int, error) {
				r, err := j.f(ctx, v)
				if err == nil {
					m[t.word(r)]++
				}
				return m, err
			}, mergeCounts)
		if err == nil {
			t.check(take, m)
		}
		return err
	}, anyOrder}
	inParts = entry{"sluice batch.Fold, state in 64 parts (finite slice only)", t.foldParts, anyOrder}
	mapReduce = entry{"sluice batch.MapReduce", func(ctx context.Context, j job, take func(int)) error {
		m, err := batch.MapReduce(ctx, stage.FromSlice(j.items), j.n, func(ctx context.Context, v int) (string, int, error) {
			r, err := j.f(ctx, v)
			return t.word(r), 1, err
		}, plus)
		if err == nil {
			t.check(take, m)
		}
		return err
	}, anyOrder}
	rillWay = entry{"rill MapReduce", func(ctx context.Context, j job, take func(int)) error {
		m, err := rill.MapReduce(rill.FromSlice(j.items, nil),
			j.n, func(v int) (string, int, error) {
				r, err := j.f(ctx, v)
				return t.word(r), 1, err
			},
			j.n, func(a, b int) (int, error) { return a + b, nil })
		if err == nil {
			t.check(take, m)
		}
		return err
	}, anyOrder}
	return loop, limit, fold, inParts, mapReduce, rillWay, t.locked("a map with a mutex, two goroutines", 1), t.locked("a map in 64 shards, two goroutines", 64)
}

// counts are those of words, in parts by their hash: so two of them can be merged
// part by part, by several goroutines, and each part stays in the cache meanwhile.
type counts [64]map[string]int

var countsSeed = maphash.MakeSeed()

func newCounts() *counts {
	var c counts
	for i := range c {
		c[i] = make(map[string]int)
	}
	return &c
}

// foldParts merges by batch.Ranges within batch.Fold.
func (t *text) foldParts(ctx context.Context, j job, take func(int)) error {
	c, err := batch.Fold(ctx, j.items, j.n, newCounts,
		func(ctx context.Context, c *counts, v int) (*counts, error) {
			r, err := j.f(ctx, v)
			if err == nil {
				word := t.word(r)
				c[maphash.String(countsSeed, word)%uint64(len(c))][word]++
			}
			return c, err
		},
		func(ctx context.Context, a, b *counts) (*counts, error) {
			return a, batch.Ranges(ctx, len(a), j.n, func(_ context.Context, lo, hi int) error {
				for i := lo; i < hi; i++ {
					a[i] = mergeCounts(a[i], b[i])
				}
				return nil
			})
		})
	if err == nil {
		t.check(take, c[:]...)
	}
	return err
}

// mergeCounts adds the smaller map to the larger one.
func mergeCounts(a, b map[string]int) map[string]int {
	if len(a) < len(b) {
		a, b = b, a
	}
	for word, c := range b {
		a[word] += c
	}
	return a
}

// parts runs count for each of n equal parts of the items, at once.
func (t *text) parts(ctx context.Context, j job, count func(context.Context, []int) (map[string]int, error)) ([]map[string]int, error) {
	maps, errs := make([]map[string]int, j.n), make([]error, j.n)
	var wg sync.WaitGroup
	for w := range j.n {
		from, to := w*len(j.items)/j.n, (w+1)*len(j.items)/j.n
		wg.Go(func() { maps[w], errs[w] = count(ctx, j.items[from:to]) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return maps, nil
}

// locked counts into maps that all goroutines share, each with a lock.
func (t *text) locked(name string, shards int) entry {
	type shard struct {
		sync.Mutex
		m map[string]int
		_ [64]byte
	}
	return entry{name, func(ctx context.Context, j job, take func(int)) error {
		table := make([]shard, shards)
		for i := range table {
			table[i].m = make(map[string]int)
		}
		_, err := t.parts(ctx, j, func(ctx context.Context, items []int) (map[string]int, error) {
			for _, v := range items {
				r, err := j.f(ctx, v)
				if err != nil {
					return nil, err
				}
				word := t.word(r)
				s := &table[hashOf(word)%uint32(shards)]
				s.Lock()
				s.m[word]++
				s.Unlock()
			}
			return nil, nil
		})
		if err != nil {
			return err
		}
		for i := range table {
			t.check(take, table[i].m)
		}
		return nil
	}, anyOrder}
}

// hashOf is FNV-1a.
func hashOf(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}
