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

	"golang.org/x/sys/unix"
)

// openTerminal returns the two ends of a new pseudo-terminal.
func openTerminal(t *testing.T) (near, far *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	near = os.NewFile(uintptr(fd), "ptmx")
	t.Cleanup(func() { near.Close() })
	n, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100})
	}
	if err == nil {
		far, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	return near, far
}

// readUntil reads what a terminal shows until that has the text.
func readUntil(t *testing.T, near io.Reader, text string) string {
	t.Helper()
	var shown []byte
	for buf := make([]byte, 4096); !strings.Contains(string(shown), text); {
		n, err := near.Read(buf)
		if err != nil {
			t.Fatalf("%v after %q", err, shown)
		}
		shown = append(shown, buf[:n]...)
	}
	return string(shown)
}

func rest(near io.Reader) string {
	data, _ := io.ReadAll(near) // Linux ends it with EIO
	return string(data)
}

// What the search waits for is a pipe, so that the progress is seen to be drawn
// before it goes on.
func TestProgressIsShownOnATerminalAndGoneAtTheEnd(t *testing.T) {
	inTree(t, map[string]string{"a": "-", "b": "x\n"})
	mkfifo(t, "fifo")
	for _, tt := range []struct{ flags, paths, shown string }{
		{"-order=given", "fifo a b", " files, 0 MB, 0 MB/s"}, // a spinner: who knows how many
		{"-order=name -count=2", "a b fifo", "%"},
	} {
		near, far := openTerminal(t)
		args := append(strings.Fields(tt.flags), "-stats", "x")
		cmd := child(t, append(args, strings.Fields(tt.paths)...)...)
		var stdout bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, far
		start(t, cmd)
		far.Close()
		w, err := os.OpenFile("fifo", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		readUntil(t, near, tt.shown)
		w.Close()
		shown := rest(near)
		if code := exitCode(t, cmd); code != exitFound || stdout.String() != "b:1:1:x\n" {
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
	near, far := openTerminal(t)
	cmd := child(t, "-q", "x", "a", "b")
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, far
	start(t, cmd)
	far.Close()
	w, err := os.OpenFile("a", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if shown := rest(near); shown != "" {
		t.Errorf("the terminal shows %q", shown)
	}
	if code := exitCode(t, cmd); code != exitFound {
		t.Errorf("exit code %d", code)
	}
}

// Matches go to the terminal that shows the bar: no line is broken by it.
func TestProgressLeavesMatchesOnTheSameTerminalWhole(t *testing.T) {
	inTree(t, map[string]string{"b": strings.Repeat("x\n", 200)})
	mkfifo(t, "a")
	near, far := openTerminal(t)
	cmd := child(t, "-count", "1000", "x", "a", "b")
	cmd.Stdout, cmd.Stderr = far, far
	start(t, cmd)
	far.Close()
	w, err := os.OpenFile("a", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	shown := readUntil(t, near, "MB/s")
	io.WriteString(w, "x\n")
	shown += readUntil(t, near, "a:1:1:x\r\n") + readUntil(t, near, "MB/s") // and drawn again
	w.Close()
	shown += rest(near)
	if code := exitCode(t, cmd); code != exitFound {
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
	cmd := child(t, "needle")
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
