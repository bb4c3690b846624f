package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// allLines reads every line, and the error at the end unless it is io.EOF.
func allLines(r *lineReader) (lines []line, err error) {
	for {
		l, err := r.next()
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
		lines = append(lines, l)
	}
}

// eachReading calls f for many ways to read data: buffers so small that every
// line is cut at every place, and readers that give a byte at a time or the data
// together with the end.
func eachReading(t *testing.T, data string, max int, f func(t *testing.T, r *lineReader)) {
	t.Helper()
	readers := map[string]func(io.Reader) io.Reader{
		"plain":   func(r io.Reader) io.Reader { return r },
		"byte":    iotest.OneByteReader,
		"dataEOF": iotest.DataErrReader,
		"half":    iotest.HalfReader,
	}
	for name, wrap := range readers {
		for _, buffer := range []int{16, 17, 18, 19, 20, 21, 64, 4096} {
			t.Run(fmt.Sprintf("%s/%d", name, buffer), func(t *testing.T) {
				f(t, newLineReader(wrap(strings.NewReader(data)), buffer, max))
			})
		}
	}
}

func TestLinesAreCutAtLFAndCRLFAndTheEnd(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"one with no end", "a", []string{"a"}},
		{"one", "a\n", []string{"a"}},
		{"empty ones", "\n\n", []string{"", ""}},
		{"CRLF", "a\r\nb\r\n\r\nc", []string{"a", "b", "", "c"}},
		{"mixed", "a\nb\r\nc\n", []string{"a", "b", "c"}},
		{"CR within and at the very end", "a\rb\nc\r\r\nd\r", []string{"a\rb", "c\r", "d\r"}},
		{"NUL within and after", "a\x00b\nc\x00\n", []string{"a\x00b", "c\x00"}},
		{"other separators are text", "a\vb\fc\u0085d\u2028e\n", []string{"a\vb\fc\u0085d\u2028e"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			eachReading(t, tt.in, 1000, func(t *testing.T, r *lineReader) {
				lines, err := allLines(r)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for i, l := range lines {
					if l.err != nil || l.number != i+1 {
						t.Errorf("line %d: number %d, error %v", i+1, l.number, l.err)
					}
					got = append(got, string(l.text))
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("got %q, want %q", got, tt.want)
				}
				if r.off != int64(len(tt.in)) {
					t.Errorf("offset %d at the end of %d bytes", r.off, len(tt.in))
				}
			})
		})
	}
}

// C126: a line over the limit is one event, and the lines after it are read.
func TestC126LinesOfAnyLengthComeOutAndLongerOnesAreReportedInPlace(t *testing.T) {
	const max = 1 << 20
	sizes := []int{65_534, 65_535, 65_536, 65_537, max - 1, max, max + 1, max + 2, max + 3, 3 * max}
	for _, end := range []string{"\n", "\r\n", ""} {
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%d%q", size, end), func(t *testing.T) {
				in := "before\n" + strings.Repeat("x", size) + end
				want := 2
				if end != "" {
					in += "after\n"
					want = 3
				}
				lines, err := allLines(newLineReader(strings.NewReader(in), readBuffer, max))
				if err != nil || len(lines) != want {
					t.Fatalf("%d lines, %v; want %d", len(lines), err, want)
				}
				long := lines[1]
				if size <= max {
					if long.err != nil || len(long.text) != size {
						t.Errorf("got %d bytes, error %v", len(long.text), long.err)
					}
				} else if long.err == nil || len(long.text) != prefixLimit || !strings.Contains(long.err.Error(), fmt.Sprintf("line of %d bytes", size)) {
					t.Errorf("got %d bytes, error %v", len(long.text), long.err)
				}
				if last := lines[want-1]; want == 3 && (string(last.text) != "after" || last.number != 3) {
					t.Errorf("the line after it is %q, number %d", last.text, last.number)
				}
			})
		}
	}
}

// C126: the memory is bounded by the limit, not by the line.
func TestC126LongLineIsNotHeldInMemory(t *testing.T) {
	const max, size = 1 << 20, 64 << 20
	in := io.MultiReader(
		io.LimitReader(repeating('x'), size), strings.NewReader("\n"),
		io.LimitReader(repeating('y'), max), strings.NewReader("\nlast\n"))
	r := newLineReader(in, readBuffer, max)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	lines, err := allLines(r)
	runtime.ReadMemStats(&after)
	if err != nil || len(lines) != 3 || lines[0].err == nil || lines[1].err != nil || string(lines[2].text) != "last" {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	// Each line's room doubles up to max: twice max in all.
	if used := after.TotalAlloc - before.TotalAlloc; used > 2*(2*max)+max {
		t.Errorf("allocated %d bytes for a line of %d with a limit of %d", used, size, max)
	}
}

// repeating is an endless reader of one byte.
type repeating byte

func (b repeating) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(b)
	}
	return len(p), nil
}

func TestLimitSmallerThanThePrefixShowsNoMoreThanTheLimit(t *testing.T) {
	lines, err := allLines(newLineReader(strings.NewReader("12345\n1234\n"), 16, 4))
	if err != nil || len(lines) != 2 {
		t.Fatal(lines, err)
	}
	if lines[0].err == nil || string(lines[0].text) != "1234" || lines[1].err != nil {
		t.Errorf("got %q %v, %q %v", lines[0].text, lines[0].err, lines[1].text, lines[1].err)
	}
}

func TestPrefixOfALongLineEndsBetweenCharacters(t *testing.T) {
	for cut := range 5 {
		in := strings.Repeat("a", prefixLimit-cut) + strings.Repeat("€😀", 2000)
		lines, err := allLines(newLineReader(strings.NewReader(in), 64, 2000))
		if err != nil || len(lines) != 1 {
			t.Fatal(err)
		}
		if p := lines[0].text; bytes.ContainsRune([]byte(strings.ToValidUTF8(string(p), "�")), '�') || len(p) < prefixLimit-3 {
			t.Errorf("cut %d: the prefix ends in %q", cut, p[len(p)-8:])
		}
	}
}

// C135: no byte of a line is changed, whatever the buffer.
func TestC135BytesOfEveryLineArePreserved(t *testing.T) {
	want := []string{
		"é€😀é€😀é€😀é€😀", "\xff", "\xc0\xaf", "a\xe2\x82", "\ufffd", "x\xf0\x9f\x98", "\xef\xbb\xbfbom", "plain", "\xe2\x82",
	}
	eachReading(t, strings.Join(want, "\n"), 1000, func(t *testing.T, r *lineReader) {
		lines, err := allLines(r)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range lines {
			got = append(got, string(l.text))
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// C136: a run of NULs is one malformed line, and hides none after it.
func TestC136RunOfNULsCountsAsOneMalformedLine(t *testing.T) {
	good := "good"
	tests := []struct {
		name, in string
		want     []string // "NULs" for a run
	}{
		{"before a line", strings.Repeat("\x00", 1<<20) + "good\nnext\n", []string{"NULs", good, "next"}},
		{"one", "\x00good\n", []string{"NULs", good}},
		{"a line of its own", "good\n\x00\x00\x00\ngood\n", []string{good, "NULs", good}},
		{"a line of its own, CRLF", "good\r\n\x00\x00\x00\r\ngood\r\n", []string{good, "NULs", good}},
		{"CR that ends nothing", "\x00\x00\rgood\n", []string{"NULs", "\rgood"}},
		{"at the end", "good\n" + strings.Repeat("\x00", 100_000), []string{good, "NULs"}},
		{"longer than the limit", strings.Repeat("\x00", 5<<20) + "\ngood", []string{"NULs", good}},
		{"twice", "\x00\n\x00\n", []string{"NULs", "NULs"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, buffer := range []int{16, 4096} {
				lines, err := allLines(newLineReader(strings.NewReader(tt.in), buffer, 1<<20))
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for i, l := range lines {
					if l.number != i+1 {
						t.Errorf("line %d has number %d", i+1, l.number)
					}
					switch {
					case l.err != nil && strings.Contains(l.err.Error(), "NUL bytes") && len(l.text) <= prefixLimit:
						got = append(got, "NULs")
					default:
						got = append(got, string(l.text))
					}
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			}
		})
	}
}

func TestFailureWithinALineKeepsThePartAndThenFails(t *testing.T) {
	broken := errors.New("broken")
	in := io.MultiReader(strings.NewReader("one\ntwo\nthr"), iotest.ErrReader(broken))
	lines, err := allLines(newLineReader(in, 16, 100))
	if !errors.Is(err, broken) || len(lines) != 3 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	if l := lines[2]; string(l.text) != "thr" || !errors.Is(l.err, broken) {
		t.Errorf("the last line is %q, %v", l.text, l.err)
	}
}

func TestEndIsAskedForOnce(t *testing.T) {
	// A terminal gives more after an end, so a second read would wait.
	for _, in := range []string{"", "a", "a\n", "\x00"} {
		ends := 0
		r := newLineReader(readerFunc(func(p []byte) (int, error) {
			if in != "" {
				n := copy(p, in)
				in = in[n:]
				return n, nil
			}
			ends++
			return 0, io.EOF
		}), 16, 100)
		if _, err := allLines(r); err != nil || ends != 1 {
			t.Errorf("%d reads at the end, %v", ends, err)
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
