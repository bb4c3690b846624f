package stage

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
)

// Sink is an end of a run with several ends; see [To] and [Run].
type Sink struct {
	open func(s *Scope) (loop func() error, close func())
}

// To is the end at which f is called for each value of in, as [ForEach] does;
// with n = 1 or [Inline] in order, in one goroutine of the run.
func To[T any](in Stream[T], n int, f func(context.Context, T) error, opts ...Option) Sink {
	const fn = "stage.To"
	CheckN(fn, n)
	CheckFunc(fn, "f", f == nil)
	c := Configure(fn, opts...)
	c.checkResizable(fn, n)
	return Sink{func(s *Scope) (func() error, func()) {
		if n > 1 || c.Parallelism != nil {
			rd := Open(s, consume("to", in, n, f, c))
			return func() error { return discard(s, "", rd) }, rd.Close
		}
		rd := Open(s, in)
		name := s.Label(c.Name, "to")
		return func() error {
			defer Tag(name)
			return forEach(s, name, rd, f, c)
		}, rd.Close
	}}
}

// Run runs several ends at once, in one run: what their streams share, such as
// the upstream of the branches of a [Split], runs once. It returns when all
// have ended: nil, or the first error that one of them met, at which the
// others are cancelled. If the ends wait for each other for good it returns an
// [ErrStalled] that says how. Each end has a goroutine of its own. A zero Sink
// panics.
func Run(ctx context.Context, sinks ...Sink) error {
	for i, k := range sinks {
		if k.open == nil {
			argPanic("stage.Run", "sink %d is the zero Sink", i)
		}
	}
	// The frame of a terminal, around a reader that runs the sinks.
	return drive(ctx, "run", New(func(s *Scope) Reader[struct{}] {
		r := &sinksReader{}
		for _, k := range sinks {
			sub := s.Child()
			loop, closeIt := k.open(sub)
			r.closers = append(r.closers, func() {
				sub.Cancel(ErrClosed)
				closeIt()
			})
			r.loops = append(r.loops, loop)
		}
		return r
	}), Config{}, nil, func(s *Scope, _ string, rd Reader[struct{}]) error {
		return rd.(*sinksReader).run(s)
	})
}

type sinksReader struct {
	loops   []func() error
	closers []func()
}

func (r *sinksReader) Next([]Try[struct{}]) int { return 0 }

func (r *sinksReader) Close() {
	for _, c := range r.closers {
		c()
	}
}

// run runs the loops, each in a goroutine, and returns the first error.
func (r *sinksReader) run(s *Scope) error {
	if len(r.loops) == 0 {
		return s.cause()
	}
	var ends crew
	var once sync.Once
	var first error
	var left atomic.Int64
	left.Store(int64(len(r.loops)))
	all := s.NewWaiter("run", func() string { return "" })
	defer all.Free()
	for i, loop := range r.loops {
		ends.add()
		s.Go("run", func() {
			defer ends.done()
			defer func() {
				if left.Add(-1) == 0 {
					all.Wake()
				}
			}()
			if err := loop(); err != nil {
				once.Do(func() { first = err })
				s.Cancel(err)
				return
			}
			r.closers[i]() // lets what it shared with others go on
		})
	}
	all.Arm()
	if left.Load() == 0 {
		all.Disarm()
	} else {
		all.Park()
	}
	ends.wait(s.run)
	if first != nil {
		return first
	}
	return s.cause()
}

// Seq runs the stream for a range loop: its values, and at the end, if there
// is one, the error that ended it, as [ForEach] would return it, with the zero
// value. When the loop ends, by whatever road, every goroutine of the run has
// ended. A panic of the loop's body goes on unchanged. Each loop is a run.
//
//go:noinline
func (in Stream[T]) Seq(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		body, left := false, false
		err := drive(ctx, "seq", in, Config{}, &body, func(s *Scope, _ string, rd Reader[T]) error {
			return eachValue(s, rd, func(v T) (bool, error) {
				body = true
				left = !yield(v, nil)
				body = false
				return !left, nil
			})
		})
		if err != nil && !left {
			var zero T
			yield(zero, err)
		}
	}
}
