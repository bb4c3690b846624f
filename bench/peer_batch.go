package main

import (
	"context"
	"sync"

	"github.com/destel/rill"
)

// What others have for many items at once.

var (
	loopChunks = entry{"plain loop that appends", runLoopChunks, inOrder}
	rillBatch  = entry{"rill Batch", runRillBatch, inOrder}
)

// runLoopChunks makes each batch a new slice.
func runLoopChunks(ctx context.Context, j job, take func(int)) error {
	visit := eachTo(take)
	var b []int
	for i, v := range j.items {
		if b == nil {
			b = make([]int, 0, batchSize)
		}
		if b = append(b, v); len(b) == batchSize || i == len(j.items)-1 {
			if err := visit(ctx, b); err != nil {
				return err
			}
			b = nil
		}
	}
	return nil
}

// runRillBatch has no timeout.
func runRillBatch(ctx context.Context, j job, take func(int)) error {
	batches := rill.Batch(rill.FromSlice(j.items, nil), batchSize, -1)
	visit := eachTo(take)
	return rill.ForEach(batches, 1, func(b []int) error { return visit(ctx, b) })
}

// runShares gives each of n goroutines a share of the items that is known to be
// equal work, in one piece, and consumes the results when all are done.
func runShares(cost func(v int) int) way {
	return func(ctx context.Context, j job, take func(int)) error {
		total := 0
		for i := range j.items {
			total += cost(i)
		}
		results := make([]int, len(j.items))
		errs := make([]error, j.n)
		var wg sync.WaitGroup
		from, done := 0, 0
		for w := range j.n {
			to := from
			for ; to < len(j.items) && (w == j.n-1 || done < total*(w+1)/j.n); to++ {
				done += cost(to)
			}
			part := from
			from = to
			wg.Go(func() {
				for i := part; i < to; i++ {
					if results[i], errs[w] = j.f(ctx, j.items[i]); errs[w] != nil {
						return
					}
				}
			})
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		return takeAll(results, nil, take)
	}
}
