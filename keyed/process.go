package keyed

import (
	"context"
	"reflect"

	"github.com/seed95b73fdc/sluice/stage"
)

// NewState makes the state of a key: plainly, or from the key, or with the run's
// context and an error, which takes the place of the item that needed the state;
// the next item of the key tries again.
type NewState[K comparable, S any] interface {
	~func() S | ~func(K) S | ~func(context.Context, K) (S, error)
}

// Process is [Map] with a state for each key: f's second argument points to that
// of the item's key, which nobody else uses meanwhile, so it needs no lock. The
// state is made by newState when the first item of the key is about to be
// processed, by the same worker. f may change it, and must not keep the pointer.
// An error of f takes the place of its item and leaves the state as f left it.
//
// Each run has states of its own. They are kept until the input has ended, unless
// [MaxKeys] or [IdleAfter] bounds them; [OnEvict] tells of each one that is given
// up. With n = [stage.Inline] all of it happens in the goroutine of whoever pulls.
//
// Options are those of [Map], and [MaxKeys], [IdleAfter] and [OnEvict].
func Process[A any, K comparable, S, B any, N NewState[K, S]](in stage.Stream[A], n int, key func(A) K, newState N, f func(ctx context.Context, state *S, item A) (B, error), opts ...stage.Option) stage.Stream[B] {
	const fn = "keyed.Process"
	sp := processSpec(fn, n, key, newState, f, opts)
	if n == stage.Inline {
		return inlineProcess(in, sp, opts)
	}
	return operator("process", in, sp)
}

func processSpec[A any, K comparable, S, B any, N NewState[K, S]](fn string, n int, key func(A) K, newState N, f func(context.Context, *S, A) (B, error), opts []stage.Option) spec[A, K, S, B] {
	stage.CheckN(fn, n, opts...)
	stage.CheckFunc(fn, "key", key == nil)
	stage.CheckFunc(fn, "f", f == nil)
	make := stateMaker[K, S](fn, newState)
	c := configure(fn, opts)
	checkLoad[K](fn, c)
	sp := spec[A, K, S, B]{config: c, n: n, key: key, with: f, newS: make}
	if c.onEvict != nil {
		bye, ok := c.onEvict.(func(K, *S))
		if !ok {
			argPanic(fn, "OnEvict has a %T, want a %T", c.onEvict, bye)
		}
		sp.bye = bye
	}
	return sp
}

// stateMaker brings the forms of NewState to one.
func stateMaker[K comparable, S any, N NewState[K, S]](fn string, g N) func(context.Context, K) (S, error) {
	v := reflect.ValueOf(g)
	stage.CheckFunc(fn, "newState", v.IsNil())
	if t := reflect.TypeFor[func(context.Context, K) (S, error)](); v.CanConvert(t) {
		return v.Convert(t).Interface().(func(context.Context, K) (S, error))
	}
	if t := reflect.TypeFor[func(K) S](); v.CanConvert(t) {
		plain := v.Convert(t).Interface().(func(K) S)
		return func(_ context.Context, k K) (S, error) { return plain(k), nil }
	}
	plain := v.Convert(reflect.TypeFor[func() S]()).Interface().(func() S)
	return func(context.Context, K) (S, error) { return plain(), nil }
}
