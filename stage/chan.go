package stage

import (
	"context"
)

// FromChan emits what comes from ch until it is closed. When the run ends
// first, the channel is left as it is: nobody reads on, and its sender must be
// stopped by other means, such as the context of the run. Several runs, or
// several places of one, that read ch share out what comes. It blocks while
// nothing comes, and that is never taken for a stall. A non-nil err becomes the
// only item, and ch is not read. A nil ch without an error panics.
func FromChan[T any](ch <-chan T, err ...error) Stream[T] {
	if e := given("stage.FromChan", err); e != nil {
		return Failed[T](e)
	}
	CheckFunc("stage.FromChan", "ch", ch == nil)
	return New(func(s *Scope) Reader[T] {
		return &chanReader[T, T]{scope: s, ch: ch, item: func(v T) Try[T] { return Try[T]{Value: v} }}
	})
}

// FromRill emits the items of a rill stream, as [FromChan] does.
func FromRill[T any](ch <-chan Try[T]) Stream[T] {
	CheckFunc("stage.FromRill", "ch", ch == nil)
	return New(func(s *Scope) Reader[T] {
		return &chanReader[Try[T], T]{scope: s, ch: ch, item: func(v Try[T]) Try[T] { return v }}
	})
}

type chanReader[C, T any] struct {
	scope *Scope
	ch    <-chan C
	item  func(C) Try[T]
	ended bool
}

func (r *chanReader[C, T]) Next(dst []Try[T]) int {
	if r.ended || r.scope.Stopped() {
		return 0
	}
	for k := range dst {
		var v C
		var ok bool
		select {
		case v, ok = <-r.ch:
		default:
			if k > 0 {
				return k
			}
			// The sender is outside the run, so this wait is not one of those
			// that a Waiter knows of: a silent sender is not a stall.
			select {
			case v, ok = <-r.ch:
			case <-r.scope.done:
				return 0
			}
		}
		if !ok {
			r.ended = true
			return k
		}
		dst[k] = r.item(v)
	}
	return len(dst)
}

func (r *chanReader[C, T]) Close() { r.ended = true }

// ToChan runs in, sends each value to out, and closes out when the run has
// ended, however it did. It returns the first error, as [ForEach] does; errors
// are not sent. It blocks while nobody receives, until ctx is done.
func ToChan[T any](ctx context.Context, in Stream[T], out chan<- T) error {
	CheckFunc("stage.ToChan", "out", out == nil)
	defer close(out)
	return drive(ctx, "tochan", in, Config{}, nil, func(s *Scope, _ string, rd Reader[T]) error {
		return eachValue(s, rd, func(v T) (bool, error) {
			select {
			case out <- v:
				return true, nil
			default:
			}
			select {
			case out <- v:
				return true, nil
			case <-s.done:
				return false, s.cause()
			}
		})
	})
}

// ToRill returns at once and runs in in the background as a rill stream: values
// and errors, each in its place. The run ends, and the channel is closed, when in
// has ended or ctx is done; in that case, or after a panic, the last item is an
// error that says so. An error does not end the run. As always with rill, read
// the channel to its end or cancel ctx; else the run is never over.
func ToRill[T any](ctx context.Context, in Stream[T]) <-chan Try[T] {
	out := make(chan Try[T], 1) // room for the last word
	go func() {
		defer close(out)
		var err error = &stageError{"torill", ErrGoexit}
		defer func() {
			if err != nil {
				lastWord(ctx, out, err)
			}
		}()
		err = toRill(ctx, in, out)
	}()
	return out
}

// lastWord sends err, or leaves it in out if nobody reads until ctx is done.
func lastWord[T any](ctx context.Context, out chan Try[T], err error) {
	select {
	case out <- Try[T]{Error: err}:
		return
	case <-ctx.Done():
	}
	for {
		select {
		case out <- Try[T]{Error: err}:
			return
		default:
		}
		// Nobody may be reading any more: what is unread makes room for why.
		select {
		case <-out:
		default:
		}
	}
}

func toRill[T any](ctx context.Context, in Stream[T], out chan<- Try[T]) (err error) {
	defer func() {
		if v := recover(); v != nil {
			p, ok := v.(*Panic)
			if !ok {
				panic(v)
			}
			err = p
		}
	}()
	return drive(ctx, "torill", in, Config{}, nil, func(s *Scope, _ string, rd Reader[T]) error {
		return pull(s, rd, func(chunk []Try[T]) (bool, error) {
			for _, a := range chunk {
				select {
				case out <- a:
				case <-s.done:
					return false, s.cause()
				}
			}
			return true, nil
		})
	})
}
