package program

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// redrawEvery is how often what shows the progress is drawn again.
const redrawEvery = 100 * time.Millisecond

// Talk says how much a program says on stderr.
type Talk string

const (
	// Verbose is all: notices, progress on a terminal, and errors.
	Verbose Talk = "verbose"
	// Quiet is errors only.
	Quiet Talk = "quiet"
)

// QuietIf is Quiet if a flag that says so is set.
func QuietIf(set bool) Talk {
	if set {
		return Quiet
	}
	return Verbose
}

// A Screen is stderr: messages, and on a terminal the progress below them.
type Screen struct {
	name string
	talk Talk

	mu   sync.Mutex
	w    io.Writer
	live Drawing // nil if none is shown
}

// A Drawing shows how far a program is.
type Drawing interface {
	// Draw draws, in place of what was drawn before, how it is after elapsed.
	Draw(w io.Writer, elapsed time.Duration)
	// Clear takes away what was drawn, and leaves the cursor where it began.
	Clear(w io.Writer)
}

// NewScreen makes a screen for the messages of the program with that name.
func NewScreen(w io.Writer, name string, talk Talk) *Screen {
	return &Screen{w: w, name: name, talk: talk}
}

// Print writes a line, above the progress.
func (s *Screen) Print(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	fmt.Fprintf(s.w, s.name+": "+format+"\n", args...)
}

// Note is Print, but not if the screen is quiet.
func (s *Screen) Note(format string, args ...any) {
	if s.talk != Quiet {
		s.Print(format, args...)
	}
}

func (s *Screen) clear() {
	if s.live != nil {
		s.live.Clear(s.w)
	}
}

// Show draws now and then until the returned function is called, and nothing if the
// screen is quiet or no terminal.
func (s *Screen) Show(d Drawing) (end func()) {
	if s.talk == Quiet || !IsTerminal(s.w) {
		return func() {}
	}
	s.mu.Lock()
	s.live = d
	s.mu.Unlock()
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
				s.mu.Lock()
				d.Draw(s.w, time.Since(start))
				s.mu.Unlock()
			}
		}
	}()
	return func() {
		close(quit)
		<-done
		s.mu.Lock()
		defer s.mu.Unlock()
		s.clear()
		s.live = nil
	}
}

// OnStop calls do in a goroutine of its own once stop is closed, and then writes the
// notice, until the returned function is called.
func (s *Screen) OnStop(stop <-chan struct{}, do func(), notice string) (end func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-stop:
			do()
			s.Note("%s", notice)
		case <-quit:
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// Conclude says what a run has come to, its error or else a summary if there is one,
// and returns the exit code. A reader of the output that has gone away is no failure.
func (s *Screen) Conclude(err error, stop <-chan struct{}, summary fmt.Stringer) int {
	switch {
	case errors.Is(err, ErrAborted):
		s.Note("aborted")
		return Interrupted
	case ReaderGone(err): // nothing to be said
	case err != nil:
		s.Print("%s", OneLine(err))
		return Failed
	case summary != nil:
		s.Note("%v", summary)
	}
	if Closed(stop) {
		return Interrupted
	}
	return OK
}

// Over returns w, or if w writes to a terminal, a writer that takes the progress away
// before it writes.
func (s *Screen) Over(w io.Writer) io.Writer {
	if IsTerminal(w) {
		return clearing{s, w}
	}
	return w
}

type clearing struct {
	screen *Screen
	w      io.Writer
}

func (c clearing) Write(p []byte) (int, error) {
	c.screen.mu.Lock()
	defer c.screen.mu.Unlock()
	c.screen.clear()
	return c.w.Write(p)
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
