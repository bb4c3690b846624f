package sink

import (
	"context"
	"io"

	"github.com/seed95b73fdc/sluice/stage"
)

// Lines runs in and writes each value and a newline to w, in order. It returns
// when all are written, or the first error of in, in order: what comes before it
// is written. It does not close w.
//
// Lines are collected and written when there are BufferSize bytes of them, when the
// first of them came FlushAfter ago, at the end, and before an error is returned,
// the one of a cancelled run too. So a process that is killed loses what came within
// FlushAfter, BufferSize of it at most, and a power cut what the kernel has not
// written yet.
//
// When w's reader has gone away (EPIPE, io.ErrClosedPipe), the run ends and Lines
// returns nil, as a program in a pipeline should. Another error of w is returned,
// and part of what was collected may have been written. A Write that blocks is
// waited for, also when the run is cancelled.
func Lines[S ~string | ~[]byte](ctx context.Context, in stage.Stream[S], w io.Writer, opts ...TextOption) error {
	return end(ctx, lines("sink.Lines", in, w, opts))
}

// LinesTo is Lines as an end of a run that has several; see [stage.Run].
func LinesTo[S ~string | ~[]byte](in stage.Stream[S], w io.Writer, opts ...TextOption) stage.Sink {
	return sinkOf(lines("sink.LinesTo", in, w, opts), "lines")
}

func lines[S ~string | ~[]byte](fn string, in stage.Stream[S], w io.Writer, opts []TextOption) stage.Stream[struct{}] {
	c := configureText(fn, w, opts)
	return drain(in, func(s *stage.Scope) target[S] {
		return newText(s, w, c, func(buf []byte, line S) ([]byte, error) {
			return append(append(buf, line...), '\n'), nil
		})
	})
}
