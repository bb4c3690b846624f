package main

import (
	"time"

	"github.com/seed95b73fdc/sluice/bench/internal/measure"
)

// limitRows: how much of what two cores can do is left when items are shared out one by one?
func limitRows(c config) measure.Group {
	const (
		n     = 2
		each  = 1500 * time.Nanosecond
		share = 0.95
		row   = "1.5 µs of work, n = 2"
	)
	g := measure.Group{
		Key:   "limit",
		Title: "How near to the limit of two cores",
		Job: "Each f is 1.5 µs of CPU work. The limit is two goroutines that get half of the slice each and never speak to each other. " +
			"The last ratio says how much of it is reached, in the same repeat. A machine with fewer free cores lowers both sides alike.",
		Ratios: []measure.Ratio{
			speedUp(plainLoop.name),
			{Title: "of the limit", Of: func(r *measure.Result, row, contender string) []float64 {
				return measure.Divide(r.Nanos(row, halves.name), r.Nanos(row, contender))
			}},
		},
		Drawn: []string{row},
		Rows: []measure.Row{
			job{upTo(c.itemsFor(each)), n, c.spin(each).f()}.row(row, "",
				plainLoop, halves, sluiceOrdered, sluiceStage, rillOrderedMap, rillMap, concStream, concIter),
		},
	}
	for _, e := range []entry{sluiceOrdered, sluiceStage} {
		g.Targets = append(g.Targets, measure.FasterThan(row, e.name, halves.name, share))
	}
	return g
}
