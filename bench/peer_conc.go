package main

import (
	"context"

	"github.com/sourcegraph/conc/iter"
	"github.com/sourcegraph/conc/stream"
)

// sourcegraph/conc v0.3.0.

var (
	concStream = entry{"conc stream", runConcStream, inOrder}
	concIter   = entry{"conc iter (finite slice only)", runConcIter, inOrder}
)

// runConcStream submits a task per item; its callbacks run in order. conc's
// streams have no errors, so a closure carries them.
func runConcStream(ctx context.Context, j job, take func(int)) error {
	var first error // only callbacks touch it, and they run one at a time
	s := stream.New().WithMaxGoroutines(j.n)
	for _, v := range j.items {
		s.Go(func() stream.Callback {
			r, err := j.f(ctx, v)
			return func() {
				switch {
				case err == nil:
					take(r)
				case first == nil:
					first = err
				}
			}
		})
	}
	s.Wait()
	return first
}

// runConcIter maps the slice, then consumes the slice of results.
func runConcIter(ctx context.Context, j job, take func(int)) error {
	mapper := iter.Mapper[int, int]{MaxGoroutines: j.n}
	results, err := mapper.MapErr(j.items, func(v *int) (int, error) { return j.f(ctx, *v) })
	if err != nil {
		return err
	}
	for _, r := range results {
		take(r)
	}
	return nil
}
