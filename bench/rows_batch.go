package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/seed95b73fdc/sluice/bench/internal/measure"
)

// hashed is what the blocks are cut from, again and again: it stays in the cache,
// so that the memory is not what is measured.
var hashed = func() []byte {
	data := make([]byte, 1<<20)
	for i := range data {
		data[i] = byte(spin(uint64(i), 3) >> 56)
	}
	return data
}()

// hashing returns an f that hashes a block of so many bytes, times(v) times over,
// and hands v on.
func hashing(size int, times func(v int) int) func(context.Context, int) (int, error) {
	return func(_ context.Context, v int) (int, error) {
		const unlikely = 0xDEADBEEFCAFEF00D // a result would show as a wrong output
		at := uint(v) * uint(size) % uint(len(hashed)-size+1)
		for range times(v) {
			sum := sha256.Sum256(hashed[at:][:size])
			if binary.LittleEndian.Uint64(sum[:]) == unlikely {
				return -1, nil
			}
		}
		return v, nil
	}
}

func once(int) int { return 1 }

// stragglers makes the last hundredth of n items a hundred times as much work.
func stragglers(n int) func(v int) int {
	const rare, slower = 100, 100
	return func(v int) int {
		if v >= n-n/rare {
			return slower
		}
		return 1
	}
}

// hashRows: what does it cost to share a slice out, and who notices if a few items take much longer?
func hashRows(c config) measure.Group {
	const n, share = 2, 0.95
	shares := "equal work for each of two goroutines, no coordination"
	g := measure.Group{
		Key:   "hash",
		Title: "Hashing the blocks of a slice",
		Job: "SHA-256 of each block, n = 2, results in the order of the slice, consumed when all are there. " +
			"The limit is two goroutines that get equal work each, known beforehand, and never speak to each other. " +
			"Stragglers are the last hundredth of the blocks, hashed a hundred times over: half of the work, and all of it in one half of the slice.",
		Ratios: []measure.Ratio{
			speedUp(plainLoop.name),
			{Title: "of the limit", Of: func(r *measure.Result, row, contender string) []float64 {
				return measure.Divide(r.Nanos(row, shares), r.Nanos(row, contender))
			}},
		},
	}
	for _, kind := range []struct {
		name  string
		size  int
		about time.Duration
		slow  bool
	}{
		{"64 B", 64, 80 * time.Nanosecond, false},
		{"4 KiB", 4096, 2500 * time.Nanosecond, false},
		{"64 B, stragglers", 64, 160 * time.Nanosecond, true},
		{"4 KiB, stragglers", 4096, 5000 * time.Nanosecond, true},
	} {
		count := c.itemsFor(kind.about)
		times := once
		if kind.slow {
			times = stragglers(count)
		}
		limit := entry{shares, runShares(times), inOrder}
		g.Rows = append(g.Rows, job{upTo(count), n, hashing(kind.size, times)}.row(kind.name, "",
			plainLoop, limit, sluiceRanges, sluiceEach, sluiceMapSlice, concIter, errGroup, rillOrderedMap))
		g.Drawn = append(g.Drawn, kind.name)
		for _, e := range []entry{sluiceEach, sluiceMapSlice} {
			g.Targets = append(g.Targets, measure.FasterThan(kind.name, e.name, limit.name, share))
		}
		if kind.slow {
			g.Targets = append(g.Targets, measure.Target{
				Row: kind.name, Contender: sluiceRanges.name, Sense: measure.AtMost, Bound: share, Unit: "of the limit: static ranges are seen to lose",
				Of: func(r *measure.Result) []float64 {
					return measure.Divide(r.Nanos(kind.name, limit.name), r.Nanos(kind.name, sluiceRanges.name))
				},
			})
		}
	}
	return g
}

// chunkRows: what does it cost to make batches of a stream?
func chunkRows(c config) measure.Group {
	const ceiling = 10.0 // ns per item
	row := fmt.Sprintf("batches of %d", batchSize)
	return measure.Group{
		Key:    "chunk",
		Title:  "Batches of a stream",
		Job:    "A slice of ints, batches of it, and one consumer that goes through each batch and checks the order.",
		Drawn:  []string{row},
		Ratios: []measure.Ratio{speedUp(rillBatch.name)},
		Rows: []measure.Row{job{upTo(c.items), 1, nil}.row(row, sluiceChunk.name,
			loopChunks, sluiceChunk, sluiceChunkReuse, sluiceChunkWithin, rillBatch)},
		Targets: []measure.Target{
			measure.NanosAtMost(row, sluiceChunk.name, ceiling),
			measure.NanosAtMost(row, sluiceChunkReuse.name, ceiling),
			measure.NoAllocs(row, sluiceChunkReuse.name),
			measure.FasterThan(row, sluiceChunk.name, rillBatch.name, 1),
		},
	}
}
