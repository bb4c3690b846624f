package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/seed95b73fdc/sluice/examples/internal/programtest"
)

// zipped is data as one gzip member.
func zipped(t *testing.T, data string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(data)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// readAll reads an input to its end or its error.
func readAll(t *testing.T, name string, stdin io.Reader) (string, error) {
	t.Helper()
	in, err := openInput(name, stdin)
	if err != nil {
		t.Fatal(err)
	}
	defer in.close()
	data, err := io.ReadAll(in)
	return string(data), err
}

// C128: gzip is known by its contents, and all members are read.
func TestC128GzipIsRecognisedByContent(t *testing.T) {
	one, two := logOf(300), "the second member\n"
	plain := append([]byte(one), two...)
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"plain.log", plain, one + two},
		{"plain named.gz", plain, one + two},
		{"one.gz", zipped(t, one), one},
		{"no name", zipped(t, one), one},
		{"two members.gz", append(zipped(t, one), zipped(t, two)...), one + two},
		{"empty members.gz", slicesJoin(zipped(t, ""), zipped(t, one), zipped(t, ""), zipped(t, two), zipped(t, "")), one + two},
		{"padded.gz", append(zipped(t, one), make([]byte, 700)...), one},
		{"two members, padded.gz", slicesJoin(zipped(t, one), zipped(t, two), make([]byte, 700)), one + two},
		{"no newline.gz", zipped(t, "a\nb"), "a\nb"},
		{"empty", nil, ""},
		{"one byte of magic", gzipMagic[:1], string(gzipMagic[:1])},
		{"two bytes of magic", gzipMagic[:2], string(gzipMagic[:2])},
		{"almost magic", []byte("\x1f\x8b\x07text"), "\x1f\x8b\x07text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readAll(t, testFile(t, tt.name, tt.data), nil)
			if err != nil || got != tt.want {
				t.Errorf("from a file: %d bytes, %v; want %d", len(got), err, len(tt.want))
			}
			for _, wrap := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.DataErrReader} {
				got, err := readAll(t, stdio, wrap(bytes.NewReader(tt.data)))
				if err != nil || got != tt.want {
					t.Errorf("from stdin: %d bytes, %v; want %d", len(got), err, len(tt.want))
				}
			}
		})
	}
}

func slicesJoin(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// C128: what could be decoded before a fault comes out, then one error that names
// the file.
func TestC128DamagedGzipGivesItsLinesAndThenOneError(t *testing.T) {
	text := logOf(100)
	whole := zipped(t, text)
	const trailer = 8
	for cut := 1; cut <= 20; cut++ {
		t.Run(fmt.Sprintf("cut by %d", cut), func(t *testing.T) {
			name := testFile(t, "cut.gz", whole[:len(whole)-cut])
			r := call(nil, "-in", name).wantError(t, name, "cut short")
			rows := r.rows(t)
			if cut <= trailer && len(rows) != 100 {
				t.Errorf("%d lines of 100, though all their data is there", len(rows))
			}
			for i, row := range rows {
				if row.Malformed == "" && *row.Request != fmt.Sprintf("GET /%d HTTP/1.1", i) {
					t.Errorf("line %d is %q", i+1, *row.Request)
				}
				if row.Malformed != "" && (i != len(rows)-1 || !strings.HasPrefix(combinedLine(i), row.Raw)) {
					t.Errorf("line %d is malformed: %q", i+1, row.Raw)
				}
			}
		})
	}
	damaged := map[string][]byte{
		"junk behind":         append(bytes.Clone(whole), "sixteen bytes..."...),
		"zeros, then junk":    append(append(bytes.Clone(whole), 0, 0, 0), 'x'),
		"cut in second":       append(bytes.Clone(whole), whole[:12]...),
		"bad checksum":        append(bytes.Clone(whole[:len(whole)-trailer]), make([]byte, trailer)...),
		"second, no checksum": append(bytes.Clone(whole), zipped(t, "x\n")[:20]...),
	}
	for what, data := range damaged {
		t.Run(what, func(t *testing.T) {
			name := testFile(t, "damaged.gz", data)
			r := call(nil, "-in", name).wantError(t, name)
			if rows := r.rows(t); len(rows) < 100 || rows[99].Malformed != "" {
				t.Errorf("%d lines of 100", len(rows))
			}
		})
	}
	t.Run("only the magic", func(t *testing.T) {
		name := testFile(t, "magic.gz", gzipMagic)
		if r := call(nil, "-in", name).wantError(t, name); r.stdout != "" {
			t.Errorf("output %q", r.stdout)
		}
	})
}

func TestUnreadableInputIsOneErrorAndLeavesNoOutput(t *testing.T) {
	dir := t.TempDir()
	out := dir + "/out"
	for _, name := range []string{dir + "/missing", dir, "/proc/self/mem"} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(name); err != nil && name == "/proc/self/mem" {
				t.Skip("this system has no " + name)
			}
			call(nil, "-in", name, "-out", out).wantError(t, name)
			programtest.WantOnly(t, dir)
		})
	}
	r := call(iotest.ErrReader(errors.New("the cable is cut")), "-in", "-").wantError(t, "the cable is cut")
	if r.stdout != "" {
		t.Errorf("output %q", r.stdout)
	}
}
