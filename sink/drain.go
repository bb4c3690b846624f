package sink

import (
	"context"
	"time"

	"github.com/seed95b73fdc/sluice/lockfree"
	"github.com/seed95b73fdc/sluice/stage"
)

// A sink is an operator that hands what it reads to a function, in order and in
// chunks, and emits nothing but the error that ended it. A terminal runs it with
// stage.Discard; an end of a run of several, with stage.To.

// chunkRoom is how many items a sink asks for at most at a time, if it has no
// reason for another number.
const chunkRoom = 128

// target is where a drain puts its values. Its methods are called by one
// goroutine at a time.
type target[T any] interface {
	// put takes values, which it may not keep. over says that no more are needed.
	put(values []T) (over bool, err error)
	// flush is called once, when there are no more values, and before an error
	// that the stream had is reported.
	flush() error
	// release is called once, at the end, whatever has happened before.
	release()
}

// drain reads a stream into the target that open makes for each run.
func drain[T any](in stage.Stream[T], open func(*stage.Scope) target[T]) stage.Stream[struct{}] {
	return drainIn(in, chunkRoom, open)
}

// drainIn is drain in chunks of most values at most.
func drainIn[T any](in stage.Stream[T], most int, open func(*stage.Scope) target[T]) stage.Stream[struct{}] {
	return stage.New(func(s *stage.Scope) stage.Reader[struct{}] {
		d := &drainReader[T]{sub: s.Child(), room: 1, most: most, refs: lockfree.HoldsPointers[T]()}
		d.up = stage.Open(d.sub, in)
		d.plain, _ = d.up.(stage.ValueReader[T])
		d.to = open(d.sub)
		return d
	})
}

type drainReader[T any] struct {
	sub    *stage.Scope
	up     stage.Reader[T]
	plain  stage.ValueReader[T] // up, if it is one
	to     target[T]
	items  []stage.Try[T]
	values []T
	room   int // how many items are asked for: few while they come slowly
	most   int
	refs   bool // values keep memory alive
	ended  bool
	closed bool
}

// Next runs the stream to its end, and returns its error if it has one.
func (d *drainReader[T]) Next(dst []stage.Try[struct{}]) int {
	if d.ended {
		return 0
	}
	d.ended = true
	if err := d.run(); err != nil {
		dst[0] = stage.Try[struct{}]{Error: err}
		return 1
	}
	return 0
}

func (d *drainReader[T]) run() error {
	d.items, d.values = make([]stage.Try[T], d.most), make([]T, 0, d.most)
	for {
		got, failed := d.take()
		if !got {
			return d.to.flush()
		}
		over, err := false, error(nil)
		if len(d.values) > 0 && !d.sub.Stopped() {
			over, err = d.to.put(d.values)
			if d.refs {
				clear(d.values)
			}
		}
		switch {
		case err != nil:
			return err
		case over:
			d.sub.Cancel(stage.ErrClosed)
			return nil
		case failed != nil:
			if err := d.to.flush(); err != nil {
				return err
			}
			return failed
		}
	}
}

// take brings what comes next into values, and returns the error that comes after
// them, if it has come to one. got is false at the end.
func (d *drainReader[T]) take() (got bool, failed error) {
	asked := time.Now()
	d.values = d.values[:0]
	if d.plain != nil {
		if k := d.plain.NextValues(d.values[:d.room]); k > 0 {
			d.pace(time.Since(asked))
			d.values = d.values[:k]
			return true, nil
		}
	}
	k := d.up.Next(d.items[:d.room])
	if k == 0 {
		return false, nil
	}
	d.pace(time.Since(asked))
	for i := range d.items[:k] {
		if failed = d.items[i].Error; failed != nil {
			break
		}
		d.values = append(d.values, d.items[i].Value)
	}
	if d.refs || failed != nil {
		clear(d.items[:k])
	}
	return true, failed
}

// pace asks for more at a time while items come at once, and for less when they
// take their time, so that the first of them does not wait for the last.
func (d *drainReader[T]) pace(took time.Duration) {
	const quick, slow = 50 * time.Microsecond, 200 * time.Microsecond
	switch {
	case took < quick:
		d.room = min(2*d.room, d.most)
	case took > slow:
		d.room = max(1, d.room/2)
	}
}

func (d *drainReader[T]) Close() {
	if d.closed {
		return
	}
	d.closed, d.ended = true, true
	d.sub.Cancel(stage.ErrClosed)
	d.up.Close()
	d.to.release()
	d.items, d.values = nil, nil
}

// end runs a sink as a terminal.
func end(ctx context.Context, s stage.Stream[struct{}]) error { return stage.Discard(ctx, s) }

// sinkOf makes a sink an end of a run of several.
func sinkOf(s stage.Stream[struct{}], name string) stage.Sink {
	return stage.To(s, stage.Inline, func(context.Context, struct{}) error { return nil }, stage.Name(name))
}
