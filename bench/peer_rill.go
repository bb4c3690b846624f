package main

import (
	"context"

	"github.com/destel/rill"
)

// rill v0.8.1, used as its README does: FromSlice, Map, ForEach.

var (
	rillOrderedMap = entry{"rill OrderedMap", rillWith(rill.OrderedMap[int, int]), inOrder}
	rillMap        = entry{"rill Map", rillWith(rill.Map[int, int]), anyOrder}

	// Channel to channel. rill has two ways out: ToChans gives the plain channel
	// that the job asks for, one hop more; ranging over rill's own channel saves it.
	rillOrderedToChans = entry{"rill OrderedMap + ToChans", rillToChans(rill.OrderedMap[int, int]), inOrder}
	rillOrderedTries   = entry{"rill OrderedMap, its own channel", rillTries(rill.OrderedMap[int, int]), inOrder}
	rillToChansAny     = entry{"rill Map + ToChans", rillToChans(rill.Map[int, int]), anyOrder}
	rillTriesAny       = entry{"rill Map, its own channel", rillTries(rill.Map[int, int]), anyOrder}
)

// rillTransform is the type of rill.Map and rill.OrderedMap.
type rillTransform func(in <-chan rill.Try[int], n int, f func(int) (int, error)) <-chan rill.Try[int]

// bind gives f its context, as rill's functions take none.
func (j job) bind(ctx context.Context) func(int) (int, error) {
	return func(v int) (int, error) { return j.f(ctx, v) }
}

func rillWith(transform rillTransform) way {
	return func(ctx context.Context, j job, take func(int)) error {
		results := transform(rill.FromSlice(j.items, nil), j.n, j.bind(ctx))
		return rill.ForEach(results, 1, func(r int) error {
			take(r)
			return nil
		})
	}
}

func rillToChans(transform rillTransform) way {
	return func(ctx context.Context, j job, take func(int)) error {
		results, errs := rill.ToChans(transform(rill.FromChan(j.feed(), nil), j.n, j.bind(ctx)))
		first := make(chan error, 1)
		go func() {
			defer close(first)
			for err := range errs {
				select {
				case first <- err:
				default:
				}
			}
		}()
		for r := range results {
			take(r)
		}
		return <-first
	}
}

func rillTries(transform rillTransform) way {
	return func(ctx context.Context, j job, take func(int)) error {
		results := transform(rill.FromChan(j.feed(), nil), j.n, j.bind(ctx))
		defer rill.Discard(results)
		for r := range results {
			if r.Error != nil {
				return r.Error
			}
			take(r.Value)
		}
		return nil
	}
}
