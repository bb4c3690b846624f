package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// all prints every line with an x, of every file, and returns the paths.
func all(t *testing.T, args ...string) []string {
	t.Helper()
	r := call(append([]string{"-count", "1000"}, args...)...)
	if r.code != exitFound || r.stderr != "" {
		t.Fatalf("%v: exit code %d, stderr %s", args, r.code, r.stderr)
	}
	var paths []string
	for line := range strings.Lines(r.stdout) {
		path, ok := strings.CutSuffix(line, ":1:1:x\n")
		if !ok {
			t.Fatalf("line %q", line)
		}
		paths = append(paths, filepath.ToSlash(path))
	}
	return paths
}

func wantPaths(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// orderTree has the names of which an order by whole paths would be another one.
func orderTree(t *testing.T) {
	inTree(t, map[string]string{
		"a/z": "x", "a/b/c": "x", "a.txt": "x", "a-b": "x", "B": "x", "a/b.d": "x", "é": "x", "c/z": "x\n\n", "empty/": "",
		".hidden": "x", "a/.h/f": "x",
	})
}

func TestPathOrderGoesNameByName(t *testing.T) {
	for name, sys := range systems {
		orderTree(t)
		r := callWith(environment{sys: sys}, "-count", "1000", "x")
		want := []string{"B", "a/b/c", "a/b.d", "a/z", "a-b", "a.txt", "c/z", "é"}
		if got := strings.ReplaceAll(filepath.ToSlash(r.stdout), ":1:1:x", ""); got != strings.Join(want, "\n")+"\n" {
			t.Errorf("%s: %s", name, r.stdout)
		}
	}
}

func TestHiddenFilesAreSearchedWhenAskedFor(t *testing.T) {
	orderTree(t)
	wantPaths(t, all(t, "-hidden", "x"), ".hidden", "B", "a/.h/f", "a/b/c", "a/b.d", "a/z", "a-b", "a.txt", "c/z", "é")
	wantPaths(t, all(t, "x", "a/.h", ".hidden"), ".hidden", "a/.h/f")
	wantPaths(t, all(t, "x", "."), "./B", "./a/b/c", "./a/b.d", "./a/z", "./a-b", "./a.txt", "./c/z", "./é")
}

func TestGlobalOrdersSortAllFiles(t *testing.T) {
	orderTree(t)
	wantPaths(t, all(t, "-order", "name", "x"), "B", "a-b", "a.txt", "a/b.d", "a/b/c", "a/z", "c/z", "é")
	wantPaths(t, all(t, "-order", "size", "x"), "B", "a/b/c", "a/b.d", "a/z", "a-b", "a.txt", "é", "c/z")
	begin := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, name := range []string{"c/z", "a/b.d", "é", "a-b", "B", "a.txt", "a/b/c", "a/z"} {
		if err := os.Chtimes(name, begin, begin.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	wantPaths(t, all(t, "-order", "mtime", "x"), "c/z", "a/b.d", "é", "a-b", "B", "a.txt", "a/b/c", "a/z")
	call("-order", "mtime", "x").want(t, exitFound, filepath.FromSlash("c/z")+":1:1:x\n")
}

func TestFileCalledAsStandardInputIsAFile(t *testing.T) {
	inTree(t, map[string]string{"a": "x", "d/-": "x\n\n", "d/b": "x\n"})
	wantPaths(t, all(t, "-order", "size", "x"), "a", "d/b", "d/-")
	wantPaths(t, all(t, "-order", "name", "x"), "d/-", "a", "d/b")
	wantPaths(t, all(t, "x", "d/-"), "d/-")
}

func TestGivenOrderIsThatOfTheArguments(t *testing.T) {
	orderTree(t)
	wantPaths(t, all(t, "-order", "given", "x", "c", "a.txt", "a", "B"), "c/z", "a.txt", "a/b/c", "a/b.d", "a/z", "B")
	wantPaths(t, all(t, "-order", "path", "x", "c", "a.txt", "a", "B"), "B", "a/b/c", "a/b.d", "a/z", "a.txt", "c/z")
}

// A folder given twice, in whatever way, is searched once: where it comes first.
func TestFilesGivenTwiceAreSearchedOnce(t *testing.T) {
	orderTree(t)
	abs, err := filepath.Abs("a")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args string
		want string
	}{
		{"a a", "a/b/c a/b.d a/z"},
		{"a a/b", "a/b/c a/b.d a/z"},
		{"a/z a", "a/b/c a/b.d a/z"},
		{"a ./a " + abs, "./a/b/c ./a/b.d ./a/z"},
		{"a/b.d a/b.d", "a/b.d"},
		{"a a/../a/b.d", "a/b/c a/b.d a/z"},
		{"a a/.h", "a/b/c a/b.d a/z a/.h/f"},
		{"a a/.h/f a/.h", "a/b/c a/b.d a/z a/.h/f"},
		{"-order given a/b a", "a/b/c a/b.d a/z"},
		{"-order given a/z a/b a/z a", "a/z a/b/c a/b.d"},
		{"-order given a/b.d a a/b.d", "a/b.d a/b/c a/z"},
		{"-order name a a", "a/b.d a/b/c a/z"},
		{"-hidden -order given a/.h a", "a/.h/f a/b/c a/b.d a/z"},
		{"-hidden a a/.h", "a/.h/f a/b/c a/b.d a/z"},
	} {
		args := strings.Fields(tt.args)
		k := len(args)
		for k > 0 && !strings.HasPrefix(args[k-1], "-") && (k < 2 || args[k-2] != "-order") {
			k--
		}
		got := all(t, slices.Insert(args, k, "x")...)
		if strings.Join(got, " ") != tt.want && strings.Join(got, " ") != strings.ReplaceAll(tt.want, "./", abs[:len(abs)-1]) {
			t.Errorf("%s: %q, want %q", tt.args, got, tt.want)
		}
	}
}

func TestLinksAreFollowedOnlyWhenTheyAreGiven(t *testing.T) {
	inTree(t, map[string]string{"d/f": "x", "d/sub/g": "x"})
	for link, target := range map[string]string{
		"d/loop": "..", "d/self": "self", "d/sub/up": "..", "d/file": "f", "link": "d", "d/none": "nowhere",
	} {
		if err := os.Symlink(target, link); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
	}
	wantPaths(t, all(t, "x"), "d/f", "d/sub/g")
	wantPaths(t, all(t, "x", "link"), "link/f", "link/sub/g")
	wantPaths(t, all(t, "x", "d/file"), "d/file")
	wantPaths(t, all(t, "x", "d", "link"), "d/f", "d/sub/g")
	wantPaths(t, all(t, "x", "d/sub/up", "d/loop/link"), "d/loop/link/f", "d/loop/link/sub/g")
	wantPaths(t, all(t, "-order", "given", "x", "d/file", "d"), "d/file", "d/sub/g")
	call("x", "d/self").wantError(t, "d/self")
	call("x", "d/none").wantError(t, "d/none")
}

func TestWalkGoesNoFurtherThanItIsAsked(t *testing.T) {
	files := map[string]string{}
	for i := range 20 {
		for k := range 5 {
			files[fmt.Sprintf("%02d/%d", i, k)] = "x"
		}
	}
	inTree(t, files)
	for name, sys := range systems {
		c := new(counts)
		o := newFolders(sys)
		w := walker{roots: newRoots(nil, true), folders: o, counts: c, wanted: func(int64) bool { return true }}
		k := 0
		for got, err := range stage.Take(w.stream(), 25).Seq(context.Background()) {
			if err != nil || got.err != nil {
				t.Fatal(err, got.err)
			}
			if want := fmt.Sprintf("%02d%c%d", k/5, os.PathSeparator, k%5); got.path() != want || got.seq != int64(k) {
				t.Fatalf("candidate %d is %s, number %d", k, got.path(), got.seq)
			}
			o.release(got.dir)
			// The folder that it is in has been read, and the one above; at an
			// end, whoever asks may have asked for the next one too.
			if n := c.folders.Load(); n > int64(k/5+3) {
				t.Fatalf("%s: %d folders read for %d files", name, n, k+1)
			}
			k++
		}
		if k != 25 || len(o.live) > 0 {
			t.Errorf("%s: %d candidates, %d folders left open", name, k, len(o.live))
		}
	}
}

// With room for many, the walk hands on what one folder has before it reads the
// next one.
func TestWalkHandsOnWhatAFolderHasBeforeItReadsTheNext(t *testing.T) {
	inTree(t, map[string]string{"a/1": "", "a/2": "", "a/3": "", "b/1": "", "b/2": "", "c": "", "d/1": ""})
	c := new(counts)
	o := newFolders(theSystem)
	defer o.closeAll()
	w := walker{roots: newRoots(nil, true), folders: o, counts: c, wanted: func(int64) bool { return true }}
	var got []string
	in := stage.New(func(s *stage.Scope) stage.Reader[candidate] {
		return &probe{stage.Open(s, w.stream()), func(n int) {
			got = append(got, fmt.Sprintf("%d of %d", n, c.folders.Load()))
		}}
	})
	if err := stage.Discard(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	if want := "3 of 2, 3 of 3, 1 of 4, 0 of 4"; strings.Join(got, ", ") != want {
		t.Errorf("candidates of folders %q, want %s", got, want)
	}
}

// A probe asks for many, hands on none, and tells how many there were.
type probe struct {
	up   stage.Reader[candidate]
	tell func(n int)
}

func (p *probe) Next([]stage.Try[candidate]) int {
	for {
		n := p.up.Next(make([]stage.Try[candidate], 64))
		if p.tell(n); n == 0 {
			return 0
		}
	}
}

func (p *probe) Close() { p.up.Close() }

// At most the window is opened in vain, and nothing after that (P7).
func TestSearchStopsSoonAfterTheMatchP7(t *testing.T) {
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("%02d/%02d", i/10, i%10)] = "nothing"
	}
	files["07/04"] = "x"
	inTree(t, files)
	for _, n := range []int{1, 2, 8} {
		r := call("-stats", "-n", strconv.Itoa(n), "x")
		var searched, bytes, folders int
		if _, err := fmt.Sscanf(r.stderr, "firstmatch: %d files searched, %d bytes, in %d folders", &searched, &bytes, &folders); err != nil {
			t.Fatal(err, r.stderr)
		}
		const before = 7*10 + 4 + 1
		if limit := before + n*windowPerCall; r.code != exitFound || searched < before || searched > limit || folders > limit/10+2 {
			t.Errorf("-n %d: exit code %d, %s", n, r.code, r.stderr)
		}
	}
}

func TestNothingIsLeftOpen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("open files are counted in /proc, which is on Linux only")
	}
	files := map[string]string{}
	for i := range 100 {
		files[fmt.Sprintf("%02d/%02d", i/10, i%10)] = strings.Repeat("x\n", 100)
	}
	inTree(t, files)
	count := func() int { return len(must(os.ReadDir("/proc/self/fd"))) }
	for name, sys := range systems {
		before := count()
		for _, args := range []string{"x", "-count 3 x", "-count 70 x", "-count 1000000 x", "y", "-order size -count 200 x", "-n 1 x", "x missing 00"} {
			callWith(environment{sys: sys}, strings.Fields(args)...)
			if after := count(); after != before {
				t.Errorf("%s, %s: %d files open before, %d after", name, args, before, after)
			}
		}
	}
}
