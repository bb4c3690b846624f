package stage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// linesOf is what Lines says that it does, in a few lines of its own.
func linesOf(data string, most int) (want []any) {
	for n := 1; len(data) > 0; n++ {
		line, rest, ended := strings.Cut(data, "\n")
		if ended {
			line = strings.TrimSuffix(line, "\r")
		}
		if len(line) <= most {
			want = append(want, line)
		} else {
			want = append(want, stage.LineTooLongError{Line: n, Length: int64(len(line)), Limit: most, Prefix: line[:min(64, len(line))]})
		}
		data = rest
	}
	return want
}

// source is a file of the tests: it gives its data in pieces, and counts.
type source struct {
	data  []byte
	piece func(room int) int // bytes of the next Read
	last  error              // comes after the data, io.EOF if nil
	with  bool               // last comes together with the last piece

	closed int
}

func (s *source) Read(p []byte) (n int, err error) {
	last := s.last
	if last == nil {
		last = io.EOF
	}
	if len(s.data) == 0 {
		return 0, last
	}
	n = len(p)
	if s.piece != nil {
		n = min(n, s.piece(len(p)))
	}
	n = copy(p[:n], s.data)
	s.data = s.data[n:]
	if s.with && len(s.data) == 0 {
		return n, last
	}
	return n, nil
}

func (s *source) Close() error { s.closed++; return nil }

func opens(r io.ReadCloser) func(context.Context) (io.ReadCloser, error) {
	return func(context.Context) (io.ReadCloser, error) { return r, nil }
}

// readLines runs Lines; overlong lines are given as values of their error.
func readLines(t testing.TB, src io.ReadCloser, opts ...stage.LineOption) []any {
	t.Helper()
	got, err := stage.Collect(t.Context(), whole(stage.Lines(opens(src), opts...)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if e, ok := got[i].(*stage.LineTooLongError); ok {
			got[i] = *e
		}
	}
	return got
}

func wantLines(t testing.TB, src *source, most int) {
	t.Helper()
	want := linesOf(string(src.data), most)
	got := readLines(t, src, stage.MaxLine(most))
	if !slices.Equal(got, want) {
		t.Fatalf("emits %q, want %q", got, want)
	}
	if src.closed != 1 {
		t.Fatalf("closed %d times", src.closed)
	}
}

func TestLinesOfEveryFormComeWholeHoweverTheyAreRead(t *testing.T) {
	texts := []string{
		"", "\n", "\r\n", "\r", "a", "a\n", "a\r\n", "a\r", "a\r\r\n", "\n\n", "\n\na", "a\n\nb\n", "a\r\nb\r\nc",
		"\r\n\r\n", "a\rb\n", "\x00\n\x00\x00\na\x00", "\xff\xfe\n\xc0\xaf\n\xe4\xb8\n\ufffd\n", "é世🙂\n🙂é\r\n世", "ab\nabc\nabcd\nabcde\nabcdef\nx",
	}
	for _, text := range texts {
		for _, most := range []int{1, 2, 3, 4, 5, 1000, math.MaxInt} {
			for size := 1; size <= len(text)+1; size++ {
				for _, with := range []bool{false, true} {
					wantLines(t, &source{data: []byte(text), piece: func(int) int { return size }, with: with}, most)
				}
			}
		}
	}
}

func TestLinesDoNotDependOnWhereReadsEnd(t *testing.T) {
	// Every split into two of a text with an end of each kind at each place.
	text := "abc\r\nüü\n\r\n\x00\xff\r\r\n世界 a line that is longer than the others, and than the limit of sixty-four bytes\r\nx"
	for _, most := range []int{1, 7, 60, 86, 87, 88, 89, 1000} {
		for at := range len(text) + 1 {
			cut := at
			wantLines(t, &source{data: []byte(text), piece: func(room int) int {
				if cut > 0 {
					room, cut = cut, 0
				}
				return room
			}}, most)
		}
	}
}

func TestLinesAtTheEdgeOfTheBuffer(t *testing.T) {
	const buffer = 64 << 10
	for _, end := range []string{"\n", "\r\n"} {
		for d := -4; d <= 4; d++ {
			for _, k := range []int{1, 2, 4} {
				text := "first" + end + strings.Repeat("x", k*buffer+d-len("first"+end)) + end + "世界" + end + "last"
				wantLines(t, &source{data: []byte(text)}, math.MaxInt)
				wantLines(t, &source{data: []byte(text)}, k*buffer-len("first"+end))
			}
		}
	}
}

func TestLongLinesComeWholeAmongShortOnesC126(t *testing.T) {
	sizes := []int{65_534, 65_535, 65_536, 1 << 20, rounds(64 << 20)}
	for _, final := range []string{"", "\n"} {
		parts := []io.Reader{strings.NewReader("short\n")}
		want := []int{5}
		for i, size := range sizes {
			end := "\nbetween\n"
			if i == len(sizes)-1 {
				end = final
			}
			parts = append(parts, io.LimitReader(xs{}, int64(size)), strings.NewReader(end))
			want = append(want, size)
			if i < len(sizes)-1 {
				want = append(want, len("between"))
			}
		}
		var got []int
		for line, err := range stage.Lines(opens(io.NopCloser(io.MultiReader(parts...)))).Seq(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, len(line))
			if len(line) > 1000 && strings.Count(line, "x") != len(line) {
				t.Fatalf("the line of %d bytes has other bytes", len(line))
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("lengths %v, want %v", got, want)
		}
	}
}

// xs gives nothing but x, without an end.
type xs struct{}

var block = bytes.Repeat([]byte{'x'}, 64<<10)

func (xs) Read(p []byte) (int, error) { return copy(p, block), nil }

func TestOverlongLineIsAnErrorInItsPlaceAndTheStreamGoesOnC126(t *testing.T) {
	text := "one\n" + strings.Repeat("y", 100_000) + "\r\nthree\n" + strings.Repeat("z", 101) + "\n" + strings.Repeat("w", 100) + "\r\nsix"
	in := stage.Lines(opens(&source{data: []byte(text)}), stage.MaxLine(100))

	// A terminal that meets it returns it.
	_, err := stage.Collect(t.Context(), stage.Lines(opens(&source{data: []byte(text)}), stage.MaxLine(100)))
	var long *stage.LineTooLongError
	if !errors.As(err, &long) || long.Line != 2 || long.Length != 100_000 || long.Limit != 100 || long.Prefix != strings.Repeat("y", 64) {
		t.Fatal(err)
	}
	if want := `stage: line 2 is 100000 bytes long, more than 100: "yyy`; !strings.HasPrefix(err.Error(), want) {
		t.Fatalf("%q, want %q…", err, want)
	}

	// With Catch the lines after it come, and each is reported once.
	var reported []int
	in = stage.Catch(in, stage.Inline, func(_ context.Context, err error) error {
		if errors.As(err, &long) {
			reported = append(reported, long.Line)
			return nil
		}
		return err
	})
	got, err := stage.Collect(t.Context(), in)
	if want := []string{"one", "three", strings.Repeat("w", 100), "six"}; err != nil || !slices.Equal(got, want) {
		t.Fatal(got, err)
	}
	if !slices.Equal(reported, []int{2, 4}) {
		t.Fatal(reported)
	}
}

func TestOverlongLineTakesNoMemoryC126(t *testing.T) {
	const size = 256 << 20
	src := io.NopCloser(io.MultiReader(io.LimitReader(xs{}, size), strings.NewReader("\nnext")))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := readLines(t, src, stage.MaxLine(1<<20))
	runtime.ReadMemStats(&after)
	if len(got) != 2 || got[0].(stage.LineTooLongError).Length != size || got[1] != "next" {
		t.Fatal(got)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
		t.Fatalf("%d bytes have been allocated", grown)
	}
}

func TestLineTakesMemoryOfItsLengthAndNotOfTheLimitC126(t *testing.T) {
	src := &source{data: bytes.Repeat([]byte{'x'}, 100_000)}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := readLines(t, src)
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; len(got) != 1 || grown > 1<<20 {
		t.Fatalf("%d lines, %d bytes have been allocated", len(got), grown)
	}
}

func TestBytesOfALineAreLeftAsTheyAreC135C136(t *testing.T) {
	// Runes of every length at every place of a buffer's edge, bytes that are no
	// runes, and a run of NULs before a line.
	var text bytes.Buffer
	for i := range 200 {
		fmt.Fprintf(&text, "%s é世🙂 \xff \xc0\xaf \xe4\xb8 \ufffd %d\x00\n", strings.Repeat("-", i%7), i)
	}
	text.WriteString("a\x00b\n" + strings.Repeat("\x00", 1<<20) + "\nvalid\ntrailing\x00\ncut \xf0\x9f")
	for _, size := range []int{1 << 20, 4096, 37, 3} {
		wantLines(t, &source{data: text.Bytes(), piece: func(int) int { return size }}, math.MaxInt)
	}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	wantLines(t, &source{data: text.Bytes(), piece: func(int) int { return 1 + r.IntN(5000) }, with: true}, 1000)
	t.Log("seed", seed)
}

func TestReadingErrorComesAfterTheLinesBeforeIt(t *testing.T) {
	for _, with := range []bool{false, true} {
		for text, want := range map[string][]any{
			"":         {errA},
			"a\n":      {"a", errA},
			"a\nb":     {"a", "b", errA}, // what was read of a line is a line
			"a\nb\r":   {"a", "b\r", errA},
			"a\r\n\nc": {"a", "", "c", errA},
		} {
			src := &source{data: []byte(text), last: errA, with: with}
			if got := readLines(t, src); !slices.Equal(got, want) {
				t.Errorf("%q emits %q, want %q", text, got, want)
			}
			if src.closed != 1 {
				t.Errorf("closed %d times", src.closed)
			}
		}
	}
	// It is met by the terminal at its place, not before.
	seen := 0
	for _, err := range stage.Lines(opens(&source{data: []byte("a\nb\nc\n"), last: errA})).Seq(t.Context()) {
		if err == nil {
			seen++
		} else if err != errA || seen != 3 {
			t.Fatal(err, seen)
		}
	}
}

func TestOpenThatFailsIsTheOnlyItem(t *testing.T) {
	fails := stage.Lines(func(context.Context) (io.ReadCloser, error) { return nil, os.ErrNotExist })
	wantList(t, fails, os.ErrNotExist)
	wantList(t, fails, os.ErrNotExist)
	nothing := stage.Lines(func(context.Context) (io.ReadCloser, error) { return nil, nil })
	if got := list(t, nothing); len(got) != 1 || !strings.HasPrefix(fmt.Sprint(got[0]), "stage.Lines: ") {
		t.Fatal(got)
	}
}

// readFunc is a source that does as it likes.
type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }
func (f readFunc) Close() error               { return nil }

func TestReaderThatBreaksItsContractIsAnError(t *testing.T) {
	for name, read := range map[string]readFunc{
		"negative": func([]byte) (int, error) { return -1, nil },
		"too much": func(p []byte) (int, error) { return len(p) + 1, nil },
	} {
		if got := readLines(t, read); len(got) != 1 || !strings.HasPrefix(fmt.Sprint(got[0]), "stage.Lines: Read returned ") {
			t.Errorf("%s: %v", name, got)
		}
	}
	// Nothing, without an error, is allowed for a while.
	for _, empty := range []int{99, 100} {
		calls := 0
		got := readLines(t, readFunc(func(p []byte) (int, error) {
			if calls++; calls <= empty {
				return 0, nil
			}
			return copy(p, "line\n"), io.EOF
		}))
		want := []any{"line"}
		if empty == 100 {
			want = []any{io.ErrNoProgress}
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %d empty reads: %v", empty, got)
		}
	}
	p, _ := panicOf(func() { readLines(t, readFunc(func([]byte) (int, error) { panic(errA) })) }).(*stage.Panic)
	if p == nil || p.Stage != "lines#1" || p.Value != errA {
		t.Errorf("panics with %v", p)
	}
}

// closeFunc is a source whose Close does as it likes.
type closeFunc struct {
	io.Reader
	close func() error
}

func (c closeFunc) Close() error { return c.close() }

func TestPanicInCloseIsRaisedByTheTerminal(t *testing.T) {
	boom := func() error { panic(errA) }
	for name, run := range map[string]func(t *testing.T, in stage.Stream[string]) error{
		"at the end": func(t *testing.T, in stage.Stream[string]) error { return stage.Discard(t.Context(), in) },
		"early": func(t *testing.T, in stage.Stream[string]) error {
			return stage.Discard(t.Context(), stage.Take(in, 1))
		},
		"in the middle": func(t *testing.T, in stage.Stream[string]) error {
			return stage.Discard(t.Context(), stage.Concat(in, in))
		},
		"in a merge": func(t *testing.T, in stage.Stream[string]) error {
			return stage.Discard(t.Context(), stage.Merge(in, stage.Of("x")))
		},
		"cancelled": func(t *testing.T, in stage.Stream[string]) error {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			return stage.ForEach(ctx, stage.Map(in, 2, func(_ context.Context, s string) (string, error) { return s, nil }), 1,
				func(context.Context, string) error { cancel(); return nil })
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			in := stage.Lines(func(context.Context) (io.ReadCloser, error) {
				return closeFunc{strings.NewReader("a\nb\nc\n"), boom}, nil
			})
			p, _ := panicOf(func() { run(t, in) }).(*stage.Panic)
			if p == nil || !strings.HasPrefix(p.Stage, "lines#") || p.Value != errA {
				t.Errorf("%s: panics with %v", name, p)
			}
		})
	}
}

func TestLinesAreEmittedAsTheyCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		start := time.Now()
		go func() {
			for _, piece := range []string{"a\nb\nc", "d\n", "", "e", "f\r", "\n", "g"} {
				io.WriteString(w, piece)
				time.Sleep(time.Second)
			}
			w.Close()
		}()
		at := map[string]time.Duration{}
		for line, err := range stage.Lines(opens(r)).Seq(t.Context()) {
			if err != nil {
				t.Error(err)
			}
			at[line] = time.Since(start)
		}
		if want := (map[string]time.Duration{"a": 0, "b": 0, "cd": 1e9, "ef": 5e9, "g": 7e9}); fmt.Sprint(at) != fmt.Sprint(want) {
			t.Errorf("lines at %v, want %v", at, want)
		}
	})
}

func TestReadThatBlocksIsEndedByClose(t *testing.T) {
	ends := map[string]func(t *testing.T, in stage.Stream[string], blocked func(func())) error{
		"cancel": func(t *testing.T, in stage.Stream[string], blocked func(func())) error {
			ctx, cancel := context.WithCancelCause(t.Context())
			blocked(func() { cancel(errA) })
			return stage.Discard(ctx, in)
		},
		"error elsewhere": func(t *testing.T, in stage.Stream[string], blocked func(func())) error {
			fail := make(chan struct{})
			blocked(func() { close(fail) })
			return stage.Run(t.Context(), stage.To(in, 1, func(context.Context, string) error { return nil }),
				stage.To(stage.Of(1), 1, func(context.Context, int) error { <-fail; return errA }))
		},
		"until": func(t *testing.T, in stage.Stream[string], blocked func(func())) error {
			stop := make(chan struct{})
			blocked(func() { close(stop) })
			got, err := stage.Collect(t.Context(), stage.Until(in, stop))
			if !slices.Equal(got, []string{"line"}) || err != nil {
				t.Error(got, err)
			}
			return errA
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, w := io.Pipe()
				go io.WriteString(w, "line\nhalf a line")
				err := end(t, stage.Lines(opens(r)), func(now func()) {
					go func() { synctest.Wait(); now() }()
				})
				if err != errA {
					t.Error(err)
				}
				if _, err := io.WriteString(w, "x"); err != io.ErrClosedPipe {
					t.Error("the pipe is open:", err)
				}
			})
		})
	}
}

func TestReadOfAPipeOfTheSystemIsEndedByCancel(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	first := true
	src := struct {
		io.Reader
		io.Closer
	}{readFunc(func(p []byte) (int, error) {
		if first {
			first = false
			go cancel()
		}
		return r.Read(p)
	}), r}
	if err := stage.Discard(ctx, stage.Lines(opens(src))); err != context.Canceled {
		t.Fatal(err)
	}
	if _, err := r.Read(nil); !errors.Is(err, os.ErrClosed) {
		t.Fatal("the pipe is open:", err)
	}
}

func TestLinesOpensWhenAskedAndClosesOnceHoweverTheRunEnds(t *testing.T) {
	var mu sync.Mutex
	var opened []*source
	in := stage.Lines(func(ctx context.Context) (io.ReadCloser, error) {
		mu.Lock()
		defer mu.Unlock()
		src := &source{data: []byte("a\nb\nc\n"), piece: func(int) int { return 2 }}
		opened = append(opened, src)
		return src, ctx.Err()
	})
	wantList(t, stage.Take(in, 0))
	if len(opened) != 0 {
		t.Fatal("opened although no line was asked for")
	}
	for i, run := range []func() error{
		func() error { return stage.Discard(t.Context(), in) },
		func() error { return stage.Discard(t.Context(), stage.Take(in, 1)) },
		func() error { _, _, err := stage.First(t.Context(), in); return err },
		func() error { return stage.Discard(t.Context(), stage.Merge(in, in)) },
		func() error {
			return stage.ForEach(t.Context(), stage.Concat(stage.Take(in, 2), stage.Of("d")), 1, func(_ context.Context, line string) error {
				if line == "d" && opened[len(opened)-1].closed != 1 {
					t.Error("the next stream is read before this one is closed")
				}
				return nil
			})
		},
	} {
		if err := run(); err != nil {
			t.Fatal(i, err)
		}
		for _, src := range opened {
			if src.closed != 1 {
				t.Fatalf("run %d: closed %d times", i, src.closed)
			}
		}
	}
	if len(opened) != 6 {
		t.Fatal("opened", len(opened), "times")
	}
}

func TestBadArgumentOfLinesPanicsAtConstructionC05(t *testing.T) {
	for text, f := range map[string]func(){
		"stage.Lines: open is nil":                 func() { stage.Lines(nil) },
		"stage.Lines: option is nil":               func() { stage.Lines(opens(nil), nil) },
		"stage.MaxLine: n is 0, want at least 1":   func() { stage.MaxLine(0) },
		"stage.MaxLine: n is -10, want at least 1": func() { stage.MaxLine(-10) },
	} {
		if got := panicOf(f); got != text {
			t.Errorf("panics with %v, want %s", got, text)
		}
	}
}
