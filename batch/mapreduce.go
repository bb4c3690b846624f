package batch

import (
	"context"
	"hash/maphash"
	"reflect"
	"sync"

	"github.com/seed95b73fdc/sluice/lockfree"
	"github.com/seed95b73fdc/sluice/stage"
)

// MapReduce runs in, calls mapper for each value, n calls at once, and returns
// for each key what reducer makes of all the values that mapper gave it; an empty
// map for an empty stream. Each of the n workers reduces what it maps into a table of
// its own, without a lock, and tables are merged in the end; with many keys it gathers
// pairs, up to 32 for each of 64 parts of the keys, and reduces them into that part of a
// common table if no other worker has it just then. So reducer, which may have any form
// of an [Adder], must be associative and commutative: items are taken in order but meet
// in any, and some pairs only when all items are mapped.
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
	return mapReduce(ctx, fn, in, n, func(t *table[K, V]) func(context.Context, A) error {
		return func(ctx context.Context, a A) error {
			k, v, err := mapper(ctx, a)
			if err == nil {
				err = t.add(ctx, k, v)
			}
			return err
		}
	}, reducer)
}

// FlatMapReduce is [MapReduce] with a mapper that has any number of pairs for an item,
// such as the words of a line, and calls emit with each. What is cheap for an item is
// cheaper for several: to hand on a line costs about what it costs to hand on a word.
//
// emit may call reducer, and an error of that cancels the context of mapper. It is for
// the goroutine that mapper is called in, and until mapper returns; when no call of it is
// in progress, emit panics. A panic of reducer goes through emit, and a mapper that
// recovers it ends the run with an error, as pairs are lost. Of an item whose mapper
// returns an error some pairs may have been reduced, which nobody sees: there is no result.
func FlatMapReduce[A any, K comparable, V any, R Adder[V, V]](ctx context.Context, in stage.Stream[A], n int, mapper func(ctx context.Context, item A, emit func(K, V)) error, reducer R) (map[K]V, error) {
	const fn = "batch.FlatMapReduce"
	stage.CheckN(fn, n)
	stage.CheckFunc(fn, "mapper", mapper == nil)
	return mapReduce(ctx, fn, in, n, func(t *table[K, V]) func(context.Context, A) error {
		emit := t.emitter()
		return func(ctx context.Context, a A) error {
			t.ctx, t.open = ctx, true
			err := mapper(ctx, a, emit)
			return t.returned(err)
		}
	}, reducer)
}

// into makes the function that takes items to a table.
type into[A any, K comparable, V any] func(*table[K, V]) func(context.Context, A) error

func mapReduce[A any, K comparable, V any, R Adder[V, V]](ctx context.Context, fn string, in stage.Stream[A], n int, into into[A, K, V], reducer R) (map[K]V, error) {
	m := &mapping[K, V]{
		seed: maphash.MakeSeed(), reducer: adder[V, V](fn, "reducer", reducer),
		refs: lockfree.HoldsPointers[K]() || lockfree.HoldsPointers[V](),
	}
	m.plain, _ = as[func(V, V) V](reflect.ValueOf(reducer))
	if ctx == nil {
		panic(fn + ": the context is nil")
	}
	if n <= 1 {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		t := newTable(m, cancel)
		defer t.close()
		if err := stage.ForEach(ctx, in, n, into(t), stage.Name("mapreduce")); err != nil {
			return nil, err
		}
		return t.whole(), nil
	}
	tables := stage.New(func(s *stage.Scope) stage.Reader[map[K]V] { return openMapReduce(s, in, n, into, m) })
	t, _, err := stage.First(ctx, tables)
	return t, err
}

// mapping is what the tables of a run have in common.
type mapping[K comparable, V any] struct {
	seed    maphash.Seed
	reducer func(context.Context, V, V) (V, error)
	plain   func(V, V) V // the reducer, if it is of this form
	refs    bool         // of K or V

	// Of several workers; nil if there is one.
	scope  *stage.Scope
	once   sync.Once
	common *commons[K, V] // when one has many keys
}

// stopped reports whether nothing more is to begin.
func (m *mapping[K, V]) stopped(ctx context.Context) bool {
	if m.scope != nil {
		return m.scope.Stopped()
	}
	return ctx.Err() != nil
}

// reduce reduces v into what is at old.
func (m *mapping[K, V]) reduce(ctx context.Context, old *V, v V) (err error) {
	if m.plain != nil {
		*old = m.plain(*old, v)
		return nil
	}
	*old, err = m.reducer(ctx, *old, v)
	return err
}

// commons is made by the first worker that has many keys.
func (m *mapping[K, V]) commons() *commons[K, V] {
	m.once.Do(func() { m.common = &commons[K, V]{} })
	return m.common
}
