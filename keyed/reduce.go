package keyed

import (
	"context"
	"sync"

	"github.com/seed95b73fdc/sluice/stage"
)

// Reduce runs in and returns what f has made of the items of each key: a state,
// made by newState when the key's first item comes, and given to f with each of
// its items, in input order and one at a time; items of different keys are worked
// on by n workers at once. It is [Process] with the states as the result.
//
// Like every terminal it returns only after every goroutine of the run has ended.
// It returns the first error that it meets, of in, newState or f, and then no
// states; an empty map for an empty stream. Options are those of [Map].
func Reduce[A any, K comparable, S any, N NewState[K, S]](ctx context.Context, in stage.Stream[A], n int, key func(A) K, newState N, f func(ctx context.Context, state *S, item A) error, opts ...stage.Option) (map[K]S, error) {
	const fn = "keyed.Reduce"
	stage.CheckFunc(fn, "f", f == nil)
	c := configure(fn, opts)
	if c.maxKeys > 0 || c.idleAfter > 0 || c.onEvict != nil {
		argPanic(fn, "MaxKeys, IdleAfter and OnEvict are for Process; Reduce keeps all states")
	}
	var mu sync.Mutex
	states := map[K]S{}
	keep := func(k K, s *S) {
		mu.Lock()
		states[k] = *s
		mu.Unlock()
	}
	g := func(ctx context.Context, s *S, a A) (struct{}, error) { return struct{}{}, f(ctx, s, a) }
	sp := processSpec(fn, n, key, newState, g, append(opts[:len(opts):len(opts)], OnEvict(keep)))
	out := operator("reduce", in, sp)
	if n == stage.Inline {
		out = inlineProcess(in, sp, opts)
	}
	if err := stage.Discard(ctx, out); err != nil {
		return nil, err
	}
	return states, nil
}
