package main

import (
	"context"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/destel/rill"
	"github.com/seed95b73fdc/sluice/batch"
	"github.com/seed95b73fdc/sluice/stage"
)

// text is a text of words, some much more frequent than others. An item is a word of it,
// or a line.
type text struct {
	items    []string
	lines    bool
	words    int   // in all items
	often    []int // how often word-0, word-1, … are in it
	distinct int   // those that are
}

// newText makes a text of count words, of which so many are different, by Zipf's
// law or, if that is 0, all about equally frequent, and so many to an item. It is the same
// each time.
func newText(count, distinct int, zipf float64, perItem int) *text {
	rng := rand.New(rand.NewPCG(1, 2))
	law := func() int { return rng.IntN(distinct) }
	if zipf > 0 {
		z := rand.NewZipf(rng, zipf, 1, uint64(distinct-1))
		law = func() int { return int(z.Uint64()) }
	}
	t := &text{lines: perItem > 1, words: count, often: make([]int, distinct)}
	words := make([]string, count)
	for v := range words {
		id := law()
		words[v] = "word-" + strconv.Itoa(id)
		if t.often[id]++; t.often[id] == 1 {
			t.distinct++
		}
	}
	for some := range slices.Chunk(words, perItem) {
		t.items = append(t.items, strings.Join(some, " "))
	}
	return t
}

// item is the text of an item, and a word that is not in it for what is not one.
func (t *text) item(v int) string {
	if v < 0 || v >= len(t.items) {
		return "word--1"
	}
	return t.items[v]
}

// look takes the words of the text, numbered from 0, that the counts of all maps say are in
// it as often as they are; and -1 for each that is not.
func (t *text) look(counts ...map[string]int) func(take func(int)) {
	return func(take func(int)) {
		seen := make([]int, len(t.often))
		for _, m := range counts {
			for word, c := range m {
				k, err := strconv.Atoi(strings.TrimPrefix(word, "word-"))
				if err != nil || k < 0 || k >= len(seen) {
					take(-1)
					continue
				}
				seen[k] += c
			}
		}
		number := 0
		for k, want := range t.often {
			if seen[k] != want {
				take(-1)
			} else if want > 0 {
				take(number)
			}
			if want > 0 {
				number++
			}
		}
	}
}

func plus(a, b int) int { return a + b }

// count counts the words of items.
func (t *text) count(ctx context.Context, j job, m map[string]int, items []int) error {
	for _, v := range items {
		r, err := j.f(ctx, v)
		if err != nil {
			return err
		}
		t.add(m, r)
	}
	return nil
}

// add counts the words of an item. All who count into a map of their own call it: where the
// loop is part of what calls it, the compiler makes closures of it for some of them.
//
//go:noinline
func (t *text) add(m map[string]int, v int) {
	if !t.lines {
		m[t.item(v)]++
		return
	}
	for word := range strings.FieldsSeq(t.item(v)) {
		m[word]++
	}
}

// counters are the ways to count words.
type counters struct{ loop, limit, fold, inParts, mapReduce, rill, mutex, sharded contender }

func (t *text) counters(j job) counters {
	counter := func(name string, count maker) contender {
		return contender{entry{name: name, promise: anyOrder}, j, count}
	}
	mapReduce, rillWay := counter("sluice batch.MapReduce", t.mapWords), counter("rill MapReduce", t.rillMapWords)
	if t.lines {
		mapReduce, rillWay = counter("sluice batch.FlatMapReduce", t.mapLines), counter("rill FlatMap and MapReduce", t.rillMapLines)
	}
	return counters{
		loop: counter(plainLoop.name, func(ctx context.Context, j job) (func(func(int)), error) {
			m := make(map[string]int)
			return t.look(m), t.count(ctx, j, m, j.items)
		}),
		limit: counter("two halves, two maps, not merged", func(ctx context.Context, j job) (func(func(int)), error) {
			maps, err := t.parts(ctx, j, func(ctx context.Context, items []int) (map[string]int, error) {
				m := make(map[string]int)
				return m, t.count(ctx, j, m, items)
			})
			return t.look(maps...), err
		}),
		fold: counter("sluice batch.Fold (finite slice only)", func(ctx context.Context, j job) (func(func(int)), error) {
			m, err := batch.Fold(ctx, j.items, j.n, func() map[string]int { return make(map[string]int) }, t.adder(j), mergeCounts)
			return t.look(m), err
		}),
		inParts:   counter("sluice batch.Fold, state in 64 parts (finite slice only)", t.foldParts),
		mapReduce: mapReduce,
		rill:      rillWay,
		mutex:     counter("a map with a mutex, two goroutines", t.locked(1)),
		sharded:   counter("a map in 64 shards, two goroutines", t.locked(64)),
	}
}

// adder adds an item to a map.
func (t *text) adder(j job) func(context.Context, map[string]int, int) (map[string]int, error) {
	return func(ctx context.Context, m map[string]int, v int) (map[string]int, error) {
		r, err := j.f(ctx, v)
		if err == nil {
			t.add(m, r)
		}
		return m, err
	}
}

// mapLines and mapWords map items to pairs.
func (t *text) mapLines(ctx context.Context, j job) (func(func(int)), error) {
	m, err := batch.FlatMapReduce(ctx, stage.FromSlice(j.items), j.n, func(ctx context.Context, v int, emit func(string, int)) error {
		r, err := j.f(ctx, v)
		if err == nil {
			for word := range strings.FieldsSeq(t.item(r)) {
				emit(word, 1)
			}
		}
		return err
	}, plus)
	return t.look(m), err
}

func (t *text) mapWords(ctx context.Context, j job) (func(func(int)), error) {
	m, err := batch.MapReduce(ctx, stage.FromSlice(j.items), j.n, func(ctx context.Context, v int) (string, int, error) {
		r, err := j.f(ctx, v)
		return t.item(r), 1, err
	}, plus)
	return t.look(m), err
}

func (t *text) rillMapLines(ctx context.Context, j job) (func(func(int)), error) {
	words := rill.FlatMap(rill.FromSlice(j.items, nil), j.n, func(v int) <-chan rill.Try[string] {
		r, err := j.f(ctx, v)
		return rill.FromSlice(strings.Fields(t.item(r)), err)
	})
	m, err := rill.MapReduce(words, j.n, func(word string) (string, int, error) { return word, 1, nil }, j.n, rillPlus)
	return t.look(m), err
}

func (t *text) rillMapWords(ctx context.Context, j job) (func(func(int)), error) {
	m, err := rill.MapReduce(rill.FromSlice(j.items, nil), j.n, func(v int) (string, int, error) {
		r, err := j.f(ctx, v)
		return t.item(r), 1, err
	}, j.n, rillPlus)
	return t.look(m), err
}

func rillPlus(a, b int) (int, error) { return a + b, nil }

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

func (c *counts) add(word string) { c[maphash.String(countsSeed, word)%uint64(len(c))][word]++ }

// foldParts merges by batch.Ranges within batch.Fold.
func (t *text) foldParts(ctx context.Context, j job) (func(func(int)), error) {
	c, err := batch.Fold(ctx, j.items, j.n, newCounts,
		func(ctx context.Context, c *counts, v int) (*counts, error) {
			r, err := j.f(ctx, v)
			switch {
			case err != nil:
			case t.lines:
				for word := range strings.FieldsSeq(t.item(r)) {
					c.add(word)
				}
			default:
				c.add(t.item(r))
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
	if err != nil {
		return nil, err
	}
	return t.look(c[:]...), nil
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

// lockedMaps are maps by the hash of the word, each with a lock.
type lockedMaps []struct {
	sync.Mutex
	m map[string]int
	_ [64]byte
}

// add is that of a text, for these maps.
//
//go:noinline
func (l lockedMaps) add(t *text, v int) {
	if !t.lines {
		l.count(t.item(v))
		return
	}
	for word := range strings.FieldsSeq(t.item(v)) {
		l.count(word)
	}
}

func (l lockedMaps) count(word string) {
	s := &l[hashOf(word)%uint32(len(l))]
	s.Lock()
	s.m[word]++
	s.Unlock()
}

// locked counts into maps that all goroutines share, each with a lock.
func (t *text) locked(shards int) maker {
	return func(ctx context.Context, j job) (func(func(int)), error) {
		table := make(lockedMaps, shards)
		maps := make([]map[string]int, shards)
		for i := range table {
			maps[i] = make(map[string]int)
			table[i].m = maps[i]
		}
		_, err := t.parts(ctx, j, func(ctx context.Context, items []int) (map[string]int, error) {
			for _, v := range items {
				r, err := j.f(ctx, v)
				if err != nil {
					return nil, err
				}
				table.add(t, r)
			}
			return nil, nil
		})
		return t.look(maps...), err
	}
}

// hashOf is FNV-1a.
func hashOf(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}
