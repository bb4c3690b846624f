package main

import (
	"os"
	"path/filepath"
	"testing"
)

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
		if err := writeWhole(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
		wantFile(t, name, text)
	}
	if err := os.Symlink("a.svg", link); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	if err := writeWhole(link, []byte("by the link")); err != nil {
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
	if err := writeWhole(loop, nil); err == nil {
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
	if err := writeWhole(name, []byte("new")); err == nil {
		t.Error("no error")
	}
	wantFile(t, name, "old")
}
