package main

import (
	"context"
	"slices"
	"sync"

	"github.com/seed95b73fdc/sluice/keyed"
	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/sink"
	"github.com/seed95b73fdc/sluice/stage"
)

// way is one way to do the whole job: the results of events in the file at
// path.
type way struct {
	name    string
	what    string
	ordered bool // it promises the order of each key
	do      func(ctx context.Context, c config, events []*Event, path string) (done, error)
	records func(path string, c config, each func(Result)) error // of the file
}

// done is what a way has done when all results are with the system, so that they
// survive the process.
type done struct {
	steals uint64
	close  func() error // what is left to do, which the clock does not see
}

var ways = []way{
	{"naive", "mutex queue, channel semaphore, encoding/binary", false, naive, rawRecords},
	{"lockfree", "rings, deques, single steals, mapped file, by hand", false, lockFree, rawRecords},
	{"sluice", "ordered.Map of batches into a sink.Log: all in order, and so is each key", true, sluiced, logRecords},
	{"single", "the same one by one: ordered.Map into sink.Write", true, singly, logRecords},
	{"keyed", "keyed.Map into sink.Write: one owner for each key, for work that has a state", true, owned, logRecords},
	{"loop", "one goroutine, straight into the mapped file", true, loop, rawRecords},
}

func names() (all []string) {
	for _, w := range ways {
		all = append(all, w.name)
	}
	return all
}

func wayOf(name string) *way {
	for i := range ways {
		if ways[i].name == name {
			return &ways[i]
		}
	}
	return nil
}

// together is how many events are handed on at a time: the work on one takes less
// than to hand it on.
const together = 128

// sluiced is the job with sluice. The work needs no state of its key, so no key needs
// an owner. To close the log also makes it durable, which the other files never are.
func sluiced(ctx context.Context, c config, events []*Event, path string) (done, error) {
	log, err := sink.Create[Result](path, c.durable)
	if err != nil {
		return done{}, err
	}
	free := sync.Pool{New: func() any { return new([together]Result) }}
	work := func(ctx context.Context, events []*Event) ([]Result, error) {
		results := free.Get().(*[together]Result)[:len(events)]
		for i, e := range events {
			results[i] = process(ctx, e, c.work)
		}
		return results, nil
	}
	batches := ordered.Map(stage.FromSeq(slices.Chunk(events, together)), c.workers, work)
	err = stage.ForEach(ctx, batches, stage.Inline, func(_ context.Context, results []Result) error {
		_, err := log.Append(results...)
		free.Put((*[together]Result)(results[:together]))
		return err
	})
	return done{0, log.Close}, err
}

// singly is the job with sluice as it is when events come one by one.
func singly(ctx context.Context, c config, events []*Event, path string) (done, error) {
	log, err := sink.Create[Result](path, c.durable)
	if err != nil {
		return done{}, err
	}
	err = sink.Write(ctx, ordered.Map(stage.FromSlice(events), c.workers, c.result), log)
	return done{0, log.Close}, err
}

// owned is the job with sluice as it would be if the work had a state for each key.
func owned(ctx context.Context, c config, events []*Event, path string) (done, error) {
	log, err := sink.Create[Result](path, c.durable)
	if err != nil {
		return done{}, err
	}
	load := new(keyed.Load[uint32])
	results := keyed.Map(stage.FromSlice(events), c.workers, func(e *Event) uint32 { return e.Key }, c.result, keyed.Measure(load))
	err = sink.Write(ctx, results, log)
	return done{load.Stats().Steals, log.Close}, err
}

// result is the work on one event, as a stage calls it.
func (c config) result(ctx context.Context, e *Event) (Result, error) {
	return process(ctx, e, c.work), nil
}

// logRecords reads what is in a sink.Log.
func logRecords(path string, _ config, each func(Result)) error {
	log, err := sink.Open[Result](path, sink.ReadOnly())
	if err != nil {
		return err
	}
	defer log.Close()
	for _, block := range log.BlocksFrom(0) {
		for _, r := range block {
			each(r)
		}
	}
	return log.Err()
}
