package main

import "github.com/seed95b73fdc/sluice/bench/internal/measure"

// groups lists what is measured, in the order of the report. A new question is
// a file rows_….go with a function of its own, and a line here.
func groups(c config) []measure.Group {
	return []measure.Group{
		orderedRows(c),
		unorderedRows(c),
		breakEvenRows(c),
		limitRows(c),
		channelRows(c),
		sinkRows(c),
		sinkReadRows(c),
		hashRows(c),
		chunkRows(c),
		wordRows(c),
		keyedRows(c),
		shardedRows(c),
		routingRows(c),
		lockfreeRows(c),
		semaphoreRows(c),
	}
}
