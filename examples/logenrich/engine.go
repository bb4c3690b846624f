package main

import (
	"context"

	"github.com/destel/rill"

	"github.com/seed95b73fdc/sluice/batch"
	"github.com/seed95b73fdc/sluice/examples/internal/program"
	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// A job is all that an engine needs to enrich a log.
type job struct {
	src    *source
	parser parser
	store  store
	out    *output
	n      int             // lookups at once
	stop   <-chan struct{} // closed to read no further
}

func (j *job) enrich(ctx context.Context, records []record) ([]record, error) {
	return enrichAll(ctx, j.store, records)
}

// engines do the same job, with the same output. The first is what this example
// is about, the others are here to compare it with.
var engines = map[string]func(context.Context, *job) error{
	"sluice": runSluice,
	"loop":   runLoop,
	"rill":   runRill,
}

func runSluice(ctx context.Context, j *job) error {
	lines := stage.Until(stage.Generate(j.src.records), j.stop)
	batches := batch.Chunk(lines, j.src.batch, batch.Until(record.endsBatch))
	parsed := ordered.Map(batches, stage.Inline, j.parser.parseAll, stage.Name("parse"))
	enriched := ordered.Map(parsed, j.n, j.enrich, stage.Name("lookup"))
	return stage.ForEach(ctx, enriched, 1, j.out.write, stage.Name("write"))
}

// runLoop does one thing after the other.
func runLoop(ctx context.Context, j *job) error {
	var failed error
	err := j.src.each(ctx, func(records []record) bool {
		if program.Closed(j.stop) {
			return false
		}
		if records, failed = j.parser.parseAll(ctx, records); failed == nil {
			records, failed = j.enrich(ctx, records)
		}
		if failed == nil {
			failed = j.out.write(ctx, records)
		}
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	return err
}

// runRill has rill do what runSluice has sluice do. rill knows no contexts and
// winds up in the background: here that is seen to by hand.
func runRill(ctx context.Context, j *job) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := rill.Generate(func(send func([]record), sendErr func(error)) {
		err := j.src.each(inner, func(records []record) bool {
			if program.Closed(j.stop) || inner.Err() != nil {
				return false
			}
			send(records)
			return true
		})
		if err != nil {
			sendErr(err)
		}
	})
	enriched := rill.OrderedMap(lines, j.n, func(records []record) ([]record, error) {
		records, err := j.parser.parseAll(inner, records)
		if err != nil {
			return nil, err
		}
		return j.enrich(inner, records)
	})
	err := rill.ForEach(enriched, 1, func(records []record) error {
		return j.out.write(inner, records)
	})
	cancel()
	rill.Drain(enriched)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
