package stage

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed95b73fdc/sluice/lockfree"
)

// ForEach runs in and calls f for each value, n calls at once; with n = 1 or
// [Inline] in order and in the caller's goroutine. It returns the first error
// that it meets, of the stream or of f, and cancels the rest at once; the
// cause if ctx ends first; nil when all values have been seen.
//
// Like every terminal but [ToRill] it returns only after every goroutine of the
// run has ended, and raises a panic of any function of the run as a *[Panic].
func ForEach[T any](ctx context.Context, in Stream[T], n int, f func(context.Context, T) error, opts ...Option) error {
	const fn = "stage.ForEach"
	CheckN(fn, n)
	CheckFunc(fn, "f", f == nil)
	c := Configure(fn, opts...)
	c.checkResizable(fn, n)
	if n > 1 || c.Parallelism != nil {
		return drive(ctx, "discard", consume("foreach", in, n, f, c), Config{}, nil, discard)
	}
	return drive(ctx, "foreach", in, c, nil, func(s *Scope, name string, rd Reader[T]) error {
		return forEach(s, name, rd, f, c)
	})
}

// consume runs f for each value, in any order, and emits errors only.
func consume[T any](operator string, in Stream[T], n int, f func(context.Context, T) error, c Config) Stream[struct{}] {
	return New(func(s *Scope) Reader[struct{}] {
		return openCells(s, operator, in, n, AnyOrder, TryFunc(func(ctx context.Context, a Try[T], out *Try[struct{}]) bool {
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
	ctx, keep := s.ctx, !lockfree.HoldsPointers[T]()
	visit := func(chunk []Try[T]) (bool, error) {
		for i := range chunk {
			if err := chunk[i].Error; err != nil {
				return false, err
			}
			if s.Stopped() {
				return false, errAborted
			}
			v := chunk[i].Value
			if !keep {
				chunk[i] = Try[T]{} // f may be long with those behind it
			}
			if err := f(ctx, v); err != nil {
				return false, err
			}
		}
		return true, nil
	}
	if s.run.stats == nil {
		return pull(s, rd, visit)
	}
	seen := &counted[T]{rd: rd, name: name}
	s.Report(seen.snapshot)
	return pull(s, seen, func(chunk []Try[T]) (bool, error) {
		for i := range chunk {
			began := now()
			more, err := visit(chunk[i : i+1])
			seen.visited(now()-began, err)
			if err != nil || !more {
				return more, err
			}
		}
		return true, nil
	})
}

// counted is what a ForEach without goroutines reads if someone looks at its
// Stats.
type counted[T any] struct {
	rd   Reader[T]
	name string
	mu   sync.Mutex
	stat StageStats
	room int
	at   time.Duration // when Next was called, or 0
}

func (c *counted[T]) Next(dst []Try[T]) int {
	c.mu.Lock()
	c.room, c.at = len(dst), now()
	c.stat.Calls = 0
	c.mu.Unlock()
	k := c.rd.Next(dst)
	c.mu.Lock()
	c.stat.Starved += now() - c.at
	c.at = 0
	c.stat.In += uint64(k)
	c.stat.Calls = min(k, 1)
	c.mu.Unlock()
	return k
}

func (c *counted[T]) Close() { c.rd.Close() }

// visited counts an item that f has been called for, or that is an error.
func (c *counted[T]) visited(took time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if errors.Is(err, errAborted) {
		return
	}
	c.stat.Out++
	c.stat.Busy += took
	if err != nil {
		c.stat.Errors++
	}
}

func (c *counted[T]) snapshot() StageStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stat
	s.Name, s.N, s.Window = c.name, 1, max(c.room, 1)
	s.InFlight = int(s.In - s.Out)
	if c.at != 0 {
		s.Starved += now() - c.at
	}
	return s
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
	return eachValue(s, rd, func(T) (bool, error) { return true, nil })
}

// Discard runs in and throws its values away. It returns the first error.
func Discard[T any](ctx context.Context, in Stream[T]) error {
	return drive(ctx, "discard", in, Config{}, nil, discard)
}
