package main

import (
	"fmt"

	"github.com/seed95b73fdc/sluice/bench/internal/measure"
)

// orderedRows: what does a map that keeps order cost by itself?
func orderedRows(c config) measure.Group {
	const (
		mainN   = 4
		wideN   = 32
		ceiling = 25.0 // ns per item
		overOld = 60   // times as fast as rill
		flat    = 1.25 // widest n against main n
	)
	g := measure.Group{
		Key:   "ordered",
		Title: "Ordered map, no-op f",
		Job: "A slice of ints, a map with n calls at once whose f returns its argument, and one consumer that checks the order. " +
			"So the time is what coordination costs. Those marked \"finite slice only\" hold all results until the last is there; " +
			"they cannot run on a stream.",
	}
	name := func(n int) string { return fmt.Sprintf("n = %d", n) }
	g.Drawn = []string{name(mainN)}
	for _, n := range []int{1, 2, mainN, 8, wideN} {
		ways := []entry{sluiceOrdered, rillOrderedMap, concStream, concIter, errGroup}
		if n == mainN {
			ways = append([]entry{plainLoop, sluiceOrderedInline}, ways...)
		}
		g.Rows = append(g.Rows, job{upTo(c.items), n, noop}.row(name(n), sluiceOrdered.name, ways...))
		g.Targets = append(g.Targets, measure.NoAllocs(name(n), sluiceOrdered.name))
	}
	g.Targets = append(g.Targets,
		measure.NanosAtMost(name(mainN), sluiceOrdered.name, ceiling),
		measure.FasterThan(name(mainN), sluiceOrdered.name, rillOrderedMap.name, overOld),
		measure.Target{
			Row: name(wideN), Contender: sluiceOrdered.name,
			Sense: measure.AtMost, Bound: flat, Unit: "× its time at " + name(mainN),
			Of: func(r *measure.Result) []float64 {
				return measure.Divide(r.Nanos(name(wideN), sluiceOrdered.name), r.Nanos(name(mainN), sluiceOrdered.name))
			},
		},
	)
	return g
}
