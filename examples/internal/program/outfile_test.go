package program

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/seed95b73fdc/sluice/examples/internal/programtest"
)

func TestFileAppearsWholeUnderItsNameOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out")
	read := func() string {
		data, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return "(none)"
		}
		return string(data)
	}
	begin := func() *OutFile {
		t.Helper()
		f, err := CreateFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("new"); err != nil {
			t.Fatal(err)
		}
		return f
	}

	f := begin()
	if got := read(); got != "(none)" {
		t.Errorf("before commit: %s", got)
	}
	f.Discard()
	programtest.WantOnly(t, dir)

	f = begin()
	if err := f.Commit(); err != nil || read() != "new" {
		t.Errorf("after commit: %s, %v", read(), err)
	}
	programtest.WantOnly(t, dir, "out")

	if err := os.WriteFile(name, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o640); err != nil {
		t.Fatal(err)
	}
	first, second := begin(), begin() // two at once
	if read() != "old" {
		t.Errorf("before commit: %s", read())
	}
	first.Discard()
	if read() != "old" {
		t.Errorf("after discard: %s", read())
	}
	if err := second.Commit(); err != nil || read() != "new" {
		t.Errorf("after commit: %s, %v", read(), err)
	}
	info, err := os.Stat(name)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("permissions %v, %v", info.Mode(), err)
	}
	programtest.WantOnly(t, dir, "out")

	f = begin()
	RemoveUnfinished()
	programtest.WantOnly(t, dir, "out")
	f.Discard()
}

func TestFileReplacesWhatALinkPointsTo(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, link := range [][2]string{{"real/out", "a"}, {"a", "b"}} {
		if err := os.Symlink(link[0], filepath.Join(dir, link[1])); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
	}
	for range 2 { // a link to nothing at first, then to a file
		if err := WriteWhole(filepath.Join(dir, "b"), []byte("new")); err != nil {
			t.Fatal(err)
		}
		programtest.WantOnly(t, dir, "a", "b", "real")
		programtest.WantOnly(t, filepath.Join(dir, "real"), "out")
	}
	if to, err := os.Readlink(filepath.Join(dir, "b")); err != nil || to != "a" {
		t.Errorf("the link points to %q, %v", to, err)
	}
	if err := os.Symlink("loop", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	if err := WriteWhole(filepath.Join(dir, "loop"), nil); err == nil {
		t.Error("a link to itself is written")
	}
}

func wantFile(t *testing.T, name, want string) {
	t.Helper()
	if data, err := os.ReadFile(name); err != nil || string(data) != want {
		t.Errorf("%s holds %q, error %v", name, data, err)
	}
}

func TestFileAppearsWholeInPlaceOfTheOldOne(t *testing.T) {
	dir := t.TempDir()
	name, link := filepath.Join(dir, "a.svg"), filepath.Join(dir, "link.svg")
	for _, text := range []string{"first", "second, longer", ""} {
		if err := WriteWhole(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
		wantFile(t, name, text)
	}
	if err := os.Symlink("a.svg", link); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	if err := WriteWhole(link, []byte("by the link")); err != nil {
		t.Fatal(err)
	}
	wantFile(t, name, "by the link")
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, error %v", info, err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 2 {
		t.Errorf("the folder holds %v, error %v", list, err)
	}
	loop := filepath.Join(dir, "loop.svg")
	if err := os.Symlink("loop.svg", loop); err != nil {
		t.Fatal(err)
	}
	if err := WriteWhole(loop, nil); err == nil {
		t.Error("a link to itself was written")
	}
}

// C88: what cannot be written leaves the file that is there, and nothing else.
func TestC88FailureLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.svg")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700)
	if f, err := os.Create(filepath.Join(dir, "probe")); err == nil {
		f.Close()
		t.Skip("this user may write into any folder, so nothing can be made to fail so")
	}
	if err := WriteWhole(name, []byte("new")); err == nil {
		t.Error("no error")
	}
	wantFile(t, name, "old")
}
