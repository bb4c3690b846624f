// Package programtest runs the programs of the examples as processes of their own,
// for their tests, with their ends in hand, on a terminal too.
package programtest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// watchdog ends a child that hangs; no test waits for it otherwise.
const watchdog = 60 * time.Second

// asProgram is set in the environment of a child that is to be the program, not
// the tests.
const asProgram = "SLUICE_TEST_AS_PROGRAM"

// Main is called first in TestMain: in a child it is the program, and does not return.
func Main(program func()) {
	if os.Getenv(asProgram) != "" {
		program()
		panic("the program has returned instead of exiting")
	}
}

// Command makes a command that is the program. The caller sets what it needs.
func Command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

// Start starts a command, which is killed if it has not ended in time.
func Start(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(watchdog, func() { cmd.Process.Kill() })
	t.Cleanup(func() { timer.Stop() })
}

// ExitCode waits for a command and returns how it ended. A signal fails the test.
func ExitCode(t testing.TB, cmd *exec.Cmd) int {
	t.Helper()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		t.Fatalf("ended by the signal %v", status.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

// Run runs a command to its end.
func Run(t testing.TB, cmd *exec.Cmd) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	Start(t, cmd)
	code = ExitCode(t, cmd)
	return code, out.String(), errs.String()
}

// A Child is a process with its ends in hand.
type Child struct {
	*exec.Cmd
	In       io.WriteCloser
	Stdout   io.Closer // what Out reads
	Out, Err *bufio.Reader
}

// StartChild starts a command as a Child.
func StartChild(t testing.TB, cmd *exec.Cmd) Child {
	t.Helper()
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	stderr, err3 := cmd.StderrPipe()
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	Start(t, cmd)
	return Child{cmd, in, out, bufio.NewReader(out), bufio.NewReader(stderr)}
}

// ReadLine reads one line from r.
func ReadLine(t testing.TB, r *bufio.Reader) string {
	t.Helper()
	s, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("no more lines after %q: %v", s, err)
	}
	return s
}

// Rest reads r to its end.
func Rest(t testing.TB, r io.Reader) string {
	t.Helper()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Poll waits until something that another process does has come about.
func Poll(done func() bool) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(watchdog); !done(); <-tick.C {
		if time.Now().After(deadline) {
			return errors.New("what was waited for does not come about")
		}
	}
	return nil
}

// WaitFor is Poll in a test that fails if it does not come about.
func WaitFor(t testing.TB, done func() bool) {
	t.Helper()
	if err := Poll(done); err != nil {
		t.Fatal(err)
	}
}

// WaitForFile waits until there is a file of that name.
func WaitForFile(t testing.TB, name string) {
	t.Helper()
	WaitFor(t, func() bool { _, err := os.Stat(name); return err == nil })
}

// WantOneLine fails the test unless what a program has written to stderr is one line
// that has all of the words.
func WantOneLine(t testing.TB, stderr string, words ...string) {
	t.Helper()
	if strings.Count(stderr, "\n") != 1 || !strings.HasSuffix(stderr, "\n") {
		t.Errorf("stderr is not one line:\n%s", stderr)
	}
	for _, w := range words {
		if !strings.Contains(stderr, w) {
			t.Errorf("stderr has no %q:\n%s", w, stderr)
		}
	}
}

// FullDevice opens a device that takes nothing, as a disk that is full.
func FullDevice(t testing.TB) *os.File {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here: ", err)
	}
	t.Cleanup(func() { full.Close() })
	return full
}

// WantOnly fails the test unless the folder holds the names and nothing else.
func WantOnly(t testing.TB, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, e := range entries {
		have = append(have, e.Name())
	}
	if strings.Join(have, " ") != strings.Join(names, " ") {
		t.Errorf("the folder holds %q, want %q", have, names)
	}
}
