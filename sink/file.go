package sink

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// File is a file that appears whole under its name or not at all: what is written
// goes to a hidden file beside it, which gets the name when it is complete and on
// the disk. So whoever sees the file sees all of it, after a power cut too.
//
// With RotateSize or RotateEvery it is a row of such files, its parts: of
// events.jsonl they are events-000001.jsonl, events-000002.jsonl and so on,
// beginning behind the last one that is there. A Write is never divided, so a
// part that was written by Lines or its kin ends with a line's end.
//
// A process that is killed, and Abort, lose the part that is being written, and
// only that; a killed one leaves its hidden file, whose name ends with ".tmp", and
// which can be removed. Files are for their owner to read and write.
//
// Methods may be called by any number of goroutines at once. Close it, or Abort.
type File struct {
	path string
	conf fileConfig

	turn   chan struct{} // held by who uses what follows
	part   *part         // nil between parts
	number int           // of the last part
	err    error         // sticky
	timer  *time.Timer
	rang   chan struct{}
	over   bool
}

// FileOption sets a property of a File.
type FileOption func(*fileConfig)

type fileConfig struct {
	size  int64
	every time.Duration
	gzip  bool
	sys   system
}

// RotateSize begins a new part when a Write would make the current one larger than
// so many bytes, counted before compression, at least 1. A single Write that is
// larger has a part of its own.
func RotateSize(bytes int64) FileOption {
	if bytes < 1 {
		panic(fmt.Sprintf("sink.RotateSize: bytes is %d, want at least 1", bytes))
	}
	return func(c *fileConfig) { c.size = bytes }
}

// RotateEvery completes a part d after its first Write, whether or not another one
// comes. If that fails, the next call of a method returns the error. d of less
// than 1 ms panics.
func RotateEvery(d time.Duration) FileOption {
	if d < time.Millisecond {
		panic(fmt.Sprintf("sink.RotateEvery: d is %v, want at least 1ms", d))
	}
	return func(c *fileConfig) { c.every = d }
}

// Gzip compresses the file, or each part, and adds ".gz" to its name. A part is
// compressed as it is written.
func Gzip() FileOption { return func(c *fileConfig) { c.gzip = true } }

// NewFile begins a file at path. Without rotation it replaces, when it is complete,
// what has that name then. A directory that cannot be listed or written is an
// error here already.
func NewFile(path string, opts ...FileOption) (*File, error) {
	c := fileConfig{sys: host}
	for _, o := range opts {
		stage.CheckFunc("sink.NewFile", "option", o == nil)
		o(&c)
	}
	f := &File{path: path, conf: c, turn: make(chan struct{}, 1), rang: make(chan struct{}, 1)}
	var err error
	if f.rotates() {
		f.number, err = f.lastNumber()
	} else {
		err = f.begin()
	}
	if err != nil {
		return nil, pathError("create", path, err)
	}
	return f, nil
}

func (f *File) rotates() bool { return f.conf.size > 0 || f.conf.every > 0 }

// Write appends b to the current part, after completing it if b has no room there.
// It blocks while the disk does. An error is for good, and the part it is about
// will not appear.
func (f *File) Write(b []byte) (int, error) {
	f.turn <- struct{}{}
	defer func() { <-f.turn }()
	if f.err != nil {
		return 0, f.err
	}
	if f.over {
		return 0, ErrClosed
	}
	if p := f.part; p != nil && f.conf.size > 0 && p.size > 0 && p.size+int64(len(b)) > f.conf.size {
		if err := f.complete(); err != nil {
			return 0, err
		}
	}
	if f.part == nil {
		if err := f.begin(); err != nil {
			return 0, f.fail("create", err)
		}
	}
	if f.conf.every > 0 && f.timer == nil {
		f.timer = time.AfterFunc(f.conf.every, f.ring)
	}
	n, err := f.part.Write(b)
	if err != nil {
		return n, f.fail("write", err)
	}
	return n, nil
}

// Rotate completes the current part, if anything has been written to it, and
// returns when it is durable under its name. Without RotateSize or RotateEvery
// there is one part, and Rotate does nothing.
func (f *File) Rotate() error {
	f.turn <- struct{}{}
	defer func() { <-f.turn }()
	switch {
	case f.err != nil:
		return f.err
	case f.over:
		return ErrClosed
	case !f.rotates():
		return nil
	}
	return f.complete()
}

// Close completes the file, or the last part, and returns when it is durable under
// its name. Further calls, and one after Abort, return the same, or nil.
func (f *File) Close() error { return f.finish(f.complete) }

// Abort throws away what is not complete. After Close it does nothing.
func (f *File) Abort() error { return f.finish(f.discard) }

// finish ends the file with what is to be done with the last part.
func (f *File) finish(last func() error) error {
	f.turn <- struct{}{}
	if f.over {
		defer func() { <-f.turn }()
		return f.err
	}
	f.over = true
	pending := f.timer != nil && !f.timer.Stop()
	err := f.err
	if err == nil {
		err = last()
	}
	<-f.turn
	if pending {
		<-f.rang
	}
	return err
}

// ring is RotateEvery's timer.
func (f *File) ring() {
	f.turn <- struct{}{}
	over := f.over
	f.timer = nil
	if p := f.part; p != nil && !over && f.err == nil {
		// It may be a younger part than the timer was set for.
		if rest := f.conf.every - time.Since(p.begun); rest > 0 {
			f.timer = time.AfterFunc(rest, f.ring)
		} else {
			f.complete() // its error stays
		}
	}
	<-f.turn
	if over {
		f.rang <- struct{}{}
	}
}

// fail gives the current part up, for good.
func (f *File) fail(do string, err error) error {
	f.err = pathError(do, f.path, errors.Join(err, f.discard()))
	return f.err
}

func (f *File) discard() error {
	p := f.part
	if p == nil {
		return nil
	}
	f.part = nil
	return errors.Join(p.file.Close(), f.conf.sys.Remove(p.temp))
}

// begin opens a part under a hidden name.
func (f *File) begin() error {
	temp := tempName(f.path)
	file, err := f.conf.sys.Open(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	f.part = newPart(temp, file, f.conf.gzip)
	return nil
}

// complete makes the current part durable and gives it its name: in this order, so
// that the name never stands for less than all of it.
func (f *File) complete() error {
	p := f.part
	if p == nil {
		return nil
	}
	if f.timer != nil && !f.over && f.timer.Stop() {
		f.timer = nil
	}
	if err := p.seal(); err != nil {
		return f.fail("write", err)
	}
	f.part = nil
	err := p.file.Close()
	if err == nil {
		err = f.name(p.temp)
	}
	if err != nil {
		f.err = pathError("complete", f.path, errors.Join(err, f.conf.sys.Remove(p.temp)))
		return f.err
	}
	if err := f.conf.sys.SyncDir(dirOf(f.path)); err != nil {
		f.err = pathError("complete", f.path, err)
	}
	return f.err
}

// name gives a complete part its name.
func (f *File) name(temp string) error {
	if !f.rotates() {
		return f.conf.sys.Rename(temp, f.path+f.suffix())
	}
	for {
		f.number++
		err := christen(f.conf.sys, temp, f.partName(f.number))
		if !errors.Is(err, os.ErrExist) {
			return err
		}
	}
}

const numberDigits = 6

func (f *File) suffix() string {
	if f.conf.gzip {
		return ".gz"
	}
	return ""
}

func (f *File) partName(number int) string {
	ext := filepath.Ext(f.path)
	return fmt.Sprintf("%s-%0*d%s%s", strings.TrimSuffix(f.path, ext), numberDigits, number, ext, f.suffix())
}

// lastNumber is the highest number of the parts that are there, compressed or not.
func (f *File) lastNumber() (last int, err error) {
	names, err := f.conf.sys.Names(dirOf(f.path))
	ext := filepath.Ext(f.path)
	prefix := strings.TrimSuffix(filepath.Base(f.path), ext) + "-"
	for _, name := range names {
		digits, isPart := strings.CutPrefix(strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ext), prefix)
		if n, err := strconv.Atoi(digits); isPart && err == nil && len(digits) >= numberDigits {
			last = max(last, n)
		}
	}
	return last, err
}

// Whole writes a file that appears whole under its name or not at all: when write
// returns nil. When it returns an error, or panics, nothing is left, but for parts that
// RotateSize or RotateEvery had completed before.
func Whole(path string, write func(w io.Writer) error, opts ...FileOption) error {
	stage.CheckFunc("sink.Whole", "write", write == nil)
	f, err := NewFile(path, opts...)
	if err != nil {
		return err
	}
	defer f.Abort() // nothing after Close
	if err := write(f); err != nil {
		return err
	}
	return f.Close()
}
