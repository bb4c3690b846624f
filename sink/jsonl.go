package sink

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/seed95b73fdc/sluice/stage"
)

// JSONL runs in and writes each value as JSON, one to a line, to w. It is Lines
// but for that: see there for what is written when, and what is lost when. A value
// that cannot be encoded is an error that names its number, from 0; what comes
// before it is written. Unlike [json.Marshal] it leaves <, > and & as they are.
func JSONL[T any](ctx context.Context, in stage.Stream[T], w io.Writer, opts ...TextOption) error {
	return end(ctx, jsonl("sink.JSONL", in, w, opts))
}

// JSONLTo is JSONL as an end of a run that has several; see [stage.Run].
func JSONLTo[T any](in stage.Stream[T], w io.Writer, opts ...TextOption) stage.Sink {
	return sinkOf(jsonl("sink.JSONLTo", in, w, opts), "jsonl")
}

func jsonl[T any](fn string, in stage.Stream[T], w io.Writer, opts []TextOption) stage.Stream[struct{}] {
	c := configureText(fn, w, opts)
	return drain(in, func(s *stage.Scope) target[T] {
		var to appender
		enc := json.NewEncoder(&to)
		enc.SetEscapeHTML(false)
		number := 0
		return newText(s, w, c, func(buf []byte, v T) ([]byte, error) {
			to.buf = buf
			err := enc.Encode(v)
			buf, to.buf = to.buf, nil // it may be one that is not to be kept
			if err != nil {
				return buf, fmt.Errorf("%s: value %d: %w", fn, number, err)
			}
			number++
			return buf, nil
		})
	})
}

// appender is a Writer that appends.
type appender struct{ buf []byte }

func (a *appender) Write(b []byte) (int, error) {
	a.buf = append(a.buf, b...)
	return len(b), nil
}
