package keyed

import (
	"context"

	"github.com/seed95b73fdc/sluice/stage"
)

// Map emits f's result for each item: one call at a time for items of one key, in
// input order, and up to n calls at once for items of different keys. The results
// of one key leave in input order; those of different keys as they are there.
// Errors of in are passed on; they have no key and no place. An error of f takes
// the place of its item. It pushes back while its window is full, and ends when in
// has ended and all results are taken.
//
// key is called once for each item, in input order, one call at a time; it must
// not block. n calls of f run at once; with n = [stage.Inline] f runs in the
// goroutine of whoever pulls. f's context ends with the run and when no more is
// needed.
//
// Options are those of package stage, of which Resizable has no effect here, and
// [Pinned], [PerKey] and [Measure].
func Map[A any, K comparable, B any](in stage.Stream[A], n int, key func(A) K, f func(context.Context, A) (B, error), opts ...stage.Option) stage.Stream[B] {
	return mapLanes("keyed.Map", "map", in, n, key, f, false, opts)
}

// OrderedMap is [Map] with all results, errors too, in the order of the input. A
// result waits for all before it: so a slow key holds up the others when the
// window is full of results that wait.
func OrderedMap[A any, K comparable, B any](in stage.Stream[A], n int, key func(A) K, f func(context.Context, A) (B, error), opts ...stage.Option) stage.Stream[B] {
	return mapLanes("keyed.OrderedMap", "map", in, n, key, f, true, opts)
}

func mapLanes[A any, K comparable, B any](fn, name string, in stage.Stream[A], n int, key func(A) K, f func(context.Context, A) (B, error), inOrder bool, opts []stage.Option) stage.Stream[B] {
	stage.CheckN(fn, n, opts...)
	stage.CheckFunc(fn, "key", key == nil)
	stage.CheckFunc(fn, "f", f == nil)
	c := configure(fn, opts)
	if c.maxKeys > 0 || c.idleAfter > 0 || c.onEvict != nil {
		argPanic(fn, "MaxKeys, IdleAfter and OnEvict are for Process, which has states")
	}
	checkLoad[K](fn, c)
	if n == stage.Inline {
		return stage.Transform(name, in, n, stage.InOrder, stage.MapFunc(fn, f), opts...)
	}
	return operator(name, in, spec[A, K, struct{}, B]{config: c, n: n, key: key, call: f, inOrder: inOrder})
}
