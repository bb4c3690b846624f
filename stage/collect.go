package stage

import (
	"context"
	"sync"
)

// Collect runs in and returns its values, nil for an empty stream. With an
// error there are none.
func Collect[T any](ctx context.Context, in Stream[T]) ([]T, error) {
	var out []T
	err := drive(ctx, "collect", in, Config{}, nil, func(s *Scope, _ string, rd Reader[T]) error {
		return eachValue(s, rd, func(v T) (bool, error) {
			out = append(out, v)
			return true, nil
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Count runs in and returns the number of its values, 0 with an error.
func Count[T any](ctx context.Context, in Stream[T]) (int, error) {
	count := 0
	err := drive(ctx, "count", in, Config{}, nil, func(s *Scope, _ string, rd Reader[T]) error {
		return eachValue(s, rd, func(T) (bool, error) {
			count++
			return true, nil
		})
	})
	if err != nil {
		return 0, err
	}
	return count, nil
}

// First runs in until its first item and returns that: a value and true, or an
// error; the zero value and false if in is empty. It asks upstream for no more
// than one item.
func First[T any](ctx context.Context, in Stream[T]) (value T, found bool, err error) {
	err = drive(ctx, "first", in, Config{}, nil, func(s *Scope, _ string, rd Reader[T]) error {
		var buf [1]Try[T]
		k := rd.Next(buf[:])
		if err := buf[0].Error; k == 0 || err != nil {
			return s.verdict(err, func() error { return lateError(s, rd, buf[:], k) })
		}
		value, found = buf[0].Value, true
		return nil
	})
	if err != nil {
		var zero T
		return zero, false, err
	}
	return value, found, nil
}

// Any reports whether f is true for some value of in, n calls at once, and
// stops as soon as it knows: at the first true or error that is there. With an
// error the answer is false; for an empty stream it is false too.
func Any[T any](ctx context.Context, in Stream[T], n int, f func(context.Context, T) (bool, error)) (bool, error) {
	CheckN("stage.Any", n)
	hits := Transform("any", in, n, AnyOrder, FilterFunc("stage.Any", f))
	_, found, err := First(ctx, hits)
	return found, err
}

// All reports whether f is true for every value of in, n calls at once, and
// stops as soon as it knows: at the first false or error that is there. With an
// error the answer is false; for an empty stream it is true.
func All[T any](ctx context.Context, in Stream[T], n int, f func(context.Context, T) (bool, error)) (bool, error) {
	CheckN("stage.All", n)
	CheckFunc("stage.All", "f", f == nil)
	misses := Transform("all", in, n, AnyOrder, FilterFunc("stage.All", func(ctx context.Context, v T) (bool, error) {
		ok, err := f(ctx, v)
		return !ok, err
	}))
	_, found, err := First(ctx, misses)
	return !found && err == nil, err
}

// Reduce combines the values of in to one with f, which must be associative.
// With n = 1 or [Inline] it combines from left to right; with more, n calls run
// at once, on whatever two values are there, and f must be commutative too.
// It reports false for an empty stream.
func Reduce[T any](ctx context.Context, in Stream[T], n int, f func(context.Context, T, T) (T, error)) (result T, ok bool, err error) {
	CheckN("stage.Reduce", n)
	CheckFunc("stage.Reduce", "f", f == nil)
	var mu sync.Mutex
	var parts []T // results of disjoint subsets of the values
	add := func(ctx context.Context, v T) error {
		for {
			mu.Lock()
			k := len(parts) - 1
			if k < 0 {
				parts = append(parts, v)
				mu.Unlock()
				return nil
			}
			part := parts[k]
			clear(parts[k:])
			parts = parts[:k]
			mu.Unlock()
			var err error
			if v, err = f(ctx, part, v); err != nil {
				return err
			}
		}
	}
	if n <= 1 {
		// No lock, and no loop: there is one part.
		add = func(ctx context.Context, v T) (err error) {
			if !ok {
				result, ok = v, true
				return nil
			}
			result, err = f(ctx, result, v)
			return err
		}
	}
	if err = ForEach(ctx, in, n, add, Name("reduce")); err != nil {
		var zero T
		return zero, false, err
	}
	if len(parts) > 0 {
		result, ok = parts[0], true
	}
	return result, ok, nil
}
