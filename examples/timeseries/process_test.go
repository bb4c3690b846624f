//go:build unix

package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
	"github.com/seed95b73fdc/sluice/examples/internal/programtest"
)

func start(t *testing.T, args ...string) programtest.Child {
	t.Helper()
	return programtest.StartChild(t, programtest.Command(t, args...))
}

// wantExit waits for the end, and returns what was left to be read.
func wantExit(t *testing.T, c programtest.Child, code int) (stdout, stderr string) {
	t.Helper()
	out, _ := io.ReadAll(c.Out) // of a pipe that the test may have closed
	errs := programtest.Rest(t, c.Err)
	if got := programtest.ExitCode(t, c.Cmd); got != code {
		t.Errorf("exit code %d, want %d; stderr:\n%s", got, code, errs)
	}
	return string(out), errs
}

const stopNotice = "timeseries: stopping when the days that were begun are done; again to abort\n"

func TestProcessFinishesAtTheFirstInterrupt(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		chart := filepath.Join(t.TempDir(), "trend.svg")
		c := start(t, "-days", "36600", "-n", "3", "-rows", "10", "-chart", chart)
		programtest.ReadLine(t, c.Out) // the head
		first := programtest.ReadLine(t, c.Out)
		c.Process.Signal(sig)
		if s := programtest.ReadLine(t, c.Err); s != stopNotice {
			t.Errorf("notice %q", s)
		}
		out, summary := wantExit(t, c, program.Interrupted)
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
	c := start(t, "-url", srv.URL+"/{date}", "-idle", "1h", "-chart", filepath.Join(dir, "trend.svg"))
	<-asked
	c.Process.Signal(os.Interrupt)
	if s := programtest.ReadLine(t, c.Err); s != stopNotice {
		t.Errorf("notice %q", s)
	}
	c.Process.Signal(os.Interrupt)
	if out, errs := wantExit(t, c, program.Interrupted); out != "" || errs != "timeseries: aborted\n" {
		t.Errorf("stdout %q, stderr %q", out, errs)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 0 {
		t.Errorf("the folder holds %v, error %v", list, err)
	}
}

// A pipe that nobody reads holds up the first interrupt, not the second.
func TestProcessAbortsAWriteThatHangs(t *testing.T) {
	c := start(t, "-days", "36600", "-rows", "1", "-n", "2")
	if _, err := c.Out.Peek(1); err != nil {
		t.Fatal(err)
	}
	c.Process.Signal(os.Interrupt)
	programtest.ReadLine(t, c.Err)
	c.Process.Signal(os.Interrupt)
	io.Copy(io.Discard, c.Err) // ends with the process, whose output is read only then
	wantExit(t, c, program.Interrupted)
}

func TestProcessEndsQuietlyWhenItsOutputIsClosed(t *testing.T) {
	c := start(t, "-days", "36600", "-rows", "1")
	programtest.ReadLine(t, c.Out)
	c.Stdout.Close()
	if _, errs := wantExit(t, c, program.OK); errs != "" {
		t.Errorf("stderr %q", errs)
	}
}

// C141: the zone of the machine has no part in it, nor have its clock changes.
func TestC141OutputIsTheSameUnderEveryTZ(t *testing.T) {
	want := ""
	for _, tz := range []string{"UTC", "Africa/Cairo", "Pacific/Kiritimati"} {
		cmd := programtest.Command(t, "-from", "2025-03-01", "-days", "100", "-rows", "20", "-q")
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
	full := programtest.FullDevice(t)
	cmd := programtest.Command(t, "-days", "3", "-rows", "10")
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = full, &stderr
	cmd.Run()
	result{cmd.ProcessState.ExitCode(), "", stderr.String()}.wantError(t, "write stdout: "+syscall.ENOSPC.Error())

	chart := filepath.Join(t.TempDir(), "full.svg")
	if err := os.Symlink("/dev/full", chart); err != nil {
		t.Fatal(err)
	}
	trial{}.call("-days", "2", "-rows", "10", "-chart", chart).wantError(t, "write "+chart+": "+syscall.ENOSPC.Error())
}
