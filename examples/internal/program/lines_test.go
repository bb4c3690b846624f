package program

import (
	"strings"
	"testing"
	"time"
)

func TestLinesAreDrawnOverTheLastOnesAndCutToTheTerminal(t *testing.T) {
	at := []string{"one", strings.Repeat("ä", 100)}
	l := NewLines(func(time.Duration) []string { return at })
	var b strings.Builder
	want := func(text string) {
		t.Helper()
		if b.String() != text {
			t.Errorf("%q is written, want %q", b.String(), text)
		}
		b.Reset()
	}
	l.Clear(&b)
	want("")
	l.Draw(&b, 0)
	want("one\x1b[K\r\n" + strings.Repeat("ä", 78) + "…\x1b[K\r\n\x1b[J")
	at = []string{"two"}
	l.Draw(&b, 0)
	want("\r\x1b[2Atwo\x1b[K\r\n\x1b[J")
	l.Clear(&b)
	want("\r\x1b[1A\x1b[J")
	l.Clear(&b)
	want("")
	at = strings.Split(strings.Repeat("x", 30), "")
	l.Draw(&b, 0)
	if n := strings.Count(b.String(), "\n"); n != 23 {
		t.Errorf("%d lines on a terminal of 24", n)
	}
}
