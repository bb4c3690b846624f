package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/seed95b73fdc/sluice/examples/internal/programtest"
)

// What the search waits for is a pipe, so that the progress is seen to be drawn
// before it goes on.
func TestProgressIsShownOnATerminalAndGoneAtTheEnd(t *testing.T) {
	inTree(t, map[string]string{"a": "-", "b": "x\n"})
	mkfifo(t, "fifo")
	for _, tt := range []struct{ flags, paths, shown string }{
		{"-order=given", "fifo a b", " files, 0 MB, 0 MB/s"}, // a spinner: who knows how many
		{"-order=name -count=2", "a b fifo", "%"},
	} {
		near, far := programtest.OpenTerminal(t)
		args := append(strings.Fields(tt.flags), "-stats", "x")
		cmd := programtest.Command(t, append(args, strings.Fields(tt.paths)...)...)
		var stdout bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, far
		programtest.Start(t, cmd)
		far.Close()
		w, err := os.OpenFile("fifo", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		programtest.ReadUntil(t, near, tt.shown)
		w.Close()
		shown := programtest.RestOfTerminal(near)
		if code := programtest.ExitCode(t, cmd); code != exitFound || stdout.String() != "b:1:1:x\n" {
			t.Errorf("exit code %d, %q", code, &stdout)
		}
		last := shown[strings.LastIndexByte(strings.TrimRight(shown, "\r\n"), '\r')+1:]
		if last != "firstmatch: 3 files searched, 3 bytes, in 0 folders; 1 matches\r\n" {
			t.Errorf("at the end the terminal shows %q", shown)
		}
	}
}

func TestProgressIsNotShownWithQ(t *testing.T) {
	inTree(t, map[string]string{"b": "x\n"})
	mkfifo(t, "a")
	near, far := programtest.OpenTerminal(t)
	cmd := programtest.Command(t, "-q", "x", "a", "b")
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, far
	programtest.Start(t, cmd)
	far.Close()
	w, err := os.OpenFile("a", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if shown := programtest.RestOfTerminal(near); shown != "" {
		t.Errorf("the terminal shows %q", shown)
	}
	if code := programtest.ExitCode(t, cmd); code != exitFound {
		t.Errorf("exit code %d", code)
	}
}

// Matches go to the terminal that shows the bar: no line is broken by it.
func TestProgressLeavesMatchesOnTheSameTerminalWhole(t *testing.T) {
	inTree(t, map[string]string{"b": strings.Repeat("x\n", 200)})
	mkfifo(t, "a")
	near, far := programtest.OpenTerminal(t)
	cmd := programtest.Command(t, "-count", "1000", "x", "a", "b")
	cmd.Stdout, cmd.Stderr = far, far
	programtest.Start(t, cmd)
	far.Close()
	w, err := os.OpenFile("a", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	shown := programtest.ReadUntil(t, near, "MB/s")
	io.WriteString(w, "x\n")
	shown += programtest.ReadUntil(t, near, "a:1:1:x\r\n") + programtest.ReadUntil(t, near, "MB/s") // and drawn again
	w.Close()
	shown += programtest.RestOfTerminal(near)
	if code := programtest.ExitCode(t, cmd); code != exitFound {
		t.Errorf("exit code %d", code)
	}
	whole := 0
	for line := range strings.Lines(shown) {
		line = strings.TrimRight(line, "\r\n")
		// What stands before the last return to the start of the line is gone.
		if line = line[strings.LastIndexByte(line, '\r')+1:]; strings.HasSuffix(line, ":1:x") {
			whole++
		}
	}
	if whole != 201 {
		t.Errorf("%d whole lines on the terminal", whole)
	}
}

// A file is never held whole, nor is a line: the memory of the process is that of
// its buffers, however large the file.
func TestMemoryOfTheProcessIsSmallForLargeFiles(t *testing.T) {
	inTree(t, nil)
	const size, limit = 256 * miB, 128 * miB // the race detector takes its share
	for i := range 3 {
		f := must(os.Create(fmt.Sprint("large", i)))
		if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
			t.Skip("no large files here: ", err)
		}
	}
	if os.Getenv(longEnv) == "" {
		t.Log("one large file of three; all of them with " + longEnv + "=1")
		os.Remove("large1")
		os.Remove("large2")
	}
	cmd := programtest.Command(t, "needle")
	process(t, cmd).want(t, exitNotFound, "")
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		t.Skip("the memory of a process is not told here")
	}
	most := usage.Maxrss * kiB
	t.Logf("%d MiB at most", most/miB)
	if most > limit {
		t.Errorf("%d bytes", most)
	}
}
