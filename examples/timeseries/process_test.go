//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// watchdog ends a child that hangs; no test waits for it otherwise.
const watchdog = 60 * time.Second

// A child is the program in a process of its own, with its ends in hand.
type child struct {
	*exec.Cmd
	stdout   io.Closer
	out, err *bufio.Reader
}

// command makes a command that is the program.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

// start starts a command, which is killed if it has not ended in time.
func start(t *testing.T, cmd *exec.Cmd) child {
	t.Helper()
	out, err1 := cmd.StdoutPipe()
	stderr, err2 := cmd.StderrPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(watchdog, func() { cmd.Process.Kill() })
	t.Cleanup(func() { timer.Stop() })
	return child{cmd, out, bufio.NewReader(out), bufio.NewReader(stderr)}
}

// wantExit waits for the end, and returns what was left to be read.
func (c child) wantExit(t *testing.T, code int) (stdout, stderr string) {
	t.Helper()
	out, _ := io.ReadAll(c.out) // of a pipe that the test may have closed
	errs, err := io.ReadAll(c.err)
	if err != nil {
		t.Fatal(err)
	}
	c.Wait()
	if status, ok := c.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		t.Fatalf("ended by the signal %v", status.Signal())
	}
	if got := c.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, want %d; stderr:\n%s", got, code, errs)
	}
	return string(out), string(errs)
}

func readLine(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	s, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("no more lines after %q: %v", s, err)
	}
	return s
}

const stopNotice = "timeseries: stopping when the days that were begun are done; again to abort\n"

func TestProcessFinishesAtTheFirstInterrupt(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		chart := filepath.Join(t.TempDir(), "trend.svg")
		c := start(t, command(t, "-days", "36600", "-n", "3", "-rows", "10", "-chart", chart))
		readLine(t, c.out) // the head
		first := readLine(t, c.out)
		c.Process.Signal(sig)
		if s := readLine(t, c.err); s != stopNotice {
			t.Errorf("notice %q", s)
		}
		out, summary := c.wantExit(t, exitInterrupted)
		if rows := strings.Count(first+out, "\n"); !strings.HasPrefix(summary, "timeseries: "+plural(rows, "day")+", 0 missing, ") || !strings.HasSuffix(summary, ", interrupted\n") {
			t.Errorf("%d rows, summary %q", rows, summary)
		}
		if data, err := os.ReadFile(chart); err != nil || !bytes.HasSuffix(data, []byte("</svg>\n")) {
			t.Errorf("the chart: %v", err)
		}
	}
}

func TestProcessAbortsAtTheSecondInterrupt(t *testing.T) {
	dir := t.TempDir()
	asked := make(chan struct{}, maxDays)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		hang(w, r)
	}))
	defer srv.Close()
	c := start(t, command(t, "-url", srv.URL+"/{date}", "-idle", "1h", "-chart", filepath.Join(dir, "trend.svg")))
	<-asked
	c.Process.Signal(os.Interrupt)
	if s := readLine(t, c.err); s != stopNotice {
		t.Errorf("notice %q", s)
	}
	c.Process.Signal(os.Interrupt)
	if out, errs := c.wantExit(t, exitInterrupted); out != "" || errs != "timeseries: aborted\n" {
		t.Errorf("stdout %q, stderr %q", out, errs)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 0 {
		t.Errorf("the folder holds %v, error %v", list, err)
	}
}

// A pipe that nobody reads holds up the first interrupt, not the second.
func TestProcessAbortsAWriteThatHangs(t *testing.T) {
	c := start(t, command(t, "-days", "36600", "-rows", "1", "-n", "2"))
	if _, err := c.out.Peek(1); err != nil {
		t.Fatal(err)
	}
	c.Process.Signal(os.Interrupt)
	readLine(t, c.err)
	c.Process.Signal(os.Interrupt)
	io.Copy(io.Discard, c.err) // ends with the process, whose output is read only then
	c.wantExit(t, exitInterrupted)
}

func TestProcessEndsQuietlyWhenItsOutputIsClosed(t *testing.T) {
	c := start(t, command(t, "-days", "36600", "-rows", "1"))
	readLine(t, c.out)
	c.stdout.Close()
	if _, errs := c.wantExit(t, exitOK); errs != "" {
		t.Errorf("stderr %q", errs)
	}
}

// C141: the zone of the machine has no part in it, nor have its clock changes.
func TestC141OutputIsTheSameUnderEveryTZ(t *testing.T) {
	want := ""
	for _, tz := range []string{"UTC", "Africa/Cairo", "Pacific/Kiritimati"} {
		cmd := command(t, "-from", "2025-03-01", "-days", "100", "-rows", "20", "-q")
		cmd.Env = append(cmd.Env, "TZ="+tz)
		data, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = string(data)
		}
		if string(data) != want || strings.Count(want, "\n") != 101 {
			t.Errorf("TZ=%s:\n%s", tz, data)
		}
	}
}

func TestFullDiskIsOneError(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here: ", err)
	}
	defer full.Close()
	cmd := command(t, "-days", "3", "-rows", "10")
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = full, &stderr
	cmd.Run()
	result{cmd.ProcessState.ExitCode(), "", stderr.String()}.wantError(t, "write stdout: "+syscall.ENOSPC.Error())

	chart := filepath.Join(t.TempDir(), "full.svg")
	if err := os.Symlink("/dev/full", chart); err != nil {
		t.Fatal(err)
	}
	program{}.call("-days", "2", "-rows", "10", "-chart", chart).wantError(t, "write "+chart+": "+syscall.ENOSPC.Error())
}
