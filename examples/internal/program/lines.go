package program

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// Lines is a Drawing of several lines of text, each as wide as the terminal at most.
type Lines struct {
	at    func(elapsed time.Duration) []string
	shown int // lines that are there
}

// NewLines makes such a drawing. At is called for each.
func NewLines(at func(elapsed time.Duration) []string) *Lines { return &Lines{at: at} }

// Draw draws the lines over those that are there.
func (l *Lines) Draw(w io.Writer, elapsed time.Duration) {
	width, height := sizeOf(w)
	lines := l.at(elapsed)
	lines = lines[:min(len(lines), height-1)] // the cursor stands below
	var b strings.Builder
	if l.shown > 0 { // the terminal may have put a ^C where the cursor stands
		fmt.Fprintf(&b, "\r\x1b[%dA", l.shown)
	}
	for _, line := range lines {
		b.WriteString(cut(line, width-1) + "\x1b[K\r\n")
	}
	b.WriteString("\x1b[J")
	l.shown = len(lines)
	io.WriteString(w, b.String())
}

// Clear takes the lines away.
func (l *Lines) Clear(w io.Writer) {
	if l.shown > 0 {
		fmt.Fprintf(w, "\r\x1b[%dA\x1b[J", l.shown)
		l.shown = 0
	}
}

// sizeOf is the size of a terminal, or what it has been since 1978.
func sizeOf(w any) (width, height int) {
	if f, ok := w.(interface{ Fd() uintptr }); ok {
		if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 1 && height > 1 {
			return width, height
		}
	}
	return 80, 24
}

func cut(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:width-1]) + "…"
}
