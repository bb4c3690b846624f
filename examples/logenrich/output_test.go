package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestOutputIsFlushedWhenTheInputPausesAndAllIsWritten(t *testing.T) {
	line := []record{{json: []byte("{}\n")}}
	var b bytes.Buffer
	step := func(what string, want int, err error) {
		t.Helper()
		if err != nil || b.Len() != want*3 {
			t.Errorf("after %s: %d bytes out, %v; want %d lines", what, b.Len(), err, want)
		}
	}
	o := newOutput(&b, "out")
	step("pause with nothing read", 0, o.pause(0))
	o.resume()
	step("one line while input goes on", 0, o.write(context.Background(), line))
	step("pause, one of one written", 1, o.pause(1))
	o.resume()
	step("pause, one of three written", 1, o.pause(3))
	step("the second of three", 1, o.write(context.Background(), line))
	step("the third of three", 3, o.write(context.Background(), line))
	o.resume()
	step("a fourth", 3, o.write(context.Background(), line))
	step("flush", 4, o.flush())
}

func TestOutputIsFlushedWhenLinesHaveWaitedLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		o := newOutput(&b, "out")
		line := []record{{json: []byte("{}\n")}}
		time.Sleep(flushAfter)
		o.write(context.Background(), line)
		if b.Len() != 0 {
			t.Errorf("flushed after %v", flushAfter)
		}
		time.Sleep(time.Nanosecond)
		o.write(context.Background(), line)
		if b.Len() != 6 {
			t.Errorf("%d bytes out after more than %v", b.Len(), flushAfter)
		}
	})
}

// failingWriter fails with an error after some bytes.
type failingWriter struct {
	left int
	err  error
}

func (w *failingWriter) Write(p []byte) (int, error) {
	if len(p) > w.left {
		return w.left, w.err
	}
	w.left -= len(p)
	return len(p), nil
}

func TestFailureToWriteEndsTheRunWithOneErrorAndAClosedPipeWithNone(t *testing.T) {
	for _, engine := range []string{"sluice", "loop", "rill"} {
		for _, left := range []int{0, 100, 200_000} {
			var stderr bytes.Buffer
			env := environment{
				stdin: strings.NewReader(logOf(3000)), stdout: &failingWriter{left, syscall.ENOSPC}, stderr: &stderr,
				cacheDir: func() (string, error) { return testCache, nil },
			}
			args := []string{"-in", "-", "-engine", engine}
			code := run(context.Background(), args, env)
			result{code, "", stderr.String()}.wantError(t, "write stdout: ", syscall.ENOSPC.Error())

			stderr.Reset()
			env.stdin, env.stdout = strings.NewReader(logOf(3000)), &failingWriter{left, syscall.EPIPE}
			if code := run(context.Background(), args, env); code != exitOK || stderr.Len() != 0 {
				t.Errorf("%s, closed after %d bytes: exit code %d, stderr %q", engine, left, code, &stderr)
			}
		}
	}
}

func TestFileAppearsWholeUnderItsNameOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out")
	read := func() string {
		data, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return "(none)"
		}
		return string(data)
	}
	begin := func() *outFile {
		t.Helper()
		f, err := createFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("new"); err != nil {
			t.Fatal(err)
		}
		return f
	}

	f := begin()
	if got := read(); got != "(none)" {
		t.Errorf("before commit: %s", got)
	}
	f.discard()
	wantOnly(t, dir)

	f = begin()
	if err := f.commit(); err != nil || read() != "new" {
		t.Errorf("after commit: %s, %v", read(), err)
	}
	wantOnly(t, dir, "out")

	if err := os.WriteFile(name, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o640); err != nil {
		t.Fatal(err)
	}
	first, second := begin(), begin() // two at once
	if read() != "old" {
		t.Errorf("before commit: %s", read())
	}
	first.discard()
	if read() != "old" {
		t.Errorf("after discard: %s", read())
	}
	if err := second.commit(); err != nil || read() != "new" {
		t.Errorf("after commit: %s, %v", read(), err)
	}
	info, err := os.Stat(name)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("permissions %v, %v", info.Mode(), err)
	}
	wantOnly(t, dir, "out")

	f = begin()
	removeUnfinished()
	wantOnly(t, dir, "out")
	f.discard()
}

func TestFileReplacesWhatALinkPointsTo(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, link := range [][2]string{{"real/out", "a"}, {"a", "b"}} {
		if err := os.Symlink(link[0], filepath.Join(dir, link[1])); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
	}
	for range 2 { // a link to nothing at first, then to a file
		if err := writeWhole(filepath.Join(dir, "b"), []byte("new")); err != nil {
			t.Fatal(err)
		}
		wantOnly(t, dir, "a", "b", "real")
		wantOnly(t, filepath.Join(dir, "real"), "out")
	}
	if to, err := os.Readlink(filepath.Join(dir, "b")); err != nil || to != "a" {
		t.Errorf("the link points to %q, %v", to, err)
	}
	if err := os.Symlink("loop", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	if err := writeWhole(filepath.Join(dir, "loop"), nil); err == nil {
		t.Error("a link to itself is written")
	}
}

func TestFileThatCannotBeMadeIsOneError(t *testing.T) {
	dir := t.TempDir()
	file := testFile(t, "file", nil)
	for _, name := range []string{dir, filepath.Join(dir, "no", "such", "folder"), filepath.Join(file, "x"), filepath.Join(dir, strings.Repeat("n", 300))} {
		r := call(nil, "-out", name).wantError(t, "write "+name)
		if strings.Contains(r.stderr, ".tmp") {
			t.Errorf("the error names a temporary file: %s", r.stderr)
		}
	}
	wantOnly(t, dir)
}
