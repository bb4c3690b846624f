package main

import (
	"fmt"

	"github.com/seed95b73fdc/sluice/bench/internal/measure"
)

// unorderedRows: what does a map cost that may emit in any order?
func unorderedRows(c config) measure.Group {
	const (
		mainN   = 4
		ceiling = 20.0 // ns per item
	)
	g := measure.Group{
		Key:   "unordered",
		Title: "Map in any order, no-op f",
		Job: "As above, without the promise of order: the consumer checks the count and a checksum. " +
			"pond and errgroup write into a slice by index, which keeps order for nothing, but takes a finite input.",
	}
	name := func(n int) string { return fmt.Sprintf("n = %d", n) }
	g.Drawn = []string{name(mainN)}
	for _, n := range []int{1, 2, mainN, 8, 32} {
		ways := []entry{sluiceStage, rillMap, pondGroup, pondResultGroup, errGroup}
		if n == mainN {
			ways = append([]entry{plainLoop, sluiceStageInline}, ways...)
		}
		g.Rows = append(g.Rows, job{upTo(c.items), n, noop}.row(name(n), sluiceStage.name, ways...))
	}
	g.Targets = []measure.Target{
		measure.NanosAtMost(name(mainN), sluiceStage.name, ceiling),
		measure.NoAllocs(name(mainN), sluiceStage.name),
		measure.FasterThan(name(mainN), sluiceStage.name, rillMap.name, 1),
		measure.FasterThan(name(mainN), sluiceStage.name, pondGroup.name, 1),
	}
	return g
}
