package main

import "github.com/seed95b73fdc/sluice/bench/internal/measure"

// channelRows: what does it cost to put the library between two existing channels?
func channelRows(c config) measure.Group {
	const n, noSlower = 4, 1
	ordered, unordered := "in order, n = 4", "any order, n = 4"
	j := job{upTo(c.items), n, noop}
	return measure.Group{
		Key:   "channels",
		Title: "Channel in, channel out",
		Job: "A goroutine sends ints into an unbuffered channel; they go through a map with a no-op f into another unbuffered channel, " +
			"and the consumer ranges over it. rill is measured in two ways: ToChans ends in a plain channel as the job asks, " +
			"so it is the like-for-like peer; ranging over rill's own channel of Try saves it a hop. " +
			"The target is held against both, so it counts as reached only against the faster.",
		Drawn: []string{ordered, unordered},
		Rows: []measure.Row{
			j.row(ordered, sluiceOrderedChans.name, bareHops, sluiceOrderedChans, rillOrderedToChans, rillOrderedTries),
			j.row(unordered, sluiceStageChans.name, handChans, sluiceStageChans, rillToChansAny, rillTriesAny),
		},
		Targets: []measure.Target{
			measure.FasterThan(ordered, sluiceOrderedChans.name, rillOrderedToChans.name, noSlower),
			measure.FasterThan(ordered, sluiceOrderedChans.name, rillOrderedTries.name, noSlower),
			measure.FasterThan(unordered, sluiceStageChans.name, rillToChansAny.name, noSlower),
			measure.FasterThan(unordered, sluiceStageChans.name, rillTriesAny.name, noSlower),
		},
	}
}
