package main

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// golang.org/x/sync/errgroup with SetLimit, as in its "Parallel" example: a
// goroutine per item, each result written to its own place.

var errGroup = entry{"errgroup (finite slice only)", runErrGroup, inOrder}

func runErrGroup(ctx context.Context, j job, take func(int)) error {
	results := make([]int, len(j.items))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(j.n)
	for i, v := range j.items {
		g.Go(func() (err error) {
			results[i], err = j.f(ctx, v)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, r := range results {
		take(r)
	}
	return nil
}
