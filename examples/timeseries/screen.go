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
	barWidth    = 24
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
	fmt.Fprintf(s.w, "timeseries: "+format+"\n", args...)
}

func (s *screen) clear() {
	if s.bar != nil {
		s.bar.Clear()
	}
}

// showStop says so when stop is closed, until the returned function is called.
func (s *screen) showStop(stop <-chan struct{}, quiet bool) (end func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-stop:
			if !quiet {
				s.print("stopping when the days that were begun are done; again to abort")
			}
		case <-quit:
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// showProgress draws a bar until the returned function is called: how many of the
// days are done.
func (s *screen) showProgress(days int) (end func()) {
	bar := progressbar.NewOptions(days,
		progressbar.OptionSetWriter(s.w),
		progressbar.OptionSetWidth(barWidth),
		progressbar.OptionShowCount(),
		progressbar.OptionSetItsString("days"),
		progressbar.OptionThrottle(redrawEvery),
		progressbar.OptionSetPredictTime(true),
	)
	s.mu.Lock()
	s.bar = bar
	s.mu.Unlock()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.clear()
		s.bar = nil
	}
}

// advance moves the bar, if there is one, to the number of days done.
func (s *screen) advance(days int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar != nil && days < s.bar.GetMax() { // a full bar writes a line of its own
		s.bar.Set(days)
	}
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
