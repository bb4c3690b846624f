package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
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
	max int64
}

// print writes a line, above the bar.
func (s *screen) print(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	fmt.Fprintf(s.w, "firstmatch: "+format+"\n", args...)
}

func (s *screen) clear() {
	if s.bar != nil {
		s.bar.Clear()
	}
}

// showProgress draws until the returned function is called: a bar once total is
// known, a spinner before that, and how much has been searched.
func (s *screen) showProgress(c *counts, total *atomic.Int64) (end func()) {
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
				s.redraw(c, total.Load(), time.Since(start))
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

func (s *screen) redraw(c *counts, total int64, elapsed time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if total <= 0 {
		total = -1 // a spinner
	}
	if s.bar == nil || s.max != total {
		s.clear()
		s.max = total
		s.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(s.w),
			progressbar.OptionSetWidth(barWidth),
			progressbar.OptionSetElapsedTime(true),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetSpinnerChangeInterval(0), // it would start a goroutine
		)
	}
	bytes := c.bytes.Load()
	s.bar.Describe(fmt.Sprintf("%d files, %d MB, %.0f MB/s", c.files.Load(), bytes/1e6, float64(bytes)/1e6/elapsed.Seconds()))
	done := c.files.Load()
	if total > 0 {
		done = min(done, total-1) // a full bar is not drawn again
	}
	s.bar.Set64(done)
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
