//go:build unix

package main

import (
	"bytes"
	"database/sql/driver"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"modernc.org/sqlite"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
	"github.com/seed95b73fdc/sluice/examples/internal/programtest"
)

// child makes a command that is the program. The caller sets what it needs.
func child(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := programtest.Command(t, args...)
	cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+testCache, "HOME="+testCache)
	return cmd
}

func startTalk(t *testing.T, args ...string) programtest.Child {
	t.Helper()
	return programtest.StartChild(t, child(t, args...))
}

const stopNotice = "logenrich: stopping"

func TestFirstInterruptFinishesWhatWasReadThoughTheInputNeverEnds(t *testing.T) {
	for _, engine := range []string{"sluice", "loop", "rill"} {
		for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
			c := startTalk(t, "-in", "-", "-engine", engine)
			io.WriteString(c.In, logOf(3)+"a line that has no end ye")
			for range 3 {
				programtest.ReadLine(t, c.Out) // each comes out, though the input pauses
			}
			c.Process.Signal(sig)
			if s := programtest.ReadLine(t, c.Err); !strings.HasPrefix(s, stopNotice) {
				t.Errorf("notice %q", s)
			}
			if s := programtest.Rest(t, c.Out); s != "" {
				t.Errorf("output %q of a line that was not read", s)
			}
			summary := programtest.Rest(t, c.Err)
			if code := programtest.ExitCode(t, c.Cmd); code != program.Interrupted {
				t.Errorf("%s: exit code %d after %v", engine, code, sig)
			}
			if !strings.HasPrefix(summary, "logenrich: 3 lines, ") || !strings.HasSuffix(summary, " lines/s, interrupted\n") {
				t.Errorf("summary %q", summary)
			}
		}
	}
}

// hold is an SQL function, in the child too: it makes the file of its first
// argument and waits for the one of its second.
func init() {
	sqlite.MustRegisterFunction("hold", &sqlite.FunctionImpl{
		NArgs: 2,
		Scalar: func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			begun, release := args[0].(string), args[1].(string)
			if err := os.WriteFile(begun, nil, 0o600); err != nil {
				return nil, err
			}
			return nil, programtest.Poll(func() bool { _, err := os.Stat(release); return err == nil })
		},
	})
}

// heldDatabase is one whose lookups make the file begun and then wait for the
// file release.
func heldDatabase(t *testing.T) (name, begun, release string) {
	dir := t.TempDir()
	begun, release = filepath.Join(dir, "begun"), filepath.Join(dir, "release")
	return slowDatabase(t, fmt.Sprintf("hold('%s', '%s')", begun, release)), begun, release
}

// endlessDatabase is one whose lookups make the file begun and then go on until
// SQLite is interrupted.
func endlessDatabase(t *testing.T) (name, begun string) {
	begun = filepath.Join(t.TempDir(), "begun")
	return slowDatabase(t, fmt.Sprintf(`hold('%s', '%s'),
		(WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c)`, begun, begun)), begun
}

func slowDatabase(t *testing.T, columns string) string {
	t.Helper()
	return testDatabase(t, "slow.db", `CREATE TABLE t(key TEXT PRIMARY KEY);
		INSERT INTO t VALUES ('192.0.2.0'), ('192.0.2.1'), ('192.0.2.2');
		CREATE VIEW clients AS SELECT key, `+columns+` FROM t`)
}

func TestFirstInterruptFinishesTheOutFileToo(t *testing.T) {
	const lines = 300
	for _, engine := range []string{"sluice", "loop", "rill"} {
		dir := t.TempDir()
		out := filepath.Join(dir, "out")
		db, begun, release := heldDatabase(t)
		c := startTalk(t, "-in", "-", "-out", out, "-db", db, "-engine", engine, "-n", "2")
		io.WriteString(c.In, logOf(lines)) // they fit into one read
		programtest.WaitForFile(t, begun)
		c.Process.Signal(os.Interrupt)
		programtest.ReadLine(t, c.Err)
		if list := entries(t, dir); len(list) != 1 || list[0].Name() == "out" {
			t.Errorf("before the end the folder holds %v", list)
		}
		if err := os.WriteFile(release, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		summary := programtest.Rest(t, c.Err)
		if code := programtest.ExitCode(t, c.Cmd); code != program.Interrupted {
			t.Errorf("exit code %d, stderr %q", code, summary)
		}
		programtest.WantOnly(t, dir, "out")
		data, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		rows := (result{stdout: string(data)}).rows(t)
		if len(rows) < 1 || len(rows) > lines/2 || !strings.Contains(summary, fmt.Sprintf(" %d lines, ", len(rows))) {
			t.Errorf("%s: %d lines in the file of %d that lay ready, summary %q", engine, len(rows), lines, summary)
		}
	}
}

func TestSecondInterruptAborts(t *testing.T) {
	for _, engine := range []string{"sluice", "loop", "rill"} {
		dir := t.TempDir()
		db, begun := endlessDatabase(t)
		c := startTalk(t, "-in", "-", "-out", filepath.Join(dir, "out"), "-db", db, "-engine", engine)
		io.WriteString(c.In, logOf(100))
		programtest.WaitForFile(t, begun)
		c.Process.Signal(os.Interrupt)
		programtest.ReadLine(t, c.Err)
		c.Process.Signal(os.Interrupt)
		if s := programtest.Rest(t, c.Err); s != "logenrich: aborted\n" {
			t.Errorf("%s: stderr %q", engine, s)
		}
		if code := programtest.ExitCode(t, c.Cmd); code != program.Interrupted {
			t.Errorf("%s: exit code %d", engine, code)
		}
		programtest.WantOnly(t, dir)
	}
}

// A lookup that does not heed its context holds the program up, but not for long.
func TestSecondInterruptAbortsALookupThatHangs(t *testing.T) {
	dir := t.TempDir()
	db, begun, _ := heldDatabase(t)
	c := startTalk(t, "-in", "-", "-out", filepath.Join(dir, "out"), "-db", db)
	io.WriteString(c.In, logOf(1))
	programtest.WaitForFile(t, begun)
	c.Process.Signal(os.Interrupt)
	programtest.ReadLine(t, c.Err)
	c.Process.Signal(os.Interrupt)
	if code := programtest.ExitCode(t, c.Cmd); code != program.Interrupted {
		t.Errorf("exit code %d", code)
	}
	programtest.WantOnly(t, dir)
}

// So does a write to a pipe that nobody reads and nobody closes.
func TestSecondInterruptAbortsAWriteThatHangs(t *testing.T) {
	c := startTalk(t, "-in", "-")
	go io.WriteString(c.In, logOf(10_000)) // fails when the child has gone
	if _, err := c.Out.Peek(1); err != nil {
		t.Fatal(err)
	}
	c.Process.Signal(os.Interrupt)
	programtest.ReadLine(t, c.Err)
	c.Process.Signal(os.Interrupt)
	if code := programtest.ExitCode(t, c.Cmd); code != program.Interrupted {
		t.Errorf("exit code %d", code)
	}
}

func TestInterruptEndsWaitingForAFIFOThatNobodyWritesTo(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Skip("no FIFOs here: ", err)
	}
	c := startTalk(t, "-in", fifo, "-db", filepath.Join(t.TempDir(), "none"))
	if code := programtest.ExitCode(t, c.Cmd); code != program.Failed {
		t.Errorf("without a database: exit code %d", code)
	}
	dir := t.TempDir()
	c = startTalk(t, "-in", fifo, "-out", filepath.Join(dir, "out"))
	programtest.WaitFor(t, func() bool { return len(entries(t, dir)) == 1 })
	c.Process.Signal(os.Interrupt)
	if code := programtest.ExitCode(t, c.Cmd); code != program.Interrupted {
		t.Errorf("exit code %d", code)
	}

	c = startTalk(t, "-in", fifo, "-q")
	w, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.WriteString(logOf(2))
	w.Close()
	if s := programtest.Rest(t, c.Out); strings.Count(s, "\n") != 2 {
		t.Errorf("output %q", s)
	}
	if code := programtest.ExitCode(t, c.Cmd); code != program.OK {
		t.Errorf("exit code %d", code)
	}
}

func TestClosedOutputEndsTheRunQuietly(t *testing.T) {
	for _, engine := range []string{"sluice", "loop", "rill"} {
		c := startTalk(t, "-in", "-", "-engine", engine)
		io.WriteString(c.In, logOf(1))
		programtest.ReadLine(t, c.Out)
		c.Stdout.Close()
		io.WriteString(c.In, logOf(2)) // the input stays open: the program must end by itself
		if s := programtest.Rest(t, c.Err); s != "" {
			t.Errorf("%s: stderr %q", engine, s)
		}
		if code := programtest.ExitCode(t, c.Cmd); code != program.OK {
			t.Errorf("%s: exit code %d", engine, code)
		}
	}
}

// C141: the zone of the machine has no part in it.
func TestC141OutputIsTheSameUnderEveryTZ(t *testing.T) {
	log := testFile(t, "log", []byte(strings.ReplaceAll(logOf(1), "+0000", "-0330")+strings.ReplaceAll(logOf(1), " +0000", "")))
	for _, tz := range []string{"UTC", "America/Los_Angeles", "Asia/Kathmandu", "Pacific/Kiritimati"} {
		cmd := child(t, "-in", log, "-q")
		cmd.Env = append(cmd.Env, "TZ="+tz)
		data, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		rows := (result{stdout: string(data)}).rows(t)
		if rows[0].Time != "2024-03-04T11:30:00Z" || rows[1].Time != "2024-03-04T08:00:00Z" {
			t.Errorf("TZ=%s: %s, %s", tz, rows[0].Time, rows[1].Time)
		}
	}
}

func TestHeadTakesOneLine(t *testing.T) {
	sh, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	log := testFile(t, "log", []byte(logOf(20_000)))
	cmd := child(t)
	cmd.Args = []string{"bash", "-c", `set -o pipefail; "$0" -in "$1" | head -n 1`, cmd.Path, log}
	cmd.Path = sh
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	programtest.Start(t, cmd)
	if code := programtest.ExitCode(t, cmd); code != program.OK || strings.Count(stdout.String(), "\n") != 1 || stderr.Len() > 0 {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, &stdout, &stderr)
	}
}

func TestFullDiskIsOneErrorAndLeavesNoFile(t *testing.T) {
	full := programtest.FullDevice(t)
	for _, out := range []string{"stdout", "/dev/full"} {
		cmd := child(t)
		if out != "stdout" {
			cmd.Args = append(cmd.Args, "-out", out)
		}
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &stderr
		programtest.Start(t, cmd)
		result{programtest.ExitCode(t, cmd), "", stderr.String()}.wantError(t, "write "+out, syscall.ENOSPC.Error())
	}
}

func TestFullFileSystemIsOneErrorAndLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	mountSmall(t, dir)
	log := testFile(t, "log", []byte(logOf(20_000)))
	call(nil, "-in", log, "-out", filepath.Join(dir, "out")).wantError(t, "write "+filepath.Join(dir, "out"), syscall.ENOSPC.Error())
	programtest.WantOnly(t, dir)
	call(nil, "-in", log, "-make-db", filepath.Join(dir, "db")).want(t, program.OK)
}

func entries(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
