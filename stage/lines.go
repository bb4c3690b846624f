package stage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// LineOption sets a property of [Lines].
type LineOption func(*lineConfig)

type lineConfig struct {
	max int
}

// DefaultMaxLine is the longest line, in bytes, that Lines emits if MaxLine
// does not say otherwise.
const DefaultMaxLine = 64 << 20

// MaxLine is the longest line that Lines emits, in bytes without its end,
// at least 1. A longer one becomes a *[LineTooLongError] in its place.
func MaxLine(n int) LineOption {
	CheckSize("stage.MaxLine", "n", n, 1)
	return func(c *lineConfig) { c.max = n }
}

// LineTooLongError stands for a line that is longer than [MaxLine].
type LineTooLongError struct {
	Line   int    // its number, from 1
	Length int64  // in bytes, without its end
	Limit  int    // what MaxLine allowed
	Prefix string // its first 64 bytes, or all if it has fewer
}

// linePrefix is how much of an overlong line its error keeps.
const linePrefix = 64

// Error says which line it was, how long, and how it begins.
func (e *LineTooLongError) Error() string {
	return fmt.Sprintf("stage: line %d is %d bytes long, more than %d: %q…", e.Line, e.Length, e.Limit, e.Prefix)
}

// Lines emits the lines of what open returns, without their ends, "\n" or
// "\r\n"; a last line without an end counts, an empty one after the last end
// does not. The bytes of a line are left as they are. An error of open, or of
// reading, is the last item, after all lines before it; what stands before a
// reading error without an end is a line.
//
// open is called when the first line is asked for, in the goroutine of whoever
// pulls, as Read is. What it returns is closed when the stream is, and at once,
// by another goroutine, when the run ends while Read blocks: so a pipe or a
// connection ends the Read. A Read that Close does not end holds up the end of
// the run.
//
// Lines are emitted as they come: a slow source is not waited for while there
// is one. The buffer begins with 64 KiB and doubles for a longer line, up to
// MaxLine plus 64 KiB. A line that is too long is not kept in memory.
func Lines(open func(context.Context) (io.ReadCloser, error), opts ...LineOption) Stream[string] {
	CheckFunc("stage.Lines", "open", open == nil)
	c := lineConfig{max: DefaultMaxLine}
	for _, o := range opts {
		CheckFunc("stage.Lines", "option", o == nil)
		o(&c)
	}
	return New(func(s *Scope) Reader[string] {
		return &lineReader{scope: s, open: open, max: c.max, name: s.Label("", "lines")}
	})
}

const lineBuffer = 64 << 10

type lineReader struct {
	scope  *Scope
	open   func(context.Context) (io.ReadCloser, error)
	max    int
	name   string
	src    io.ReadCloser
	stop   func() bool // takes back the closing of src at the run's end
	closed chan struct{}
	buf    []byte // read and not yet emitted are buf[at:]
	at     int
	seen   int   // bytes of buf[at:] known to hold no line end
	skip   int64 // length so far of a line that is too long, or 0
	prefix string
	line   int
	err    error // what comes after the last line; io.EOF for nothing
	ended  bool
}

func (r *lineReader) Next(dst []Try[string]) (k int) {
	defer Tag(r.name)
	if r.ended || r.scope.Stopped() {
		return 0
	}
	if r.src == nil && r.err == nil {
		r.begin()
	}
	for k < len(dst) {
		if r.scan(&dst[k]) {
			k++
			continue
		}
		if k > 0 {
			break
		}
		if r.err != nil {
			return r.finish(dst)
		}
		r.fill()
		if r.scope.Stopped() {
			return 0
		}
	}
	return k
}

func (r *lineReader) begin() {
	src, err := r.open(r.scope.ctx)
	if err == nil && src == nil {
		err = errors.New("stage.Lines: open returned nothing to read")
	}
	if err != nil {
		r.err = err
		return
	}
	r.src = src
	r.closed = make(chan struct{})
	r.stop = context.AfterFunc(r.scope.ctx, func() {
		defer close(r.closed)
		defer func() {
			if v := recover(); v != nil {
				r.scope.lost(r.name, v)
			}
		}()
		src.Close()
	})
	r.buf = make([]byte, 0, lineBuffer)
}

// scan moves the next line into a, if it is there whole.
func (r *lineReader) scan(a *Try[string]) bool {
	i := bytes.IndexByte(r.buf[r.at+r.seen:], '\n')
	if i < 0 {
		r.seen = len(r.buf) - r.at
		r.cut()
		return false
	}
	line := r.buf[r.at : r.at+r.seen+i]
	r.at += r.seen + i + 1
	r.seen = 0
	r.emit(a, bytes.TrimSuffix(line, []byte{'\r'}))
	return true
}

// emit makes an item of the rest of a line.
func (r *lineReader) emit(a *Try[string], line []byte) {
	r.line++
	length := r.skip + int64(len(line))
	if length <= int64(r.max) {
		*a = Try[string]{Value: string(line)}
		return
	}
	if r.skip == 0 {
		r.prefix = string(line[:min(len(line), linePrefix)])
	}
	*a = Try[string]{Error: &LineTooLongError{Line: r.line, Length: length, Limit: r.max, Prefix: r.prefix}}
	r.skip, r.prefix = 0, ""
}

// cut forgets what has come of a line that is too long, but for a last byte
// that may be half of its end. It waits until the prefix is there.
func (r *lineReader) cut() {
	if r.skip == 0 && r.seen-1 <= max(r.max, linePrefix) || r.seen < 2 {
		return
	}
	if r.skip == 0 {
		r.prefix = string(r.buf[r.at : r.at+linePrefix])
	}
	r.skip += int64(r.seen - 1)
	r.at += r.seen - 1
	r.seen = 1
}

// fill reads more.
func (r *lineReader) fill() {
	if r.at > 0 {
		r.buf = r.buf[:copy(r.buf, r.buf[r.at:])]
		r.at = 0
	}
	if len(r.buf) == cap(r.buf) {
		size := 2 * cap(r.buf)
		if most := r.max + lineBuffer; most > 0 {
			size = min(size, most) // a longer line would have been cut
		}
		grown := make([]byte, len(r.buf), size)
		copy(grown, r.buf)
		r.buf = grown
	}
	for range maxEmptyReads {
		n, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
		if n < 0 || n > cap(r.buf)-len(r.buf) {
			r.err = fmt.Errorf("stage.Lines: Read returned %d for %d bytes", n, cap(r.buf)-len(r.buf))
			return
		}
		r.buf = r.buf[:len(r.buf)+n]
		if err != nil {
			r.err = err
		}
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}

const maxEmptyReads = 100

// finish emits what stands after the last line end, and then the error.
func (r *lineReader) finish(dst []Try[string]) int {
	if rest := r.buf[r.at:]; len(rest) > 0 || r.skip > 0 {
		r.at, r.seen = len(r.buf), 0
		r.emit(&dst[0], rest)
		return 1
	}
	r.ended = true
	if r.err == io.EOF {
		return 0
	}
	dst[0] = Try[string]{Error: r.err}
	return 1
}

func (r *lineReader) Close() {
	defer Tag(r.name)
	r.ended = true
	src := r.src
	if src == nil {
		return
	}
	r.src, r.buf = nil, nil
	if r.stop() {
		src.Close()
	} else {
		<-r.closed
	}
}
