package batch

import (
	"context"
	"hash/maphash"
	"reflect"

	"github.com/seed95b73fdc/sluice/stage"
)

// MapReduce runs in, calls mapper for each value, n calls at once, and returns
// for each key what reducer makes of all the values that mapper gave it; an empty
// map for an empty stream. Each of the n workers reduces what it maps into a table
// of its own, without a lock; when all items are mapped the tables are merged, by
// key and by all workers at once where there are many. So reducer, which may have
// any form of an [Adder], must be associative and commutative: items are taken in
// order but meet in any.
//
// With n = 1 or [stage.Inline] all runs in the caller's goroutine, in order. The
// items that are held at a time are at most 256 for each worker while mapper is
// cheap, and one while it is slow; no worker is idle while one of them has not
// begun.
//
// It blocks until the run has ended, as every terminal does, and returns the
// first error that it meets, of in, mapper or reducer, and then no map; the
// cause if ctx ends first.
func MapReduce[A any, K comparable, V any, R Adder[V, V]](ctx context.Context, in stage.Stream[A], n int, mapper func(context.Context, A) (K, V, error), reducer R) (map[K]V, error) {
	const fn = "batch.MapReduce"
	stage.CheckN(fn, n)
	stage.CheckFunc(fn, "mapper", mapper == nil)
	m := &mapping[K, V]{seed: maphash.MakeSeed(), reducer: adder[V, V](fn, "reducer", reducer)}
	m.plain, _ = as[func(V, V) V](reflect.ValueOf(reducer))
	if ctx == nil {
		panic(fn + ": the context is nil")
	}
	if n <= 1 {
		t := newTable(m)
		err := stage.ForEach(ctx, in, n, func(ctx context.Context, a A) error {
			k, v, err := mapper(ctx, a)
			if err == nil {
				err = t.add(ctx, k, v)
			}
			return err
		}, stage.Name("mapreduce"))
		if err != nil {
			return nil, err
		}
		return t.whole(), nil
	}
	tables := stage.New(func(s *stage.Scope) stage.Reader[map[K]V] { return openMapReduce(s, in, n, mapper, m) })
	t, _, err := stage.First(ctx, tables)
	return t, err
}

// mapping is what the tables of a run have in common.
type mapping[K comparable, V any] struct {
	seed    maphash.Seed
	reducer func(context.Context, V, V) (V, error)
	plain   func(V, V) V // the reducer, if it is of this form
}
