package main

import (
	"context"

	"github.com/alitto/pond/v2"
)

// alitto/pond v2. Its queue of tasks has no bound unless one asks for it, and a
// group holds all results until the last task is done.

var (
	pondGroup       = entry{"pond group (finite slice only)", runPondGroup, inOrder}
	pondResultGroup = entry{"pond result group (finite slice only)", runPondResultGroup, inOrder}
)

// runPondGroup lets each task write its result to its own place.
func runPondGroup(ctx context.Context, j job, take func(int)) error {
	pool := pond.NewPool(j.n)
	defer pool.StopAndWait()
	results := make([]int, len(j.items))
	group := pool.NewGroupContext(ctx)
	for i, v := range j.items {
		group.SubmitErr(func() (err error) {
			results[i], err = j.f(ctx, v)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, r := range results {
		take(r)
	}
	return nil
}

// runPondResultGroup lets the group collect the results.
func runPondResultGroup(ctx context.Context, j job, take func(int)) error {
	pool := pond.NewResultPool[int](j.n)
	defer pool.StopAndWait()
	group := pool.NewGroupContext(ctx)
	for _, v := range j.items {
		group.SubmitErr(func() (int, error) { return j.f(ctx, v) })
	}
	results, err := group.Wait()
	if err != nil {
		return err
	}
	for _, r := range results {
		take(r)
	}
	return nil
}
