package main

import (
	"context"
	"time"

	"github.com/seed95b73fdc/sluice/batch"
	"github.com/seed95b73fdc/sluice/stage"
)

// sluice over a finite slice: results go to their places, and to the consumer when
// all are there, as with the others that take a slice.

var (
	sluiceRanges   = entry{"sluice batch.Ranges (finite slice only)", runRanges, inOrder}
	sluiceEach     = entry{"sluice batch.Each (finite slice only)", runEach, inOrder}
	sluiceMapSlice = entry{"sluice batch.MapSlice (finite slice only)", runMapSlice, inOrder}
)

func runRanges(ctx context.Context, j job, take func(int)) error {
	results := make([]int, len(j.items))
	err := batch.Ranges(ctx, len(j.items), j.n, func(ctx context.Context, lo, hi int) (err error) {
		for i := lo; i < hi; i++ {
			if results[i], err = j.f(ctx, j.items[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return takeAll(results, err, take)
}

// runEach gives Each the places, since it has no results.
func runEach(ctx context.Context, j job, take func(int)) error {
	results := make([]int, len(j.items))
	err := batch.Each(ctx, upTo(len(j.items)), j.n, func(ctx context.Context, i int) (err error) {
		results[i], err = j.f(ctx, j.items[i])
		return err
	})
	return takeAll(results, err, take)
}

func runMapSlice(ctx context.Context, j job, take func(int)) error {
	results, err := batch.MapSlice(ctx, j.items, j.n, j.f)
	return takeAll(results, err, take)
}

func takeAll(results []int, err error, take func(int)) error {
	if err != nil {
		return err
	}
	for _, r := range results {
		take(r)
	}
	return nil
}

// Batches of batchSize, taken apart by the consumer.

const batchSize = 100

var (
	sluiceChunk       = entry{"sluice batch.Chunk", runChunk(), inOrder}
	sluiceChunkReuse  = entry{"sluice batch.Chunk, Reuse", runChunk(batch.Reuse()), inOrder}
	sluiceChunkWithin = entry{"sluice batch.Chunk, Within an hour", runChunk(batch.Within(time.Hour)), inOrder}
)

func runChunk(opts ...batch.Option) way {
	return func(ctx context.Context, j job, take func(int)) error {
		return stage.ForEach(ctx, batch.Chunk(stage.FromSlice(j.items), batchSize, opts...), 1, eachTo(take))
	}
}

// eachTo gives each item of a batch to take: nothing else is done with it, so that
// what is measured is the making of batches.
func eachTo(take func(int)) func(context.Context, []int) error {
	return func(_ context.Context, b []int) error {
		for _, v := range b {
			take(v)
		}
		return nil
	}
}
