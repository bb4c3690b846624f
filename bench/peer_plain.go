package main

import (
	"context"
	"sync"
)

// What the language gives without any library.

var (
	plainLoop = entry{"plain loop", loop, inOrder}
	halves    = entry{"two halves, no coordination", runHalves, inOrder}
	handChans = entry{"goroutines and channels by hand", runHand, anyOrder}
	bareHops  = entry{"one goroutine between two channels", runRelay, inOrder}
)

// loop calls f and the consumer in turn, in one goroutine.
func loop(ctx context.Context, j job, take func(int)) error {
	for _, v := range j.items {
		r, err := j.f(ctx, v)
		if err != nil {
			return err
		}
		take(r)
	}
	return nil
}

// runHalves gives each of n goroutines its share of the slice before it starts,
// and consumes the results when all are done. Nobody who shares out the items
// while they are being worked on can beat it, so it is this machine's limit.
func runHalves(ctx context.Context, j job, take func(int)) error {
	results := make([]int, len(j.items))
	errs := make([]error, j.n)
	var wg sync.WaitGroup
	for w := range j.n {
		from, to := w*len(j.items)/j.n, (w+1)*len(j.items)/j.n
		wg.Go(func() {
			for i := from; i < to; i++ {
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
	for _, r := range results {
		take(r)
	}
	return nil
}

// feed sends the items into a new unbuffered channel and closes it. It is the
// source of every job that starts from a channel.
func (j job) feed() <-chan int {
	in := make(chan int)
	go func() {
		defer close(in)
		for _, v := range j.items {
			in <- v
		}
	}()
	return in
}

// runHand is what one writes without a library: n goroutines that range over
// one channel and send into another. An error is dropped; a careful version
// costs more.
func runHand(ctx context.Context, j job, take func(int)) error {
	in, out := j.feed(), make(chan int)
	var wg sync.WaitGroup
	for range j.n {
		wg.Go(func() {
			for v := range in {
				if r, err := j.f(ctx, v); err == nil {
					out <- r
				}
			}
		})
	}
	go func() {
		wg.Wait()
		close(out)
	}()
	for r := range out {
		take(r)
	}
	return nil
}

// runRelay is the least that a job from channel to channel can cost: one
// goroutine in the middle, two hops, order for nothing.
func runRelay(ctx context.Context, j job, take func(int)) error {
	j.n = 1
	return runHand(ctx, j, take)
}
