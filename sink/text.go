package sink

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// TextOption sets a property of Lines, JSONL or CSV.
type TextOption func(*textConfig)

type textConfig struct {
	age    time.Duration
	size   int
	comma  rune
	header []string
}

const (
	defaultAge    = 10 * time.Millisecond
	defaultBuffer = 64 << 10
)

// FlushAfter is how long what has been taken may stay in the buffer, 10 ms if not
// given, however much comes after it. With 0 every chunk of what is there is written
// at once. Less than 0 panics.
func FlushAfter(d time.Duration) TextOption {
	if d < 0 {
		panic(fmt.Sprintf("sink.FlushAfter: d is %v, want at least 0", d))
	}
	return func(c *textConfig) { c.age = d }
}

// BufferSize is how many bytes are collected before they are written, 64 KiB if
// not given, at least 1. What comes in one piece, such as a long line, may make it
// larger for a while.
func BufferSize(bytes int) TextOption {
	stage.CheckSize("sink.BufferSize", "bytes", bytes, 1)
	return func(c *textConfig) { c.size = bytes }
}

func configureText(fn string, w io.Writer, opts []TextOption) textConfig {
	stage.CheckFunc(fn, "w", w == nil)
	c := textConfig{age: defaultAge, size: defaultBuffer, comma: ','}
	for _, o := range opts {
		stage.CheckFunc(fn, "option", o == nil)
		o(&c)
	}
	return c
}

// textTarget encodes values into a buffer and writes that when it is full, when
// something has been in it for a while, and at the end.
//
// The buffer belongs to whoever holds the turn: the goroutine of the run, or the
// timer's. Both may block in Write while they hold it.
type textTarget[T any] struct {
	w      io.Writer
	conf   textConfig
	encode func(buf []byte, v T) ([]byte, error)
	stop   func() // ends the run's upstream

	turn  chan struct{}
	buf   []byte
	since time.Time     // when the first of what is in buf came
	timer *time.Timer   // for that; nil while none is set
	rang  chan struct{} // one for each timer that has gone off, when it is done
	err   error         // of a write
	over  bool
}

func newText[T any](s *stage.Scope, w io.Writer, c textConfig, encode func([]byte, T) ([]byte, error)) *textTarget[T] {
	return &textTarget[T]{
		w: w, conf: c, encode: encode,
		stop: func() { s.Cancel(stage.ErrClosed) },
		turn: make(chan struct{}, 1),
		rang: make(chan struct{}, 1),
	}
}

func (t *textTarget[T]) put(values []T) (over bool, err error) {
	came := time.Now()
	t.turn <- struct{}{}
	defer func() { <-t.turn }()
	for _, v := range values {
		if t.err != nil {
			return quiet(t.err)
		}
		at := len(t.buf)
		if at == 0 {
			t.since = came
		}
		if t.buf, err = t.encode(t.buf, v); err != nil {
			t.buf = t.buf[:at]
			t.write()
			return false, err
		}
		if len(t.buf) >= t.conf.size {
			t.write()
		}
	}
	if t.conf.age == 0 {
		t.write()
	}
	t.wind()
	return quiet(t.err)
}

// flush writes what is left, of an ended or cancelled run too: what has been taken
// is written.
func (t *textTarget[T]) flush() error {
	t.turn <- struct{}{}
	defer func() { <-t.turn }()
	t.write()
	_, err := quiet(t.err)
	return err
}

// write is called with the turn.
func (t *textTarget[T]) write() {
	if t.err != nil || len(t.buf) == 0 {
		return
	}
	n, err := t.w.Write(t.buf)
	if err == nil && n < len(t.buf) {
		err = io.ErrShortWrite
	}
	t.err = err
	t.buf = t.buf[:0]
	if cap(t.buf) > 2*max(t.conf.size, defaultBuffer) {
		t.buf = nil // a long line is not kept
	}
}

// wind sets the timer if something waits in the buffer. It is called with the turn.
func (t *textTarget[T]) wind() {
	if len(t.buf) > 0 && t.timer == nil && t.err == nil && !t.over {
		t.timer = time.AfterFunc(t.conf.age-time.Since(t.since), t.ring)
	}
}

// ring is the timer: it writes the buffer, or, if that has been written since it was
// set, waits for what has come then.
func (t *textTarget[T]) ring() {
	t.turn <- struct{}{}
	t.timer = nil
	if !t.over {
		if t.conf.age <= time.Since(t.since) {
			t.write()
		}
		if t.wind(); t.err != nil {
			t.stop() // nobody may call put for a long time
		}
	}
	over := t.over
	<-t.turn
	if over {
		t.rang <- struct{}{}
	}
}

// release ends the timer, and waits for it if it has gone off.
func (t *textTarget[T]) release() {
	t.turn <- struct{}{}
	t.over = true
	pending := t.timer != nil && !t.timer.Stop()
	<-t.turn
	if pending {
		<-t.rang
	}
}

// quiet sorts an error of a write: a reader that has gone away ends a sink, and is
// no failure of it.
func quiet(err error) (over bool, _ error) {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) || brokenPipe(err) {
		return true, nil
	}
	return false, err
}
