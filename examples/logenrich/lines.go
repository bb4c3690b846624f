package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

// A line is one line of the log.
type line struct {
	number int    // from 1
	text   []byte // without its end; only a prefix if err is set
	err    error  // why the text is no line to parse
}

const (
	readBuffer = 64 * program.KiB
	// prefixLimit is how much of a line that is not read whole is kept to show.
	prefixLimit = program.KiB
)

// A lineReader cuts its input into lines. It holds at most one line of up to max
// bytes, and its buffer.
type lineReader struct {
	in   *bufio.Reader
	max  int
	read int   // lines so far
	off  int64 // bytes of input in them
	err  error // what ended the input, once the lines before it are out
	part []byte
}

func newLineReader(in io.Reader, buffer, max int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, buffer), max: max}
}

// next returns the next line, or io.EOF after the last. If reading fails within
// a line, what there is of it comes out as a malformed line, and the error with
// the call after that. A line that is cut by an interrupt was not read.
func (r *lineReader) next() (line, error) {
	if r.err != nil {
		return line{}, r.err
	}
	var nuls int64
	if nuls, r.err = r.skipNULs(); r.err != nil && nuls == 0 {
		return line{}, r.err
	}
	if nuls > 0 {
		if r.err == nil {
			r.skipEnd()
		}
		r.read++
		return line{
			number: r.read,
			text:   make([]byte, min(nuls, prefixLimit)),
			err:    fmt.Errorf("%d NUL bytes", nuls),
		}, nil
	}
	return r.rest()
}

// more reports whether a whole line is in the buffer, so that next will not wait.
func (r *lineReader) more() bool {
	ahead, _ := r.in.Peek(r.in.Buffered()) // cannot fail
	return bytes.IndexByte(ahead, '\n') >= 0
}

// skipNULs reads the NUL bytes that stand before the next line.
func (r *lineReader) skipNULs() (count int64, err error) {
	for {
		if _, err := r.in.Peek(1); err != nil {
			return count, err
		}
		ahead, _ := r.in.Peek(r.in.Buffered())
		run := len(ahead) - len(bytes.TrimLeft(ahead, "\x00"))
		r.in.Discard(run)
		r.off += int64(run)
		count += int64(run)
		if run < len(ahead) {
			return count, nil
		}
	}
}

// skipEnd reads the end of a line if that is what comes next. It asks for a
// second byte only after a CR.
func (r *lineReader) skipEnd() {
	n := 1
	ahead, _ := r.in.Peek(n)
	if string(ahead) == "\r" {
		n = 2
		ahead, _ = r.in.Peek(n)
	}
	if len(ahead) == n && ahead[n-1] == '\n' {
		r.in.Discard(n)
		r.off += int64(n)
	}
}

// rest reads a line that does not begin with NUL.
func (r *lineReader) rest() (line, error) {
	r.part = r.part[:0]
	var size int64 // of the line, with its end
	var last [2]byte
	for {
		piece, err := r.in.ReadSlice('\n')
		size += int64(len(piece))
		r.off += int64(len(piece))
		for _, c := range piece[max(0, len(piece)-2):] {
			last[0], last[1] = last[1], c
		}
		// A line of max bytes may have two more for its end.
		r.keep(piece[:min(len(piece), r.max+2-len(r.part))])
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		r.err = err
		if size == 0 || errors.Is(err, errInterrupted) {
			return line{}, err
		}
		r.read++
		return r.finish(size-lineEnd(last, size), err), nil
	}
}

// lineEnd returns how many of the last bytes of a line are its end.
func lineEnd(last [2]byte, size int64) int64 {
	switch {
	case last[1] != '\n':
		return 0
	case size >= 2 && last[0] == '\r':
		return 2
	}
	return 1
}

// finish makes a line of the size bytes that begin r.part, after which reading
// returned err.
func (r *lineReader) finish(size int64, err error) line {
	l := line{number: r.read}
	switch {
	case size > int64(r.max):
		l.err = fmt.Errorf("line of %d bytes, over the limit of %d", size, r.max)
		l.text = bytes.Clone(wholeRunes(r.part[:min(prefixLimit, r.max)]))
	default:
		l.text = r.take(int(size))
		if err != nil && !errors.Is(err, io.EOF) {
			l.err = fmt.Errorf("input failed within the line: %w", err)
		}
	}
	return l
}

// keep appends to r.part, which never has room for more than the longest line.
func (r *lineReader) keep(piece []byte) {
	if need := len(r.part) + len(piece); need > cap(r.part) {
		room := min(max(need, 2*cap(r.part)), r.max+2)
		r.part = append(make([]byte, 0, room), r.part...)
	}
	r.part = append(r.part, piece...)
}

// take returns the first size bytes of r.part: a copy, but for a long line, which
// keeps the room it has.
func (r *lineReader) take(size int) []byte {
	if size <= readBuffer {
		return append(make([]byte, 0, size), r.part[:size]...)
	}
	text := r.part[:size:size]
	r.part = nil
	return text
}

// wholeRunes drops a character from the end of text that was cut within it.
func wholeRunes(text []byte) []byte {
	for i := len(text) - 1; i >= 0 && i >= len(text)-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				return text[:i]
			}
			break
		}
	}
	return text
}
