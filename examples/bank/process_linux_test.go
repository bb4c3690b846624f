package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
	"github.com/seed95b73fdc/sluice/examples/internal/programtest"
)

// The table is shown while the bank works, and gone at the end: what stays are the
// notices.
func TestTableIsShownOnATerminalAndGoneAtTheEnd(t *testing.T) {
	near, far := programtest.OpenTerminal(t)
	cmd := programtest.Command(t, "-operations", "1000000", "-accounts", "50", "-clients", "32", "-owners", "4")
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, far
	programtest.Start(t, cmd)
	far.Close()
	shown := programtest.ReadUntil(t, near, ": 4 owners, epoch 1; ")
	for _, want := range []string{"life 1 of 2, process ", " of 1,000,000 operations, ", " % over two accounts; ", " operations a commit", "account   share  lane      balance", "lane  keys  depth   ops/s     wait"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the terminal has no %q", want)
		}
	}
	cmd.Process.Signal(os.Interrupt)
	shown = programtest.RestOfTerminal(near)
	if code := programtest.ExitCode(t, cmd); code != program.Interrupted || !strings.Contains(stdout.String(), "each operation that was acknowledged is there once") {
		t.Errorf("exit code %d, stdout %q", code, &stdout)
	}
	if last := shown[strings.LastIndex(shown, "\x1b[J")+len("\x1b[J"):]; strings.Contains(last, "lane") || strings.Contains(last, "█") {
		t.Errorf("at the end the terminal shows %q", last)
	}
}

func TestNothingIsShownOnATerminalWithQ(t *testing.T) {
	near, far := programtest.OpenTerminal(t)
	cmd := programtest.Command(t, small("-q")...)
	cmd.Stdout, cmd.Stderr = far, far
	programtest.Start(t, cmd)
	far.Close()
	if shown := programtest.RestOfTerminal(near); shown != "" {
		t.Errorf("the terminal shows %q", shown)
	}
	if code := programtest.ExitCode(t, cmd); code != program.OK {
		t.Errorf("exit code %d", code)
	}
}
