//go:build unix

package main

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
	"github.com/seed95b73fdc/sluice/examples/internal/programtest"
)

const stopNotice = "bank: stopping when the operations that were begun are done; again to abort\n"

// inGroup makes a command whose signals go to all its processes, as those of a terminal.
func inGroup(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := programtest.Command(t, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func signalGroup(t *testing.T, cmd *exec.Cmd, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(-cmd.Process.Pid, sig); err != nil {
		t.Error(err)
	}
}

// found is the number behind "found " in the last life of a report.
func found(report string) int {
	_, s, _ := strings.Cut(report, "found ")
	s, _, _ = strings.Cut(s, " ")
	n, _ := strconv.Atoi(strings.ReplaceAll(s, ",", ""))
	return n
}

// An interrupt ends the run before its time, with books that are right, and the next
// run goes on from there.
func TestInterruptLosesNothing(t *testing.T) {
	db := newDB(t)
	before := 0
	for _, tt := range []struct {
		sig syscall.Signal
		all bool // as Ctrl-C on a terminal, not as kill
	}{{syscall.SIGINT, true}, {syscall.SIGTERM, false}, {syscall.SIGINT, false}} {
		os.Remove(db + "-wal") // only there after a crash
		c := programtest.StartChild(t, inGroup(t, "-db", db, "-operations", "1000000", "-accounts", "50"))
		programtest.WaitFor(t, func() bool { // some commits
			info, err := os.Stat(db + "-wal")
			return err == nil && info.Size() > 200_000
		})
		if tt.all {
			signalGroup(t, c.Cmd, tt.sig)
		} else if err := c.Process.Signal(tt.sig); err != nil {
			t.Error(err)
		}
		if s := programtest.ReadLine(t, c.Err); s != stopNotice {
			t.Errorf("notice %q", s)
		}
		report, errs := programtest.Rest(t, c.Out), programtest.Rest(t, c.Err)
		if code := programtest.ExitCode(t, c.Cmd); code != program.Interrupted || errs != "" {
			t.Errorf("%v: exit code %d, stderr %q", tt.sig, code, errs)
		}
		if !strings.Contains(report, "each operation that was acknowledged is there once") || strings.Count(report, "life ") != 1 {
			t.Errorf("%v:\n%s", tt.sig, report)
		}
		if n := found(report); n != before {
			t.Errorf("%v: found %d operations, want %d", tt.sig, n, before)
		}
		after := int(ask(t, db, "SELECT count(*) FROM operations"))
		if after <= before || after == 1_000_000 {
			t.Errorf("%v: %d operations after %d", tt.sig, after, before)
		}
		before = after
	}
}

// The second interrupt does not wait for a bank that waits, here for its database.
func TestSecondInterruptAborts(t *testing.T) {
	db := newDB(t)
	s, err := openStore(t.Context(), smallConfig(t, "-db", db))
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	c := programtest.StartChild(t, inGroup(t, small("-db", db)...))
	pids := func() []string {
		list, err := exec.Command("pgrep", "-P", strconv.Itoa(c.Process.Pid)).Output()
		if err != nil {
			return nil
		}
		return strings.Fields(string(list))
	}
	if _, err := exec.LookPath("pgrep"); err != nil {
		t.Skip("no pgrep here, to see when the bank is there")
	}
	programtest.WaitFor(t, func() bool { return len(pids()) == 1 })
	signalGroup(t, c.Cmd, syscall.SIGINT)
	if s := programtest.ReadLine(t, c.Err); s != stopNotice {
		t.Errorf("notice %q", s)
	}
	signalGroup(t, c.Cmd, syscall.SIGINT)
	if s := programtest.Rest(t, c.Err); s != "bank: aborted\n" {
		t.Errorf("stderr %q", s)
	}
	if code := programtest.ExitCode(t, c.Cmd); code != program.Interrupted {
		t.Errorf("exit code %d", code)
	}
}

// If the process that looks after the bank is killed, the bank ends too, and frees the
// database.
func TestBankEndsWithItsKeeper(t *testing.T) {
	db := newDB(t)
	c := programtest.StartChild(t, programtest.Command(t, "-db", db, "-operations", "1000000"))
	programtest.WaitForFile(t, db+"-wal")
	c.Process.Kill()
	io.Copy(io.Discard, c.Out)
	c.Wait()
	cfg, err := parseFlags([]string{"-db", db, "-operations", "1000000"}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	programtest.WaitFor(t, func() bool {
		s, err := openStore(t.Context(), cfg)
		if err == nil {
			s.close()
		}
		return err == nil
	})
}
