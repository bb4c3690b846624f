package main

import (
	"context"

	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// sluice from a slice to ForEach with one worker.

var (
	sluiceOrdered       = entry{"sluice ordered.Map", sluiceWith(ordered.Map[int, int]), inOrder}
	sluiceStage         = entry{"sluice stage.Map", sluiceWith(stage.Map[int, int]), anyOrder}
	sluiceOrderedInline = entry{"sluice ordered.Map, inline", inline(sluiceOrdered.do), inOrder}
	sluiceStageInline   = entry{"sluice stage.Map, inline", inline(sluiceStage.do), inOrder}
)

// sluiceTransform is the type of ordered.Map and stage.Map.
type sluiceTransform func(in stage.Stream[int], n int, f func(context.Context, int) (int, error), opts ...stage.Option) stage.Stream[int]

func sluiceWith(transform sluiceTransform) way {
	return func(ctx context.Context, j job, take func(int)) error {
		results := transform(stage.FromSlice(j.items), j.n, j.f)
		return stage.ForEach(ctx, results, 1, func(_ context.Context, r int) error {
			take(r)
			return nil
		})
	}
}

// inline runs the map in the consumer's goroutine, whatever n the row has.
func inline(do way) way {
	return func(ctx context.Context, j job, take func(int)) error {
		j.n = stage.Inline
		return do(ctx, j, take)
	}
}
