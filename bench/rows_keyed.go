package main

import (
	"github.com/seed95b73fdc/sluice/bench/internal/measure"
)

// keyedRows: what does it cost to give each key one owner?
func keyedRows(c config) measure.Group {
	const (
		n         = 4
		few, many = 1_000, 1_000_000
		ceiling   = 55.0 // ns per item
		main      = "count, 1,000 keys"
	)
	g := measure.Group{
		Key:   "keyed",
		Title: "One owner for each key, n = 4",
		Job: "Each item of a slice has a key, whose count its owner raises; the item is handed on to one consumer, but for Owners and " +
			"the channels, whose results are read when all is counted. At the end the counts are added up and checked. " +
			"Map and OrderedMap count in a slice, by key, without a lock; Process and Owners keep a count for each key. Do is called by two " +
			"goroutines with half of the items each. A channel per owner means 4 goroutines, each with a map and a channel of 1,024. " +
			"A map in one goroutine is what owners cost nothing.",
		Drawn: []string{main},
	}
	for _, row := range []struct {
		name string
		keys []int
		of   int
	}{
		{main, uniformKeys(few, c.items), few},
		{"count, 1,000 keys, Zipf", zipfKeys(few, c.items), few},
		{"count, 1,000,000 keys", uniformKeys(many, c.items), many},
		{"count, 1,000,000 keys, Zipf", zipfKeys(many, c.items), many},
	} {
		k := keyedJob{row.keys, row.of}
		g.Rows = append(g.Rows, job{upTo(c.items), n, noop}.row(row.name, keyedMapName,
			entry{"map, one goroutine", k.plain, inOrder},
			entry{keyedMapName, k.mapped, anyOrder},
			entry{"sluice keyed.OrderedMap", k.orderedMapped, inOrder},
			entry{"sluice keyed.Process", k.processed, anyOrder},
			entry{"sluice Owners.Post", k.posted, inOrder},
			entry{"sluice Owners.Do", k.done, inOrder},
			entry{"channel per owner", k.channels, inOrder},
		))
	}
	g.Targets = append(g.Targets,
		measure.NanosAtMost(main, keyedMapName, ceiling),
		measure.NoAllocs(main, keyedMapName),
		measure.FasterThan(main, keyedMapName, "channel per owner", 1),
	)
	return g
}

const keyedMapName = "sluice keyed.Map"
