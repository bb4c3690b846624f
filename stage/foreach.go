package stage

import (
	"context"
	"sync/atomic"
	"time"
)

// ForEach runs in and calls f for each value, n calls at once; with n = 1 or
// [Inline] in order and in the caller's goroutine. It returns the first error
// that it meets, of the stream or of f, and cancels the rest at once; the
// cause if ctx ends first; nil when all values have been seen.
//
// Like every terminal it returns only after every goroutine of the run has
// ended, and raises a panic of any function of the run as a *[Panic].
func ForEach[T any](ctx context.Context, in Stream[T], n int, f func(context.Context, T) error, opts ...Option) error {
	const fn = "stage.ForEach"
	CheckN(fn, n)
	CheckFunc(fn, "f", f == nil)
	c := Configure(fn, opts...)
	if n > 1 {
		return drive(ctx, "discard", consume(in, n, f, c), Config{}, nil, discard)
	}
	return drive(ctx, "foreach", in, c, nil, func(s *Scope, name string, rd Reader[T]) error {
		return forEach(s, name, rd, f, c)
	})
}

// consume runs f for each value, in any order, and emits errors only.
func consume[T any](in Stream[T], n int, f func(context.Context, T) error, c Config) Stream[struct{}] {
	return New(func(s *Scope) Reader[struct{}] {
		return openCells(s, "foreach", in, n, AnyOrder, TryFunc(func(ctx context.Context, a Try[T], out *Try[struct{}]) bool {
			err := a.Error
			if err == nil {
				err = f(ctx, a.Value)
			}
			*out = Try[struct{}]{Error: err}
			return err != nil
		}), c)
	})
}

// forEach calls f for each value of rd in the caller's goroutine.
func forEach[T any](s *Scope, name string, rd Reader[T], f func(context.Context, T) error, c Config) error {
	if c.RecoverPanics {
		f = guardedVisit(name, f)
	}
	var seen, errs, busy atomic.Int64
	s.Report(func() StageStats {
		return StageStats{
			Name: name, N: 1, Window: 1, In: uint64(seen.Load()), Out: uint64(seen.Load()),
			Errors: uint64(errs.Load()), Busy: time.Duration(busy.Load()),
		}
	})
	counted := s.run.stats != nil
	visit := func(chunk []Try[T]) (bool, error) {
		for i := range chunk {
			if err := chunk[i].Error; err != nil {
				return false, err
			}
			if s.Stopped() {
				return false, errAborted
			}
			if err := f(s.ctx, chunk[i].Value); err != nil {
				return false, err
			}
		}
		return true, nil
	}
	err := pull(s, rd, func(chunk []Try[T]) (bool, error) {
		if !counted {
			return visit(chunk)
		}
		began := now()
		more, err := visit(chunk)
		busy.Add(int64(now() - began))
		seen.Add(int64(len(chunk)))
		return more, err
	})
	if err != nil && !s.Stopped() {
		errs.Add(1)
	}
	return err
}

// guardedVisit makes a panic of f its error.
func guardedVisit[T any](name string, f func(context.Context, T) error) func(context.Context, T) error {
	return func(ctx context.Context, v T) (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = newPanic(name, v)
			}
		}()
		return f(ctx, v)
	}
}

// discard reads rd to its end.
func discard[T any](s *Scope, _ string, rd Reader[T]) error {
	return pull(s, rd, func(chunk []Try[T]) (bool, error) {
		return values(s, chunk, func(T) (bool, error) { return true, nil })
	})
}

// Discard runs in and throws its values away. It returns the first error.
func Discard[T any](ctx context.Context, in Stream[T]) error {
	return drive(ctx, "discard", in, Config{}, nil, discard)
}
