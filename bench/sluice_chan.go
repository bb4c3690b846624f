package main

import (
	"context"

	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// sluice between two plain channels.

var (
	sluiceOrderedChans = entry{"sluice FromChan + ordered.Map + ToChan", sluiceChans(ordered.Map[int, int]), inOrder}
	sluiceStageChans   = entry{"sluice FromChan + stage.Map + ToChan", sluiceChans(stage.Map[int, int]), anyOrder}
)

func sluiceChans(transform sluiceTransform) way {
	return func(ctx context.Context, j job, take func(int)) error {
		results, ended := make(chan int), make(chan error, 1)
		go func() {
			ended <- stage.ToChan(ctx, transform(stage.FromChan(j.feed()), j.n, j.f), results)
		}()
		for r := range results {
			take(r)
		}
		return <-ended
	}
}
