package main

import (
	"bufio"
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

const (
	writeBuffer = 64 * program.KiB
	// flushAfter is how long lines may lie in the buffer while others come.
	flushAfter = 100 * time.Millisecond
)

// An output writes the lines and counts them. What it has is flushed when all
// lines that were read are written and the input pauses, so that who reads it is
// never left waiting for a line that is done.
type output struct {
	mu      sync.Mutex
	w       *bufio.Writer
	name    string // of the file, for errors
	flushed time.Time
	paused  bool
	read    int // lines, when the input paused

	lines    atomic.Int64
	outcomes [outcomes]atomic.Int64
	offset   atomic.Int64 // of the last line, in the input
}

func newOutput(w io.Writer, name string) *output {
	return &output{w: bufio.NewWriterSize(w, writeBuffer), name: name, flushed: time.Now()}
}

// write writes the records' lines.
func (o *output) write(_ context.Context, records []record) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range records {
		r := &records[i]
		if _, err := o.w.Write(r.json); err != nil {
			return o.failed(err)
		}
		o.outcomes[r.outcome].Add(1)
		o.offset.Store(r.offset)
	}
	o.lines.Add(int64(len(records)))
	if o.caughtUp() || time.Since(o.flushed) > flushAfter {
		return o.flushLocked()
	}
	return nil
}

// caughtUp reports whether the input pauses and all its lines are written.
func (o *output) caughtUp() bool { return o.paused && o.lines.Load() == int64(o.read) }

// pause implements idler.
func (o *output) pause(lines int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.paused, o.read = true, lines
	if o.caughtUp() {
		return o.flushLocked()
	}
	return nil
}

// resume implements idler.
func (o *output) resume() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.paused = false
}

func (o *output) flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.flushLocked()
}

func (o *output) flushLocked() error {
	o.flushed = time.Now()
	if err := o.w.Flush(); err != nil {
		return o.failed(err)
	}
	return nil
}

func (o *output) failed(err error) error {
	return program.WriteError{Err: program.ReasonFor("write "+o.name, err)}
}
