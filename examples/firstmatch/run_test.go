package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

func TestExitCodesAndOutput(t *testing.T) {
	inTree(t, map[string]string{"a": "one\ntwo\n", "b": "  two words\r\n", "c/d": "TWO"})
	call("two").want(t, exitFound, "a:2:1:two\n")
	call("wo").want(t, exitFound, "a:2:2:two\n")
	call("words").want(t, exitFound, "b:1:7:  two words\n")
	call("three").want(t, exitNotFound, "")
	call("-count", "9", "-i", "two", ".").want(t, exitFound, "./a:2:1:two\n./b:1:3:  two words\n./c/d:1:1:TWO\n")
	call("-count", "2", "-i", "two", ".").want(t, exitFound, "./a:2:1:two\n./b:1:3:  two words\n")
	call("-e", "w.r").want(t, exitFound, "b:1:7:  two words\n")
	call("-e", "^two$").want(t, exitFound, "a:2:1:two\n")
	call("-e", "-i", "^TWO$", "c").want(t, exitFound, "c/d:1:1:TWO\n")
	call("w.r").want(t, exitNotFound, "")
	call("--", "-n").want(t, exitNotFound, "")
	call("two", "missing", "a").want(t, exitFound, "a:2:1:two\n")
	call("two", "b", "a0").wantError(t, "a0: stat: no such file")
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	inTree(t, map[string]string{"a": "x"})
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "no pattern"},
		{[]string{""}, "the pattern is empty"},
		{[]string{"-e", ""}, "the pattern is empty"},
		{[]string{"a\nb"}, "line break"},
		{[]string{"-e", "a("}, "missing closing )"},
		{[]string{"-e", "-i", "a)(b"}, "unexpected )"},
		{[]string{"-e", "\xff"}, "invalid UTF-8"},
		{[]string{strings.Repeat("x", maxPattern+1)}, fmt.Sprint(maxPattern)},
		{[]string{"-n", "0", "x"}, "invalid value 0 for flag -n"},
		{[]string{"-n", "1025", "x"}, "invalid value 1025 for flag -n"},
		{[]string{"-count", "0", "x"}, "invalid value 0 for flag -count"},
		{[]string{"-count", "-1", "x"}, "invalid value -1 for flag -count"},
		{[]string{"-order", "date", "x"}, `invalid value "date" for flag -order`},
		{[]string{"-max-size", "0", "x"}, `invalid value "0" for flag -max-size`},
		{[]string{"-max-size", "9999999999GiB", "x"}, `invalid value`},
		{[]string{"-max-size", "1kb", "x"}, `invalid value`},
		{[]string{"-wrong", "x"}, "-wrong"},
		{[]string{"x", ""}, "a path is empty"},
	} {
		r := call(tt.args...)
		if r.code != exitFailed || r.stdout != "" || !strings.Contains(r.stderr, tt.want) || !strings.Contains(r.stderr, "usage: ") {
			t.Errorf("%q: exit code %d, stdout %q, stderr %s", tt.args, r.code, r.stdout, r.stderr)
		}
	}
	if r := call("-h"); r.code != exitFound || !strings.Contains(r.stderr, "usage: ") {
		t.Errorf("%+v", r)
	}
}

func TestMaxSizePassesLargerFilesOver(t *testing.T) {
	inTree(t, map[string]string{"a": strings.Repeat("x", 2*kiB+1), "b": strings.Repeat("x", 2*kiB)})
	r := call("-stats", "-max-size", "2KiB", "x")
	if r.code != exitFound || !strings.HasPrefix(r.stdout, "b:1:1:") || !strings.Contains(r.stderr, "1 too large") {
		t.Errorf("%+v", r)
	}
	call("-max-size", "2047", "x").want(t, exitNotFound, "")
}

// A faulty system fails where it is told to.
type faulty struct {
	system
	mu    sync.Mutex
	fails map[string]error // of files that cannot be opened, and folders that cannot be read
	tried []string

	listed, held, most int // folders: read, open now, open at once
}

func (f *faulty) openFolder(parent *folder, name string) (*folder, error) {
	dir, err := f.system.openFolder(parent, name)
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.held++
		f.most = max(f.most, f.held)
	}
	return dir, err
}

func (f *faulty) closeFolder(dir *folder) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held--
	f.system.closeFolder(dir)
}

func (f *faulty) open(dir *folder, name string) (handle, info, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tried = append(f.tried, dir.join(name))
	if err := f.fails[dir.join(name)]; err != nil {
		return handle{}, info{}, &fs.PathError{Op: "open", Path: dir.join(name), Err: err}
	}
	return f.system.open(dir, name)
}

func (f *faulty) list(dir *folder) ([]entry, error) {
	f.mu.Lock()
	f.listed++
	f.mu.Unlock()
	if err := f.fails[dir.path]; err != nil {
		return nil, &fs.PathError{Op: "read", Path: dir.path, Err: err}
	}
	return f.system.list(dir)
}

// C131, and the order: an error counts where it stands.
func TestC131UnreadableBeforeTheMatchIsAnErrorAfterItMakesNoDifference(t *testing.T) {
	for name, sys := range systems {
		inTree(t, map[string]string{"a": "-", "b/c": "-", "d": "x", "e": "-", "f/g": "x", "h": "x"})
		for _, tt := range []struct {
			bad   string
			fails bool
		}{{"a", true}, {"b", true}, {"b/c", true}, {"d", true}, {"e", false}, {"f", false}, {"f/g", false}, {"h", false}} {
			for _, n := range []string{"1", "8"} {
				env := environment{sys: &faulty{system: sys, fails: map[string]error{tt.bad: fs.ErrPermission}}}
				r := callWith(env, "-n", n, "x")
				if !tt.fails {
					r.want(t, exitFound, "d:1:1:x\n")
					continue
				}
				r.wantError(t, "firstmatch: "+tt.bad+": ", fs.ErrPermission.Error())
				if r.stdout != "" {
					t.Errorf("%s, %s: stdout %q", name, tt.bad, r.stdout)
				}
			}
		}
	}
}

func TestC131SkipErrorsReportsEachAndGoesOn(t *testing.T) {
	inTree(t, map[string]string{"a": "-", "b/c": "-", "d": "x", "e": "-", "f/g": "x", "h": "x"})
	bad := map[string]error{"a": fs.ErrPermission, "b": fs.ErrPermission, "e": fs.ErrPermission, "f": fs.ErrPermission}
	env := environment{sys: &faulty{system: theSystem, fails: bad}}
	r := callWith(env, "-skip-errors", "x")
	const first = "firstmatch: a: open: permission denied\nfirstmatch: b: read: permission denied\n"
	if r.code != exitFound || r.stdout != "d:1:1:x\n" || r.stderr != first {
		t.Errorf("%+v", r)
	}
	r = callWith(env, "-skip-errors", "-count", "9", "x")
	const second = "firstmatch: e: open: permission denied\nfirstmatch: f: read: permission denied\n"
	if r.code != exitFound || r.stdout != "d:1:1:x\nh:1:1:x\n" || r.stderr != first+second {
		t.Errorf("%+v", r)
	}
	// Nothing found, but not everything read: that is not "not found".
	if r = callWith(env, "-skip-errors", "y"); r.code != exitFailed || r.stdout != "" || r.stderr != first+second {
		t.Errorf("%+v", r)
	}
	if r = callWith(env, "-skip-errors", "-order", "name", "x"); r.code != exitFound || r.stdout != "d:1:1:x\n" || !strings.Contains(r.stderr, "f: read") {
		t.Errorf("%+v", r)
	}
	r = callWith(env, "-order", "size", "x")
	r.wantError(t, "permission denied")
}

// What comes after a file that has the answer is not opened, but for what was in
// the window before that was known: with one search at a time, nothing.
func TestFilesAfterTheMatchAreNotOpened(t *testing.T) {
	files := map[string]string{"a": "x"}
	for i := range 200 {
		files[fmt.Sprintf("b%02d/%d", i/5, i%5)] = "x"
	}
	inTree(t, files)
	for _, fails := range []bool{false, true} {
		for _, n := range []int{1, 4, 16} {
			f := &faulty{system: theSystem}
			r := callWith(environment{sys: f}, "-n", fmt.Sprint(n), "x")
			if fails {
				f = &faulty{system: theSystem, fails: map[string]error{"a": fs.ErrPermission}}
				r = callWith(environment{sys: f}, "-n", fmt.Sprint(n), "x")
				r.wantError(t, "a: open")
			} else {
				r.want(t, exitFound, "a:1:1:x\n")
			}
			if len(f.tried) > n*windowPerCall || n == 1 && (len(f.tried) != 1 || f.listed != 1) {
				t.Errorf("-n %d: %d files opened, %d folders read", n, len(f.tried), f.listed)
			}
		}
	}
}

// A folder is open while the walk is in it, and until the last of its files is
// opened.
func TestFoldersAreNotHeldOpenLongerThanNeeded(t *testing.T) {
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprintf("a/b%02d/%d", i/2, i%2)] = "-"
	}
	inTree(t, files)
	for _, n := range []int{1, 4} {
		f := &faulty{system: theSystem}
		callWith(environment{sys: f}, "-n", fmt.Sprint(n), "x").want(t, exitNotFound, "")
		if f.held != 0 || f.most < 3 || f.most > 3+n*windowPerCall {
			t.Errorf("-n %d: %d folders open at once, %d at the end", n, f.most, f.held)
		}
	}
}

// C133: a file that is shorter than it was is no error, and no end of the search.
func TestFileThatShrinksIsSearchedAsFarAsItIsThere(t *testing.T) {
	for name, sys := range systems {
		inTree(t, map[string]string{"a": strings.Repeat("line\n", 100_000), "b": "x"})
		env := environment{sys: &shrinking{system: sys, name: "a", to: 200_001}}
		r := callWith(env, "x")
		if r.code != exitFound || r.stdout != "b:1:1:x\n" || !strings.HasPrefix(r.stderr, "firstmatch: a: became shorter") || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%s: %+v", name, r)
		}
		// The last line that is there ends where the file does: nothing is made up.
		env = environment{sys: &shrinking{system: sys, name: "a", to: 200_001}}
		os.WriteFile("a", []byte(strings.Repeat("line\n", 100_000)), 0o644)
		r = callWith(env, "-e", "^l$")
		if r.code != exitFound || r.stdout != "a:40001:1:l\n" {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// A shrinking system cuts a file off after it has been opened.
type shrinking struct {
	system
	name string
	to   int64
}

func (s *shrinking) open(dir *folder, name string) (handle, info, error) {
	h, in, err := s.system.open(dir, name)
	if name == s.name && err == nil {
		err = os.Truncate(dir.join(name), s.to)
	}
	return h, in, err
}

func TestFileThatGrowsIsSearchedToItsEnd(t *testing.T) {
	inTree(t, map[string]string{"a": strings.Repeat("line\n", 1000)})
	env := environment{sys: &shrinking{system: theSystem, name: "a", to: 600_000}}
	r := callWith(env, "-e", "-n", "1", "\x00")
	if r.code != exitFound || r.stdout != "a:1001:1:…\n" && !strings.HasPrefix(r.stdout, "a:1001:1:") {
		t.Errorf("%+.200v", r)
	}
}

func TestNamesThatWouldBreakTheLineAreQuoted(t *testing.T) {
	for path, want := range map[string]string{
		"plain": "plain", "sp ace": "sp ace", "": "", `b\s`: `b\s`, `q"q`: `q"q`, "\xff\xfe": "\xff\xfe", "é": "é",
		"new\nline": `"new\nline"`, `"q"`: `"\"q\""`, "t\tr\r\\": `"t\tr\r\\"`, "\x01\x7f": `"\001\177"`,
	} {
		if got := printable(path); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
}

func TestBinaryFilesAreNamedButNotShown(t *testing.T) {
	inTree(t, map[string]string{"a": "\x7fELF\x00\nneedle\nneedle", "b": "needle"})
	call("-count", "9", "needle").want(t, exitFound, "a:2:1:binary file matches\nb:1:1:needle\n")
}

func TestMoreMatchesInOneFileThanAreHeld(t *testing.T) {
	var data, want strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&data, "x %d\n-\n", i)
		fmt.Fprintf(&want, "a:%d:1:x %d\n", 2*i+1, i)
	}
	long := strings.Repeat("y", shownText)
	inTree(t, map[string]string{"a": data.String(), "b": strings.Repeat("x"+long+"\n", 30), "c": "x\n"})
	whole := want.String()
	for i := range 30 {
		whole += fmt.Sprintf("b:%d:1:x%s…\n", i+1, long[1:])
	}
	whole += "c:1:1:x\n"
	for _, n := range []string{"1", "3", "8"} {
		call("-n", n, "-count", "5000", "x").want(t, exitFound, whole)
		lines := strings.SplitAfter(whole, "\n")
		for _, count := range []int{1, heldMatches - 1, heldMatches, heldMatches + 1, 999, 1000, 1001, 1005, 1030} {
			call("-n", n, "-count", fmt.Sprint(count), "x").want(t, exitFound, strings.Join(lines[:count], ""))
		}
	}
}

func TestStandardInputIsSearchedAsItComes(t *testing.T) {
	env := environment{sys: theSystem, stdin: &drips{"one\ntwo\nthree"}}
	callWith(env, "three", "-").want(t, exitFound, "(standard input):3:1:three\n")
	env.stdin = io.MultiReader(strings.NewReader("x\n"), iotest.ErrReader(errors.New("broken")))
	callWith(env, "x", "-").want(t, exitFound, "(standard input):1:1:x\n")
	env.stdin = io.MultiReader(strings.NewReader("x\n"), iotest.ErrReader(errors.New("broken")))
	callWith(env, "y", "-").wantError(t, "(standard input): broken")
}

// A match on standard input is told while that is still open, each of them.
func TestMatchIsPrintedBeforeTheInputEnds(t *testing.T) {
	in, feed := io.Pipe()
	got, out := io.Pipe()
	done := make(chan result, 1)
	go func() {
		done <- callWith(environment{sys: theSystem, stdin: in, stdout: out}, "-count", "4", "x", "-")
		in.Close()
	}()
	for i := range 4 {
		go io.WriteString(feed, "-\nx\n")
		want := fmt.Sprintf("(standard input):%d:1:x\n", 2*i+2)
		if line := make([]byte, len(want)); must(io.ReadFull(got, line)) != len(want) || string(line) != want {
			t.Errorf("%q, want %q", line, want)
		}
	}
	if r := <-done; r.code != exitFound {
		t.Errorf("%+v", r)
	}
}

func TestClosedOutputEndsTheRunQuietly(t *testing.T) {
	inTree(t, map[string]string{"a": strings.Repeat("x\n", 100_000)})
	got, out := io.Pipe()
	got.Close()
	r := callWith(environment{sys: theSystem, stdout: out}, "-count", "100000", "x")
	r.want(t, exitFound, "")
}

func TestFailedOutputIsAnError(t *testing.T) {
	inTree(t, map[string]string{"a": strings.Repeat("x\n", 100_000)})
	r := callWith(environment{sys: theSystem, stdout: failing{}}, "-count", "100000", "x")
	r.wantError(t, "write the output: no room")
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestInterruptEndsTheRun(t *testing.T) {
	inTree(t, map[string]string{"a": "x"})
	ctx, cancel := context.WithCancelCause(context.Background())
	in, feed := io.Pipe()
	done := make(chan result, 1)
	go func() { done <- callContext(ctx, environment{sys: theSystem, stdin: in}, "x", "-", "a") }()
	io.WriteString(feed, "-\n")
	cancel(program.ErrAborted)
	written := make(chan struct{})
	go func() {
		defer close(written)
		io.WriteString(feed, "x\n") // it may have been waited for, or not
		feed.Close()
	}()
	r := <-done
	in.Close()
	<-written
	if r.code != exitInterrupted || r.stdout != "" || r.stderr != "" {
		t.Errorf("%+v", r)
	}
}

func TestTheOutputItselfIsNotSearched(t *testing.T) {
	inTree(t, map[string]string{"a": "x\n", "b": "x\n"})
	out := must(os.Create("a.out"))
	defer out.Close()
	r := callWith(environment{sys: theSystem, stdout: out}, "-count", "100", "-stats", "x")
	if data := string(must(os.ReadFile("a.out"))); data != "a:1:1:x\nb:1:1:x\n" || !strings.Contains(r.stderr, "1 the output") {
		t.Errorf("%q, %+v", data, r)
	}
}

func TestMemoryOfOneRunIsThatOfItsBuffers(t *testing.T) {
	s := newSearcher(must(compile("x", false, false)), newFolders(theSystem), new(counts))
	s.count = 1 << 40
	files := map[string]string{}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		files[fmt.Sprintf("%03d", i)] = strings.Repeat("x\n", r.IntN(300))
	}
	inTree(t, files)
	const n = 3
	f := &finder{cfg: config{paths: nil, n: n, order: orderPath, count: 1 << 40}, search: s, counts: s.counts}
	lines := 0
	if err := f.find(context.Background(), func(context.Context, hit) error { lines++; return nil }); err != nil || lines < 10_000 {
		t.Fatal(lines, err)
	}
	if made := len(s.free) + len(s.held); made > n*windowPerCall+1 {
		t.Errorf("%d buffers for -n %d", made, n)
	}
}
