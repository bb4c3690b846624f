package batch

import (
	"errors"
	"fmt"
)

// ErrClosed is returned by [Coalescer.Do] once Close has been called; the item
// has not been accepted.
var ErrClosed = errors.New("batch: coalescer is closed")

// errEarlier is the cause of the context of a call that goes on behind an error.
var errEarlier = errors.New("batch: an earlier item has failed")

// errRecovered ends a run in which what a panic was to end went on without its pairs.
var errRecovered = errors.New("batch.FlatMapReduce: mapper has recovered a panic of emit, whose pairs are lost")

// Causes of the context of a flush.
var (
	errAllGone   = errors.New("batch: every caller has given up")
	errCloseGone = errors.New("batch: Close was given up")
	errFlushed   = errors.New("batch: flush is over")
)

// ResultsError is returned by [Coalescer.Do] when a flush without an error has
// brought no result for the caller's item: to those without one if it returned too
// few, and to all if it returned too many.
type ResultsError struct {
	Items   int // what the flush was given
	Results int // what it returned
}

// Error gives the two numbers.
func (e *ResultsError) Error() string {
	return fmt.Sprintf("batch: flush returned %d results for %d items", e.Results, e.Items)
}
