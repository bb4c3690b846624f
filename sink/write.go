package sink

import (
	"context"

	"github.com/seed95b73fdc/sluice/stage"
)

// Write runs in and appends its values to log, in order, as many at a time as are
// there. It returns when all are acknowledged, or the first error in the order of
// in: what comes before it has been appended. The log stays open. Cancelled, it
// returns the cause; what was appended until then is in the log, and Log.Len
// tells how much that is. With EverySync, what comes while the disk is busy is
// written together.
func Write[T any](ctx context.Context, in stage.Stream[T], log *Log[T]) error {
	stage.CheckFunc("sink.Write", "log", log == nil)
	return end(ctx, drain(in, func(*stage.Scope) target[T] { return logTarget[T]{log} }))
}

// WriteTo is Write as an end of a run that has several; see [stage.Run].
func WriteTo[T any](in stage.Stream[T], log *Log[T]) stage.Sink {
	stage.CheckFunc("sink.WriteTo", "log", log == nil)
	return sinkOf(drain(in, func(*stage.Scope) target[T] { return logTarget[T]{log} }), "log")
}

type logTarget[T any] struct{ log *Log[T] }

func (t logTarget[T]) put(values []T) (bool, error) {
	_, err := t.log.Append(values...)
	return false, err
}

func (logTarget[T]) flush() error { return nil }
func (logTarget[T]) release()     {}

// Read is the stream of the records of a log from index from on, up to the last
// one that is there when the run comes to it. An early end, as Log.Err tells it,
// is the last item.
func Read[T any](log *Log[T], from uint64) stage.Stream[T] {
	stage.CheckFunc("sink.Read", "log", log == nil)
	return stage.New(func(s *stage.Scope) stage.Reader[T] {
		return &logReader[T]{scope: s, r: log.core.reader(from)}
	})
}

type logReader[T any] struct {
	scope *stage.Scope
	r     *reader
	rest  []T
	ended bool
}

func (r *logReader[T]) Next(dst []stage.Try[T]) int {
	if len(r.rest) == 0 && !r.ended && !r.scope.Stopped() {
		_, records, err := r.r.more()
		if r.ended = err != nil; r.ended {
			dst[0] = stage.Try[T]{Error: err}
			return 1
		}
		r.rest = recordsOf[T](records)
	}
	if r.ended {
		return 0
	}
	k := min(len(dst), len(r.rest))
	for i, v := range r.rest[:k] {
		dst[i] = stage.Try[T]{Value: v}
	}
	r.rest = r.rest[k:]
	return k
}

func (r *logReader[T]) Close() { r.rest, r.ended = nil, true }
