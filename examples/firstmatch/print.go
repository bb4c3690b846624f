package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

// flushAfter is how long a line may lie in the buffer.
const flushAfter = 50 * time.Millisecond

// binaryText stands for the line of a binary file.
const binaryText = "binary file matches"

// A printer writes matches. The first one is written at once, others no later
// than flushAfter.
type printer struct {
	mu    sync.Mutex
	w     *bufio.Writer
	n     int64
	timer *time.Timer // nil while nothing lies in the buffer
	err   error
}

func newPrinter(w io.Writer) *printer {
	return &printer{w: bufio.NewWriterSize(w, 64*kiB)}
}

func (p *printer) print(_ context.Context, h hit) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := append(p.w.AvailableBuffer(), printable(h.path)...)
	b = append(b, ':')
	b = strconv.AppendInt(b, h.line, 10)
	b = append(b, ':')
	b = strconv.AppendInt(b, h.column, 10)
	b = append(b, ':')
	if h.binary {
		b = append(b, binaryText...)
	} else {
		b = append(b, h.text...)
	}
	p.n++
	if _, err := p.w.Write(append(b, '\n')); err != nil {
		p.fail(err)
	}
	switch {
	case p.n == 1:
		p.flushLocked()
	case p.timer == nil && p.err == nil:
		p.timer = time.AfterFunc(flushAfter, func() { p.flush() })
	}
	return p.err
}

// flush writes what lies in the buffer.
func (p *printer) flush() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.flushLocked()
}

func (p *printer) flushLocked() error {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	if err := p.w.Flush(); err != nil {
		p.fail(err)
	}
	return p.err
}

func (p *printer) fail(err error) {
	if p.err == nil {
		p.err = program.WriteError{Err: fmt.Errorf("write the output: %w", err)}
	}
}

// printable is a path as it is printed: as it is, unless it has control
// characters in it, such as a newline, or begins with a quote. Then it stands in
// double quotes, with escapes as in C, so that each match is one line. Other
// bytes, valid UTF-8 or not, are left alone.
func printable(path string) string {
	plain := path == "" || path[0] != '"'
	for i := 0; i < len(path) && plain; i++ {
		plain = path[i] >= ' ' && path[i] != 0x7f
	}
	if plain {
		return path
	}
	b := []byte{'"'}
	for i := range len(path) {
		switch c := path[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c < ' ' || c == 0x7f:
			b = fmt.Appendf(b, `\%03o`, c)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}

func shrankError(path string) error {
	return fmt.Errorf("%s: became shorter while it was read; searched as far as it was there", printable(path))
}
