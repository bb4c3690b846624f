package main

import "github.com/seed95b73fdc/sluice/bench/internal/measure"

// groups lists what is measured, in the order of the report. A new question is
// a file rows_….go with a function of its own, and a line here. Each is made when its
// turn has come, so that what one of them keeps in memory is nothing that the garbage
// collector has to go through while another one is measured.
func groups() []func(config) measure.Group {
	return []func(config) measure.Group{
		orderedRows,
		unorderedRows,
		breakEvenRows,
		limitRows,
		channelRows,
		sinkRows,
		sinkReadRows,
		hashRows,
		chunkRows,
		wordRows,
		keyedRows,
		shardedRows,
		routingRows,
		lockfreeRows,
		semaphoreRows,
	}
}
