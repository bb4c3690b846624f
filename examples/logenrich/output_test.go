package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
	"github.com/seed95b73fdc/sluice/examples/internal/programtest"
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
			if code := run(context.Background(), args, env); code != program.OK || stderr.Len() != 0 {
				t.Errorf("%s, closed after %d bytes: exit code %d, stderr %q", engine, left, code, &stderr)
			}
		}
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
	programtest.WantOnly(t, dir)
}
