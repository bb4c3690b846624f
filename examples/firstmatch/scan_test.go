package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/seed95b73fdc/sluice/examples/internal/programtest"
)

// scanAll runs a scan with a small buffer over src.
func scanAll(t *testing.T, p *pattern, src io.Reader, buf, show int) ([]match, error) {
	t.Helper()
	s := scan{buf: make([]byte, buf), show: show}
	s.reset(p, src, func() bool { return true })
	var all []match
	for {
		m, ok := s.next()
		if !ok {
			if _, again := s.next(); again {
				t.Fatal("a match after the end")
			}
			return all, s.err
		}
		m.text = append([]byte(nil), m.text...)
		all = append(all, m)
	}
}

func (m match) String() string {
	return fmt.Sprintf("%d:%d:%q binary=%v", m.line, m.column, m.text, m.binary)
}

func sameMatches(a, b []match) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// checkScan compares scans of all kinds of readers and buffers with the naive
// search.
func checkScan(t *testing.T, n naive, data string, bufs ...int) {
	t.Helper()
	p, err := compile(n.text, n.expr, n.fold)
	if err != nil {
		t.Fatal(err)
	}
	want := n.search([]byte(data), -1)
	for _, buf := range bufs {
		for name, src := range map[string]io.Reader{
			"at once":       strings.NewReader(data),
			"with its end":  iotest.DataErrReader(strings.NewReader(data)),
			"in drips":      &drips{data},
			"half the room": iotest.HalfReader(strings.NewReader(data)),
		} {
			got, err := scanAll(t, p, src, buf, n.show)
			if err != nil || !sameMatches(got, want) {
				t.Fatalf("%+v, buffer %d, read %s, in %.300q\ngot  %.600v, %v\nwant %.600v", n, buf, name, data, got, err, want)
			}
		}
	}
}

// C144: a match across the border of two reads is found once, at every offset.
func TestC144MatchAcrossTheBorderOfAChunkAtEachOffset(t *testing.T) {
	const show, buf = 8, 64
	for _, text := range []string{"needle", "n", "aa", "\xffx", "naïve"} {
		for at := range 2 * buf {
			data := strings.Repeat(".", at) + text + strings.Repeat("-", 3*buf-at)
			for _, fold := range []bool{false, true} {
				if fold && !strings.Contains(text, "n") {
					continue // the regular expression of naive knows no bytes
				}
				checkScan(t, naive{text: text, fold: fold, show: show}, data, buf, buf+1)
				checkScan(t, naive{text: text, fold: fold, show: show}, strings.ReplaceAll(data, ".", "\n"), buf)
			}
		}
	}
}

// Each line counts once, with its first match: so overlaps do not matter.
func TestC144OverlappingMatchesAreOneLine(t *testing.T) {
	checkScan(t, naive{text: "aa", show: 64}, "aaaa\naa aa\na\na\naaa", 256)
	got, _ := scanAll(t, must(compile("aa", false, false)), strings.NewReader("aaaa\naa aa\na\na\naaa"), 256, 64)
	if len(got) != 3 {
		t.Errorf("%v", got)
	}
}

// C144: an expression that matches nothing at all matches each line once.
func TestC144EmptyMatchIsOnePerLine(t *testing.T) {
	for data, lines := range map[string]int{"": 0, "\n": 1, "a": 1, "a\n": 1, "a\n\nb": 3, "\r\n\r\n": 2} {
		for _, text := range []string{"x*", "^", "$", "(x|)"} {
			n := naive{text: text, expr: true, show: 16}
			checkScan(t, n, data, 128)
			if got := n.search([]byte(data), -1); len(got) != lines {
				t.Errorf("%q in %q: %d lines", text, data, len(got))
			}
		}
	}
}

func TestReturnBeforeNewlineIsNoPartOfTheLine(t *testing.T) {
	for _, text := range []string{"end$", "^$", "d.?$", "\r", `\s$`} {
		checkScan(t, naive{text: text, expr: true, show: 16}, "the end\r\n\r\nend\r\r\nend\r", 96, 97, 98)
	}
	for _, text := range []string{"end", "d\r", "\r"} {
		checkScan(t, naive{text: text, show: 16}, "the end\r\n\r\nend\r\r\nend\r", 96)
	}
}

// C126: lines of any length, with and without an end.
func TestC126LongLinesAreSearchedAndShownInPart(t *testing.T) {
	const show, buf = 16, 100
	for _, length := range []int{show - 1, show, show + 1, show + 2, buf - 1, buf, buf + 1, buf + show, 5 * buf} {
		for _, at := range []int{0, show / 4, show/4 + 1, length / 2, length - 6} {
			if at < 0 || at+6 > length {
				continue
			}
			line := strings.Repeat("é", length)[:at] + "needle" + strings.Repeat("ü", length)[:length-at-6]
			for _, data := range []string{line, line + "\n", line + "\r\n", "before\n" + line + "\nafter, needle\n", line + "\n" + line} {
				checkScan(t, naive{text: "needle", show: show}, data, buf, buf+1)
				checkScan(t, naive{text: "nee(dle|.)", expr: true, show: show}, data, buf, buf+1)
				checkScan(t, naive{text: "[m-o]eedl(e)", expr: true, show: show}, data, buf)
				checkScan(t, naive{text: "NeEdLe", fold: true, show: show}, data, buf)
			}
		}
	}
}

// A match that is longer than what is kept is shown as the line begins.
func TestMatchLongerThanTheBufferIsShownAsTheLineBegins(t *testing.T) {
	line := "0123456789 <" + strings.Repeat("-", 1000) + "> rest"
	got, err := scanAll(t, must(compile("<.*>", true, false)), strings.NewReader("first\n"+line+"\nlast <>\n"), 64, 8)
	if err != nil || len(got) != 2 || got[0].String() != `2:12:"01234567…" binary=false` || got[1].line != 3 {
		t.Errorf("%v, %v", got, err)
	}
}

// C135: runes cut by the end of the buffer, and bytes that are none.
func TestC135RunesAcrossChunksAndInvalidBytesAreKept(t *testing.T) {
	text := "a é € 𝄞 \xff \xc0\xaf \xe2\x82 � x"
	for pad := range 70 {
		data := strings.Repeat("y", pad) + text + "\n" + text + "\n" + strings.Repeat("z", 70) + text
		for _, p := range []string{"€ 𝄞", "\xff", "\xaf", "�", "x"} {
			checkScan(t, naive{text: p, show: 16}, data, 64)
		}
		for _, p := range []string{"€.𝄞", "\ufffd", `\x{fffd} x`, "é [^a]"} {
			checkScan(t, naive{text: p, expr: true, show: 16}, data, 64)
		}
		checkScan(t, naive{text: "É € ", fold: true, show: 16}, data, 64)
	}
}

// C136: runs of NULs, as a power cut leaves them, hide nothing.
func TestC136NULsHideNothing(t *testing.T) {
	run := strings.Repeat("\x00", binaryHead)
	for _, data := range []string{"x\n" + run + "needle\n", run + "\nneedle\n", "needle\x00\nneedle", "needle\n\x00needle\n", strings.Repeat("y\n", binaryHead/2) + "\x00needle\nneedle"} {
		checkScan(t, naive{text: "needle", show: 16}, data, 128, 1000, 3*binaryHead)
		checkScan(t, naive{text: "n[e]edle", expr: true, show: 16}, data, 128, 1000, 3*binaryHead)
	}
}

func TestScanAgreesWithTheNaiveSearchOnRandomText(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	defer func() {
		if t.Failed() {
			t.Log("seed ", seed)
		}
	}()
	r := rand.New(rand.NewPCG(seed, 0))
	patterns := []naive{
		{text: "ab"}, {text: "a"}, {text: "abab"}, {text: "b\r"}, {text: "k\u212a"}, {text: "ks", fold: true}, {text: "bk", fold: true}, {text: "é", fold: true},
		{text: "aB", fold: true}, {text: "sß", fold: true}, {text: "\uFFFDa"},
		{text: "a+b", expr: true}, {text: "^(a|é)*$", expr: true}, {text: "b$", expr: true}, {text: "(?s)a.b", expr: true},
		{text: "[^a]b+", expr: true, fold: true}, {text: "ks?é", expr: true, fold: true}, {text: `\bab\b`, expr: true}, {text: "a.*b.*a", expr: true},
		{text: "(ab){2,}", expr: true}, {text: `a\nb`, expr: true}, {text: `\x{fffd}b`, expr: true},
	}
	alphabet := []string{"a", "b", "ab", "B", "\n", "\n", "\r\n", "\r", "é", "É", "ſ", "s", "ß", "\u212a", "k", "\xff", "�", "\x00"}
	found, none := 0, 0
	for range 300 {
		var b strings.Builder
		symbols := alphabet[:2+r.IntN(len(alphabet)-1)]
		for range r.IntN(400) {
			b.WriteString(symbols[r.IntN(len(symbols))])
		}
		data := b.String()
		n := patterns[r.IntN(len(patterns))]
		n.show = 4 + r.IntN(12)
		if n.expr {
			n.show += 24 // a match is no longer than what is kept of a line
		}
		buf := 2*n.show + 20 + r.IntN(100)
		if n.expr && strings.ContainsAny(n.text, "*+{") {
			buf += len(data) // what is shown of a match that is longer than the buffer depends on that
		}
		checkScan(t, n, data, buf)
		if n.search([]byte(data), -1) == nil {
			none++
		} else {
			found++
		}
	}
	if found < 30 || none < 30 {
		t.Errorf("%d texts with a match and %d without prove little", found, none)
	}
}

func TestErrorOfReadingComesAfterTheMatchesBeforeIt(t *testing.T) {
	broken := errors.New("broken")
	for _, expr := range []bool{false, true} {
		for _, src := range []io.Reader{
			io.MultiReader(strings.NewReader("x needle\nneedle"), iotest.ErrReader(broken)),
			iotest.DataErrReader(io.MultiReader(strings.NewReader("x needle\nneedle"), iotest.ErrReader(broken))),
		} {
			got, err := scanAll(t, must(compile("needle", expr, false)), src, 100, 16)
			if err != broken || len(got) != 2 {
				t.Errorf("%v, %v", got, err)
			}
		}
	}
}

func TestReaderThatNeverReadsAnythingIsAnError(t *testing.T) {
	_, err := scanAll(t, must(compile("x", false, false)), stuck{}, 100, 16)
	if err != io.ErrNoProgress {
		t.Error(err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestScanAllocatesNothingForAFileWithoutMatch(t *testing.T) {
	data := bytes.Repeat([]byte("no such thing in this line\n"), 10_000)
	for _, p := range []*pattern{must(compile("needle", false, false)), must(compile("needle", false, true)), must(compile("n[e]+dle", true, false))} {
		s := scan{buf: make([]byte, bufferSize), show: shownText}
		src, more := bytes.NewReader(data), func() bool { return true }
		allocs := testing.AllocsPerRun(10, func() {
			src.Reset(data)
			s.reset(p, src, more)
			if _, ok := s.next(); ok {
				t.Error("found")
			}
		})
		if allocs > 0 && !programtest.RaceDetector {
			t.Errorf("%v allocations", allocs)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
