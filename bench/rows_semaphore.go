package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/seed95b73fdc/sluice/backpressure"
	"github.com/seed95b73fdc/sluice/bench/internal/measure"
)

// semaphoreRows: what does it cost to take a permit and give it back?
func semaphoreRows(c config) measure.Group {
	const noSlower = 1
	items := upTo(c.items)
	g := measure.Group{
		Key:   "semaphore",
		Title: "A permit, taken and given back",
		Job: "Some goroutines share out the items in advance; each takes a permit for each of its items, calls a no-op f, and gives it back. " +
			"There are two permits, so that with one or two goroutines nobody waits, and with eight most do. " +
			"What they return is counted when all have ended. The time is that of one taking and one giving back.",
	}
	for _, n := range []int{1, 2, 8} {
		name := fmt.Sprintf("%d goroutines", n)
		if n == 1 {
			name = "1 goroutine"
		}
		g.Rows = append(g.Rows, job{items: items, n: n, f: noop}.row(name, semPadded.name, semPadded, semChan, semPlainChan, semSync))
		g.Drawn = append(g.Drawn, name)
		g.Targets = append(g.Targets,
			measure.FasterThan(name, semPadded.name, semPlainChan.name, noSlower),
			measure.FasterThan(name, semPadded.name, semSync.name, noSlower))
	}
	return g
}

var (
	semPadded    = entry{"sluice NewPadded", permits(func(n int) permit { return backpressure.NewPadded(n) }), anyOrder}
	semChan      = entry{"sluice NewChan", permits(func(n int) permit { return backpressure.NewChan(n) }), anyOrder}
	semPlainChan = entry{"chan struct{} by hand", permits(func(n int) permit { return make(handSemaphore, n) }), anyOrder}
	semSync      = entry{"x/sync/semaphore", permits(func(n int) permit { return syncSemaphore{semaphore.NewWeighted(int64(n))} }), anyOrder}
)

// permit is what the contenders have in common.
type permit interface {
	Acquire(ctx context.Context, n int) error
	Release(n int)
}

// handSemaphore is the usual channel, with the usual select.
type handSemaphore chan struct{}

func (s handSemaphore) Acquire(ctx context.Context, _ int) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s handSemaphore) Release(int) { <-s }

type syncSemaphore struct{ *semaphore.Weighted }

func (s syncSemaphore) Acquire(ctx context.Context, n int) error {
	return s.Weighted.Acquire(ctx, int64(n))
}
func (s syncSemaphore) Release(n int) { s.Weighted.Release(int64(n)) }

// permits makes a way of a semaphore with two permits. More permits than that held at
// once would be an error.
func permits(of func(n int) permit) way {
	const limit = 2
	return func(_ context.Context, j job, take func(int)) error {
		sem := of(limit)
		ctx, cancel := context.WithCancel(context.Background()) // one that has to be watched
		defer cancel()
		results := make([]int, len(j.items))
		var held, over atomic.Int64
		var failed atomic.Pointer[error]
		fail := func(err error) { failed.Store(&err) } // so that only what fails is on the heap
		var wg sync.WaitGroup
		for w := range j.n {
			from, to := w*len(j.items)/j.n, (w+1)*len(j.items)/j.n
			wg.Go(func() {
				for i, v := range j.items[from:to] {
					if err := sem.Acquire(ctx, 1); err != nil {
						fail(err)
						return
					}
					if held.Add(1) > limit {
						over.Add(1)
					}
					r, err := j.f(ctx, v)
					results[from+i] = r
					held.Add(-1)
					sem.Release(1)
					if err != nil {
						fail(err)
						return
					}
				}
			})
		}
		wg.Wait()
		if err := failed.Load(); err != nil {
			return *err
		}
		if n := over.Load(); n > 0 {
			return fmt.Errorf("more than %d permits were out %d times", limit, n)
		}
		for _, v := range results {
			take(v)
		}
		return nil
	}
}
