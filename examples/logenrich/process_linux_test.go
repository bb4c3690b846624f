package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
	"github.com/seed95b73fdc/sluice/examples/internal/programtest"
)

// mountSmall mounts a file system of 64 KiB.
func mountSmall(t *testing.T, dir string) {
	t.Helper()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("cannot mount a tmpfs, which needs root: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// terminalOutput is all that is written to a terminal until its other end closes.
func terminalOutput(near io.Reader) <-chan string {
	got := make(chan string, 1)
	go func() {
		got <- programtest.RestOfTerminal(near)
	}()
	return got
}

func TestProgressIsShownOnATerminalOnly(t *testing.T) {
	log := testFile(t, "log", []byte(logOf(300)))
	for _, tt := range []struct {
		args []string
		want bool
	}{
		{[]string{"-in", log, "-latency", "20ms"}, true},
		{[]string{"-in", log, "-latency", "20ms", "-q"}, false},
	} {
		near, far := programtest.OpenTerminal(t)
		got := terminalOutput(near)
		cmd := child(t, tt.args...)
		var stdout bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, far
		programtest.Start(t, cmd)
		far.Close()
		if code := programtest.ExitCode(t, cmd); code != program.OK {
			t.Errorf("exit code %d", code)
		}
		s := <-got
		if shown := strings.Contains(s, "lines/s") && strings.Contains(s, "%"); shown != tt.want {
			t.Errorf("%v: the terminal shows %q", tt.args, s)
		}
		if tt.want && !strings.HasSuffix(s, " lines/s\r\n") {
			t.Errorf("the summary is not the last: %q", s)
		}
		if strings.Count(stdout.String(), "\n") != 300 || strings.ContainsAny(stdout.String(), "\r%█") {
			t.Error("the output is not the 300 lines alone")
		}
	}
}

// The output goes to the terminal that shows the bar: no line of it is broken.
func TestProgressLeavesTheOutputOnTheSameTerminalWhole(t *testing.T) {
	near, far := programtest.OpenTerminal(t)
	got := terminalOutput(near)
	cmd := child(t, "-latency", "20ms")
	cmd.Stdout, cmd.Stderr = far, far
	programtest.Start(t, cmd)
	far.Close()
	if code := programtest.ExitCode(t, cmd); code != program.OK {
		t.Errorf("exit code %d", code)
	}
	var out strings.Builder
	for line := range strings.Lines(<-got) {
		line = strings.TrimRight(line, "\r\n")
		// What stands before the last return to the start of the line is gone.
		if line = line[strings.LastIndexByte(line, '\r')+1:]; strings.HasPrefix(line, "{") {
			out.WriteString(line + "\n")
		}
	}
	if rows := (result{stdout: out.String()}).rows(t); len(rows) != 200 {
		t.Errorf("%d whole lines on the terminal", len(rows))
	}
}

// A terminal as stdin: an interrupt reaches a program that waits for it, and the
// terminal is left as it was.
func TestInterruptEndsWaitingForATerminal(t *testing.T) {
	near, far := programtest.OpenTerminal(t)
	defer far.Close()
	before, err := unix.FcntlInt(far.Fd(), unix.F_GETFL, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := child(t, "-in", "-")
	cmd.Stdin = far
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	programtest.Start(t, cmd)
	io.WriteString(near, logOf(1))
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cmd.Process.Signal(os.Interrupt)
	io.ReadAll(out)
	if code := programtest.ExitCode(t, cmd); code != program.Interrupted {
		t.Errorf("exit code %d", code)
	}
	if after, err := unix.FcntlInt(far.Fd(), unix.F_GETFL, 0); err != nil || after != before {
		t.Errorf("the terminal's flags were %x and are %x, %v", before, after, err)
	}
}
