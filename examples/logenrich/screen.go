package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

const (
	redrawEvery = 100 * time.Millisecond
	barWidth    = 16
)

// A screen is stderr: messages, and on a terminal a progress bar below them.
type screen struct {
	mu  sync.Mutex
	w   io.Writer
	bar *progressbar.ProgressBar // nil if none is shown
}

// print writes a line, above the bar.
func (s *screen) print(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	fmt.Fprintf(s.w, "logenrich: "+format+"\n", args...)
}

func (s *screen) clear() {
	if s.bar != nil {
		s.bar.Clear()
	}
}

// showProgress draws a bar until the returned function is called: how much of
// the input of size bytes (0 if not known) is done, at what rate, in what time.
func (s *screen) showProgress(out *output, size int64) (end func()) {
	max := size
	if max <= 0 {
		max = -1 // a spinner
	}
	s.bar = progressbar.NewOptions64(max,
		progressbar.OptionSetWriter(s.w),
		progressbar.OptionSetWidth(barWidth),
		progressbar.OptionShowBytes(true),
		progressbar.OptionUseIECUnits(true),
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionSetSpinnerChangeInterval(0), // it would start a goroutine
	)
	start := time.Now()
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(redrawEvery)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				s.redraw(out.lines.Load(), out.offset.Load(), size, time.Since(start))
			}
		}
	}()
	return func() {
		close(quit)
		<-done
		s.mu.Lock()
		defer s.mu.Unlock()
		s.clear()
		s.bar = nil
	}
}

func (s *screen) redraw(lines, offset, size int64, elapsed time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if size > 0 {
		offset = min(offset, size-1) // a full bar is not drawn again, and the file may grow
	}
	s.bar.Describe(fmt.Sprintf("%d lines, %.0f lines/s", lines, float64(lines)/elapsed.Seconds()))
	s.bar.Set64(offset)
}

// over returns w, or if w writes to the terminal that has the bar, a writer that
// takes the bar away before it writes.
func (s *screen) over(w io.Writer) io.Writer {
	if isTerminal(w) {
		return clearing{s, w}
	}
	return w
}

type clearing struct {
	screen *screen
	w      io.Writer
}

func (c clearing) Write(p []byte) (int, error) {
	c.screen.mu.Lock()
	defer c.screen.mu.Unlock()
	c.screen.clear()
	return c.w.Write(p)
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
