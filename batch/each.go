package batch

import (
	"context"
	"fmt"

	"github.com/seed95b73fdc/sluice/stage"
)

// maxWorkers bounds workers: what is larger is a mistake.
const maxWorkers = 1 << 20

// newCrew checks what all functions over a finite slice have in common. There are
// no more workers than items.
func newCrew(ctx context.Context, fn string, count, workers int) *sweep {
	stage.CheckSize(fn, "workers", workers, 1)
	if workers > maxWorkers {
		panic(fmt.Sprintf("%s: workers is %d, want at most %d", fn, workers, maxWorkers))
	}
	return newSweep(newTeam(ctx, fn), min(workers, max(1, count)))
}

// Ranges calls f for consecutive ranges that together are 0 to count-1, one for
// each of workers, all at once: from lo up to, but not including, hi. They differ
// in length by one at most, and none is empty: with fewer items than workers
// there are as many as items. It is for work whose items take equally long; else
// see [Each].
//
// It blocks until all calls have returned, and returns the error of the first
// range that failed, in their order. What goes for Each goes for ranges: an error
// cancels the calls for later ones, and not those for earlier ones.
func Ranges(ctx context.Context, count, workers int, f func(ctx context.Context, lo, hi int) error) error {
	const fn = "batch.Ranges"
	stage.CheckSize(fn, "count", count, 0)
	stage.CheckFunc(fn, "f", f == nil)
	s := newCrew(ctx, fn, count, workers)
	workers = len(s.workers)
	return s.run(min(workers, count), func(w *worker) {
		w.each(func(i int) error {
			lo, hi := part(count, workers, i)
			return f(w.ctx, lo, hi)
		})
	})
}

// Each calls f for each of items, workers ≥ 1 calls at once, and blocks until all
// have returned. Each worker begins with an equal part of items, and claims them
// one by one, in order; who has none left takes over half of what another one
// has not begun. So no worker is idle while there is an item to begin, also
// when one call takes much longer than all others.
//
// It returns the first error in the order of items, the same one each time: once
// an item has failed, no call for a later one begins, the contexts of those that
// run are cancelled, and those for earlier ones go on as they would. When ctx
// ends, no further call begins, and the result is [context.Cause], unless f has
// failed for another reason. A panic of f is raised here, as a [*stage.Panic];
// runtime.Goexit is a [stage.ErrGoexit] of its item.
func Each[T any](ctx context.Context, items []T, workers int, f func(context.Context, T) error) error {
	const fn = "batch.Each"
	stage.CheckFunc(fn, "f", f == nil)
	s := newCrew(ctx, fn, len(items), workers)
	return s.run(len(items), func(w *worker) {
		w.each(func(i int) error { return f(w.ctx, items[i]) })
	})
}

// MapSlice returns the results of f for each of items, in their places, nil for
// none. It runs and fails as [Each] does; with an error there are no results.
func MapSlice[A, B any](ctx context.Context, items []A, workers int, f func(context.Context, A) (B, error)) ([]B, error) {
	const fn = "batch.MapSlice"
	stage.CheckFunc(fn, "f", f == nil)
	s := newCrew(ctx, fn, len(items), workers)
	var results []B
	if len(items) > 0 {
		results = make([]B, len(items))
	}
	err := s.run(len(items), func(w *worker) {
		w.each(func(i int) (err error) {
			results[i], err = f(w.ctx, items[i])
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// each calls f for each item that the worker gets.
func (w *worker) each(f func(i int) error) {
	for {
		for i, ok := w.next(); ok; i, ok = w.next() {
			if err := f(i); err != nil {
				w.fail(i, err)
			}
		}
		if !w.steal() {
			return
		}
	}
}
