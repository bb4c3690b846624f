package sink

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// recorder is a Writer that keeps the times and sizes of its writes, and fails
// with err from write failAt on.
type recorder struct {
	bytes.Buffer
	at     []time.Time
	sizes  []int
	failAt int
	err    error
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.err != nil && len(r.at)+1 >= r.failAt {
		return 0, r.err
	}
	r.at, r.sizes = append(r.at, time.Now()), append(r.sizes, len(b))
	return r.Buffer.Write(b)
}

func TestLinesAreWrittenInOrderInLargePieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 20_000
		items := make([]int, n)
		var want strings.Builder
		for i := range items {
			items[i] = i
			fmt.Fprintf(&want, "line %d\n", i)
		}
		w := &recorder{}
		lines := ordered.Map(stage.FromSlice(items), 4, func(_ context.Context, i int) (string, error) {
			return fmt.Sprint("line ", i), nil
		})
		ok(t, Lines(t.Context(), lines, w))
		if w.String() != want.String() {
			t.Error("not what was to be written")
		}
		if most := want.Len()/defaultBuffer + 1; len(w.at) > most {
			t.Errorf("%d writes of %d bytes, want %d at most", len(w.at), want.Len(), most)
		}
	})
}

// C29, C30, to the nanosecond: a line waits for FlushAfter, counted from the first one
// in the buffer, whatever comes after it, and also when the buffer was full meanwhile.
func TestP13NoLineWaitsLongerThanFlushAfter(t *testing.T) {
	const age = 10 * time.Millisecond
	for _, c := range []struct {
		gaps []time.Duration // before each line, in ms
		want []time.Duration // of the writes, in ms
	}{
		{gaps: []time.Duration{0, 4, 1000}, want: []time.Duration{10, 1005}},
		{gaps: []time.Duration{0, 4, 4, 4, 4, 4, 4}, want: []time.Duration{10, 22, 25}},
		{gaps: []time.Duration{0, 1, 1, 1, 1, 11, 3}, want: []time.Duration{3, 14, 19}}, // four are BufferSize
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			in := stage.Generate(func(_ context.Context, yield func(string) bool) error {
				for _, gap := range c.gaps {
					time.Sleep(gap * time.Millisecond)
					yield("a")
				}
				time.Sleep(time.Millisecond)
				return nil
			})
			w := &recorder{}
			ok(t, Lines(t.Context(), in, w, FlushAfter(age), BufferSize(8)))
			var at []time.Duration
			for _, when := range w.at {
				at = append(at, when.Sub(begun)/time.Millisecond)
			}
			if !slices.Equal(at, c.want) || w.String() != strings.Repeat("a\n", len(c.gaps)) {
				t.Errorf("gaps %d: written %v at %d, want %d: %q", c.gaps, w.sizes, at, c.want, w.String())
			}
		})
	}
}

// P5: when the run ends, the flush that is under way has ended too, and no timer
// is left.
func TestP5EndWaitsForTheFlushThatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		pr, pw := io.Pipe() // blocks in Write until it is read
		in := stage.Generate(func(ctx context.Context, yield func(string) bool) error {
			yield("a")
			<-ctx.Done()
			return ctx.Err()
		})
		ended := make(chan error, 1)
		go func() { ended <- Lines(ctx, in, pw, FlushAfter(time.Millisecond)) }()
		time.Sleep(time.Second)
		cancel()
		synctest.Wait()
		select {
		case err := <-ended:
			t.Fatalf("ended while a Write was under way: %v", err)
		default:
		}
		buf := make([]byte, 10)
		if n, err := pr.Read(buf); string(buf[:n]) != "a\n" || err != nil {
			t.Errorf("read %q, %v", buf[:n], err)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	})
}

// A reader that has gone away ends the run, and is no error, whoever notices it:
// the run in a write, or the flush while nothing comes.
func TestClosedPipeEndsTheRunQuietly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, gone := range []error{syscall.EPIPE, io.ErrClosedPipe} {
			for _, every := range []time.Duration{0, time.Hour} { // so long until the next line comes
				closed := false
				in := stage.Generate(func(ctx context.Context, yield func(int) bool) error {
					defer func() { closed = true }()
					for i := 0; yield(i); i++ {
						select {
						case <-ctx.Done():
							return nil
						case <-time.After(every):
						}
					}
					return nil
				})
				w := &recorder{failAt: 3, err: &os.PathError{Op: "write", Path: "|1", Err: gone}}
				lines := stage.Map(in, 1, func(_ context.Context, i int) (string, error) { return fmt.Sprint(i), nil })
				begun := time.Now()
				if err := Lines(t.Context(), lines, w, FlushAfter(time.Millisecond), BufferSize(1000)); err != nil || !closed {
					t.Errorf("every %v: %v; closed %v", every, err, closed)
				}
				if took := time.Since(begun); every > 0 && took != 2*every+time.Millisecond {
					t.Errorf("noticed after %v", took)
				}
			}
		}
	})
}

func TestErrorOfTheWriterIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, every := range []time.Duration{0, time.Hour} {
			in := stage.Generate(func(ctx context.Context, yield func(string) bool) error {
				for yield("x") {
					select {
					case <-ctx.Done():
						return nil
					case <-time.After(every):
					}
				}
				return nil
			})
			w := &recorder{failAt: 1, err: errDisk}
			if err := Lines(t.Context(), in, w); !errors.Is(err, errDisk) {
				t.Errorf("every %v: %v", every, err)
			}
		}
		short := writerFunc(func(b []byte) (int, error) { return len(b) - 1, nil })
		if err := Lines(t.Context(), stage.Of("x"), short); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("short write: %v", err)
		}
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestWhatComesBeforeAnErrorIsWritten(t *testing.T) {
	bad := errors.New("bad")
	in := stage.Concat(stage.Of("a", "b"), stage.Failed[string](bad), stage.Of("c"))
	var w bytes.Buffer
	if err := Lines(t.Context(), in, &w); !errors.Is(err, bad) || w.String() != "a\nb\n" {
		t.Errorf("%q, %v", w.String(), err)
	}
	w.Reset()
	err := JSONL(t.Context(), stage.Of(1, 2, math.NaN(), 4), &w)
	if err == nil || !strings.Contains(err.Error(), "sink.JSONL: value 2") || w.String() != "1\n2\n" {
		t.Errorf("%q, %v", w.String(), err)
	}
}

// Values that come without errors between them, and then an error, by the other way.
func TestValuesThatComeAloneAreWrittenToo(t *testing.T) {
	bad := errors.New("bad")
	for _, end := range []error{nil, bad} {
		var want strings.Builder
		var values []string
		for i := range 3*chunkRoom + 1 {
			values = append(values, fmt.Sprint(i))
			fmt.Fprintln(&want, i)
		}
		r := &aloneReader{values: values, end: end}
		var w bytes.Buffer
		err := Lines(t.Context(), stage.New(func(*stage.Scope) stage.Reader[string] { return r }), &w)
		if err != end && !errors.Is(err, bad) || w.String() != want.String() || len(r.values) > 0 {
			t.Errorf("%d bytes of %d, %d values left, %v, want %v", w.Len(), want.Len(), len(r.values), err, end)
		}
	}
}

// aloneReader gives all values by NextValues, and their end by Next.
type aloneReader struct {
	values []string
	end    error
}

func (r *aloneReader) NextValues(dst []string) int {
	k := copy(dst, r.values)
	r.values = r.values[k:]
	return k
}

func (r *aloneReader) Next(dst []stage.Try[string]) int {
	if r.end == nil || len(r.values) > 0 {
		return 0
	}
	dst[0] = stage.Try[string]{Error: r.end}
	r.end = nil
	return 1
}

func (r *aloneReader) Close() {}

// What had been taken when the run was cancelled is written; what is lost is in
// the writer's reader, or was never taken.
func TestCancelledRunWritesWhatItHasTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("stop")
		in := stage.Generate(func(_ context.Context, yield func(string) bool) error {
			yield("a")
			yield("b")
			time.Sleep(time.Millisecond)
			cancel(stop)
			return nil
		})
		w := &recorder{}
		if err := Lines(ctx, in, w, FlushAfter(time.Hour)); !errors.Is(err, stop) || w.String() != "a\nb\n" {
			t.Errorf("%q, %v", w.String(), err)
		}
	})
}

func TestCSVAndJSONLComeBackAsTheyWere(t *testing.T) {
	records := [][]string{{"a", "b"}, {`say "hi"`, "x,y"}, {"", "two\nlines"}, {" lead", "\t"}, {"é", "\\."}, {""}}
	var w bytes.Buffer
	ok(t, CSV(t.Context(), stage.FromSlice(records), &w, Comma(';'), Header("k", "v")))
	r := csv.NewReader(&w)
	r.Comma, r.FieldsPerRecord = ';', -1
	got := must[[][]string](t)(r.ReadAll())
	if want := append([][]string{{"k", "v"}}, records...); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("%q", got)
	}
	w.Reset()
	ok(t, JSONL(t.Context(), stage.FromSlice(records), &w))
	dec := json.NewDecoder(&w)
	for _, want := range records {
		var got []string
		ok(t, dec.Decode(&got))
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if err := CSV(t.Context(), stage.Of([]string{"a"}, []string{}), io.Discard); err == nil || !strings.Contains(err.Error(), "record 1") {
		t.Errorf("no fields: %v", err)
	}
	w.Reset()
	ok(t, CSV(t.Context(), stage.Of[[]string](), &w, Header("k", "v")))
	ok(t, JSONL(t.Context(), stage.Of("<&>"), &w))
	if w.String() != "k,v\n\"<&>\"\n" {
		t.Errorf("%q", w.String())
	}
}

func TestSinksAreEndsOfOneRun(t *testing.T) {
	var lines, js, table bytes.Buffer
	l := must[*Log[int64]](t)(Create[int64](memPath, withSystem(newMemory())))
	branches := stage.Tee(stage.Of[int64](1, 2, 3), 4)
	text := stage.Map(branches[0], 1, func(_ context.Context, v int64) (string, error) { return fmt.Sprint(v), nil })
	row := stage.Map(branches[2], 1, func(_ context.Context, v int64) ([]string, error) { return []string{"n", fmt.Sprint(v)}, nil })
	ok(t, stage.Run(t.Context(), LinesTo(text, &lines), JSONLTo(branches[1], &js), CSVTo(row, &table), WriteTo(branches[3], l)))
	if lines.String() != "1\n2\n3\n" || js.String() != lines.String() || table.String() != "n,1\nn,2\nn,3\n" || l.Len() != 3 {
		t.Errorf("%q %q %q %d", lines.String(), js.String(), table.String(), l.Len())
	}
	ok(t, l.Close())
}

// A broken sink ends the others of its run.
func TestFailedSinkEndsTheRun(t *testing.T) {
	in := stage.Generate(func(_ context.Context, yield func(string) bool) error {
		for yield("x") {
		}
		return nil
	})
	b := stage.Tee(in, 2)
	w := &recorder{failAt: 1, err: errDisk}
	if err := stage.Run(t.Context(), LinesTo(b[0], w), LinesTo(b[1], io.Discard)); !errors.Is(err, errDisk) {
		t.Error(err)
	}
}

// P10
func TestP10LinesAllocateNothingPerLine(t *testing.T) {
	if raceEnabled {
		t.Skip("skipped: the race detector allocates")
	}
	line := []byte("a line of some length")
	run := func(n int) float64 {
		items := make([][]byte, n)
		for i := range items {
			items[i] = line
		}
		in := stage.FromSlice(items)
		return testing.AllocsPerRun(5, func() { ok(t, Lines(t.Context(), in, io.Discard)) })
	}
	if few, many := run(1_000), run(21_000); many-few > 20 {
		t.Errorf("%v allocations for 20,000 lines", many-few)
	}
}

// The number is that of the value in the stream, whether or not there is a header.
func TestCSVNamesTheRecordThatHasNoFields(t *testing.T) {
	in := stage.Of([]string{"a"}, []string{})
	for name, opts := range map[string][]TextOption{"plain": nil, "header": {Header("h")}} {
		if err := CSV(t.Context(), in, io.Discard, opts...); err == nil || !strings.Contains(err.Error(), "record 1 has no fields") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
