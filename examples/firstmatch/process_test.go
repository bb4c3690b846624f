//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/seed95b73fdc/sluice/examples/internal/programtest"
)

// process runs a child to its end.
func process(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	code, stdout, stderr := programtest.Run(t, cmd)
	return result{code, stdout, stderr}
}

func TestProcessExitCodes(t *testing.T) {
	inTree(t, map[string]string{"a": "x\n"})
	process(t, programtest.Command(t, "x")).want(t, exitFound, "a:1:1:x\n")
	process(t, programtest.Command(t, "y")).want(t, exitNotFound, "")
	process(t, programtest.Command(t, "x", "0")).wantError(t, "0: stat: no such file")
	if r := process(t, programtest.Command(t, "-n", "0", "x")); r.code != exitFailed {
		t.Errorf("%+v", r)
	}
	cmd := programtest.Command(t, "x", "-")
	cmd.Stdin = strings.NewReader("-\nx")
	process(t, cmd).want(t, exitFound, "(standard input):2:1:x\n")
}

func mkfifo(t *testing.T, path string) {
	t.Helper()
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Skip("no FIFOs here: ", err)
	}
}

// C129: what is no regular file is passed over in a tree, and counted.
func TestC129SpecialFilesDoNotBlockTheWalk(t *testing.T) {
	for name, sys := range systems {
		inTree(t, map[string]string{"z": "x"})
		mkfifo(t, "fifo")
		if err := os.Symlink("fifo", "link"); err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("unix", "socket")
		if err != nil {
			t.Skip("no sockets here: ", err)
		}
		defer l.Close()
		r := callWith(environment{sys: sys}, "-stats", "x")
		if r.code != exitFound || r.stdout != "z:1:1:x\n" || !strings.Contains(r.stderr, "passed over: 1 links, 2 special") {
			t.Errorf("%s: %+v", name, r)
		}
		for _, order := range []string{"name", "mtime", "size"} {
			callWith(environment{sys: sys}, "-order", order, "x").want(t, exitFound, "z:1:1:x\n")
		}
		call("x", "socket").wantError(t, "socket: ")
		call("x", os.DevNull, "z").want(t, exitFound, "z:1:1:x\n")
	}
}

// C129: but one that is given is read, as a stream.
func TestC129FIFOThatIsGivenIsRead(t *testing.T) {
	inTree(t, map[string]string{"z": "x"})
	mkfifo(t, "fifo")
	for _, path := range []string{"fifo", "./fifo"} {
		cmd := programtest.Command(t, "-count", "2", "x", path, "z")
		var stdout bytes.Buffer
		cmd.Stdout = &stdout
		programtest.Start(t, cmd)
		w, err := os.OpenFile("fifo", os.O_WRONLY, 0) // waits for the child to open it
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, "-\nx in the fifo\n")
		w.Close()
		if code := programtest.ExitCode(t, cmd); code != exitFound || stdout.String() != path+":2:1:x in the fifo\nz:1:1:x\n" {
			t.Errorf("exit code %d, %s", code, &stdout)
		}
	}
}

// An endless device that is given ends with its match, and with a signal.
func TestEndlessDevice(t *testing.T) {
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip("no /dev/zero here: ", err)
	}
	process(t, programtest.Command(t, "x", "/dev/null", "/dev/null")).want(t, exitNotFound, "")
	process(t, programtest.Command(t, "-e", `\x00\x00`, "/dev/zero")).want(t, exitFound, "/dev/zero:1:1:binary file matches\n")
	for _, expr := range []string{"-e=false", "-e"} {
		cmd := programtest.Command(t, expr, "-stats", "needle", "/dev/zero")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		programtest.Start(t, cmd)
		programtest.WaitFor(t, func() bool { return readsFrom(cmd.Process.Pid, "/dev/zero") })
		cmd.Process.Signal(os.Interrupt)
		if code := programtest.ExitCode(t, cmd); code != exitInterrupted {
			t.Errorf("exit code %d, stderr %s", code, &stderr)
		}
	}
}

// readsFrom reports whether a process has the file open; true where that cannot
// be told.
func readsFrom(pid int, file string) bool {
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(fds) == 0 {
		_, err := os.Stat("/proc/self/fd")
		return err != nil
	}
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && target == file {
			return true
		}
	}
	return false
}

func TestInterruptEndsWaiting(t *testing.T) {
	inTree(t, nil)
	mkfifo(t, "fifo")
	keep, err := os.OpenFile("fifo", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer keep.Close()
	mkfifo(t, "nobody") // to open it is to wait for a writer
	stdin, feed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	defer feed.Close()
	for _, paths := range [][]string{{"-"}, {"-", "fifo"}, {"-", "nobody"}} {
		for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
			if sig == syscall.SIGHUP && signal.Ignored(sig) {
				t.Logf("%v is ignored here, as under nohup, and so it is in what is started from here: left out", sig)
				continue
			}
			io.WriteString(feed, "-")
			cmd := programtest.Command(t, append([]string{"x"}, paths...)...)
			cmd.Stdin = stdin
			programtest.Start(t, cmd)
			// What reads its input is ready for signals.
			programtest.WaitFor(t, func() bool {
				n, err := unix.Poll([]unix.PollFd{{Fd: int32(stdin.Fd()), Events: unix.POLLIN}}, 0)
				return err == nil && n == 0
			})
			cmd.Process.Signal(sig)
			if code := programtest.ExitCode(t, cmd); code != exitInterrupted {
				t.Errorf("%s, %v: exit code %d", paths, sig, code)
			}
		}
	}
}

func TestHeadTakesOneLine(t *testing.T) {
	sh, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	inTree(t, map[string]string{"a": strings.Repeat("x\n", 100_000)})
	cmd := programtest.Command(t)
	cmd.Args = []string{"bash", "-c", `set -o pipefail; "$0" -count 100000 x a | head -n 1`, cmd.Path}
	cmd.Path = sh
	process(t, cmd).want(t, exitFound, "a:1:1:x\n")
}

func TestFullDiskIsAnError(t *testing.T) {
	full := programtest.FullDevice(t)
	inTree(t, map[string]string{"a": "x"})
	cmd := programtest.Command(t, "x")
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = full, &stderr
	programtest.Start(t, cmd)
	result{programtest.ExitCode(t, cmd), "", stderr.String()}.wantError(t, "write the output", syscall.ENOSPC.Error())
}

// C131, with real permissions.
func TestC131FilesWithoutPermission(t *testing.T) {
	inTree(t, map[string]string{"a": "-", "b": "x", "c": "x", "d/e": "x", "f": "x"})
	for name, mode := range map[string]os.FileMode{"c": 0, "d": 0} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod("d", 0o755) })
	as := func(args ...string) *exec.Cmd {
		cmd := programtest.Command(t, args...)
		if os.Getuid() == 0 {
			// Root may read all; the child is to be somebody else, who needs a
			// program and a folder that he can get at.
			dir, err := os.Getwd()
			if err != nil {
				t.Fatal(err)
			}
			for d := dir; len(d) > len(os.TempDir()); d = filepath.Dir(d) {
				os.Chmod(d, 0o755)
			}
			const nobody = 65534
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
			exe := filepath.Join(filepath.Dir(dir), "program")
			if err := copyFile(exe, cmd.Path); err != nil {
				t.Fatal(err)
			}
			cmd.Path = exe
		}
		return cmd
	}
	process(t, as("x")).want(t, exitFound, "b:1:1:x\n")
	process(t, as("x", "c")).wantError(t, "firstmatch: c: open: permission denied")
	process(t, as("x", "d")).wantError(t, "firstmatch: d: open: permission denied")
	r := process(t, as("-count", "9", "x"))
	if r.stdout != "b:1:1:x\n" {
		t.Errorf("%+v", r)
	}
	r.wantError(t, "firstmatch: c: open: permission denied")
	r = process(t, as("-skip-errors", "-count", "9", "x"))
	if r.code != exitFound || r.stdout != "b:1:1:x\nf:1:1:x\n" || strings.Count(r.stderr, "permission denied") != 2 {
		t.Errorf("%+v", r)
	}
}

func copyFile(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// C131: names and paths at the limits of the system.
func TestC131DeepAndLongPaths(t *testing.T) {
	inTree(t, map[string]string{"z": "x"})
	name := strings.Repeat("d", 200)
	const depth = 30 // more than a path may have
	root := must(os.Getwd())
	for range depth {
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chdir(name); err != nil {
			t.Fatal(err)
		}
	}
	err := os.WriteFile("f", []byte("x"), 0o644)
	os.Chdir(root)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Repeat(name+"/", depth) + "f:1:1:x\n"
	if r := callWith(environment{sys: theSystem}, "x"); theSystem != system(plainSystem{}) {
		r.want(t, exitFound, want)
	}
	// Package os cannot get there: that is an error of the folder, in its place.
	callWith(environment{sys: plainSystem{}}, "x").wantError(t, syscall.ENAMETOOLONG.Error())
	if r := callWith(environment{sys: plainSystem{}}, "-skip-errors", "x"); r.code != exitFound || r.stdout != "z:1:1:x\n" {
		t.Errorf("%+v", r)
	}
	call("x", strings.Repeat("n", 300)).wantError(t, syscall.ENAMETOOLONG.Error())
}

func TestNamesOfAnyBytes(t *testing.T) {
	inTree(t, nil)
	for _, name := range []string{"a\nb", "c\xff\xfe", "-n", "\x1b[31m"} {
		if err := os.WriteFile(name, []byte("x"), 0o644); err != nil {
			t.Skip("such names cannot be here: ", err)
		}
	}
	const want = "\"\\033[31m\":1:1:x\n-n:1:1:x\n\"a\\nb\":1:1:x\nc\xff\xfe:1:1:x\n"
	call("-count", "9", "x").want(t, exitFound, want)
	call("x", "a\nb").want(t, exitFound, "\"a\\nb\":1:1:x\n")
	call("x", "no\nsuch").wantError(t, `"no\nsuch": stat`)
}

// A file that has been replaced between the reading of its folder and its
// opening.
func TestFileReplacedBeforeItIsOpened(t *testing.T) {
	for name, sys := range systems {
		inTree(t, map[string]string{"a": "x", "b": "x", "c": "x", "d": "x"})
		w := &replacing{system: sys, with: map[string]func(){
			"a": func() { os.Remove("a"); os.Symlink("b", "a") },
			"b": func() { os.Remove("b"); mkfifo(t, "b") },
			"c": func() { os.Remove("c"); os.Mkdir("c", 0o755) },
		}}
		callWith(environment{sys: w}, "-n", "1", "x").want(t, exitFound, "d:1:1:x\n")
		inTree(t, map[string]string{"a": "x", "b": "x"})
		w.with = map[string]func(){"a": func() { os.Remove("a") }}
		callWith(environment{sys: w}, "-n", "1", "x").wantError(t, "firstmatch: a: ", "no such file")
		if t.Failed() {
			t.Log(name)
		}
	}
}

type replacing struct {
	system
	with map[string]func()
}

func (r *replacing) open(dir *folder, name string) (handle, info, error) {
	if f := r.with[name]; f != nil {
		f()
	}
	return r.system.open(dir, name)
}
