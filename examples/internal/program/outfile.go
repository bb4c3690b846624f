package program

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// unfinished names the temporary files and folders in use.
var unfinished struct {
	mu    sync.Mutex
	names map[string]bool
}

// Unfinished notes the name of a temporary file or folder that RemoveUnfinished is to
// remove, until forget is called.
func Unfinished(name string) (forget func()) {
	unfinished.mu.Lock()
	defer unfinished.mu.Unlock()
	if unfinished.names == nil {
		unfinished.names = map[string]bool{}
	}
	unfinished.names[name] = true
	return func() {
		unfinished.mu.Lock()
		defer unfinished.mu.Unlock()
		delete(unfinished.names, name)
	}
}

// RemoveUnfinished removes the temporary files in use, for a program that must end
// without waiting for who uses them.
func RemoveUnfinished() {
	unfinished.mu.Lock()
	defer unfinished.mu.Unlock()
	for name := range unfinished.names {
		os.RemoveAll(name)
	}
}

// An OutFile is a file that appears under its name when Commit is called, and not
// at all if Discard is. What is no regular file, such as a device or a FIFO, is
// written as it is.
type OutFile struct {
	*os.File
	name   string // under which it is to appear, "" if it is written as it is
	forget func()
}

// CreateFile makes the file beside the one that it is to replace, so that it can
// be renamed to it. A symbolic link stays: what it points to is replaced.
func CreateFile(name string) (*OutFile, error) {
	f, err := createFile(name)
	return f, ReasonFor("write "+name, err)
}

func createFile(name string) (*OutFile, error) {
	target, err := targetOf(name)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		return &OutFile{File: f, forget: func() {}}, err
	}
	f, err := createTemp(filepath.Dir(target))
	if err != nil {
		return nil, err
	}
	if info != nil {
		f.Chmod(info.Mode().Perm()) // as well as can be: the contents count
	}
	return &OutFile{File: f, name: target, forget: Unfinished(f.Name())}, nil
}

// CheckTarget reports whether a file can be expected to come about under a name. It
// is asked before the work begins.
func CheckTarget(name string) error {
	target, err := targetOf(name)
	if err == nil {
		var folder fs.FileInfo
		if folder, err = os.Stat(filepath.Dir(target)); err == nil && !folder.IsDir() {
			err = syscall.ENOTDIR
		}
	}
	return ReasonFor("write "+name, err)
}

// targetOf is the name of the file that is to be made or replaced, behind all links.
func targetOf(name string) (string, error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return "", syscall.EISDIR
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	return followLinks(name)
}

// createTemp is os.CreateTemp with the permissions that a new file has.
func createTemp(dir string) (*os.File, error) {
	for try := 0; ; try++ {
		name := filepath.Join(dir, fmt.Sprintf(".sluice-%d-%d.tmp", os.Getpid(), try))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// followLinks returns what a chain of symbolic links names, be it there or not.
func followLinks(name string) (string, error) {
	const limit = 40 // as Linux has it
	for range limit {
		to, err := os.Readlink(name)
		if err != nil {
			return name, nil // no link
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(name), to)
		}
		name = to
	}
	return "", syscall.ELOOP
}

// Commit makes the file appear. It is on disk then.
func (f *OutFile) Commit() error {
	if f.name == "" {
		return f.Close()
	}
	defer f.forget()
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		os.Remove(f.File.Name())
		return err
	}
	return ReplaceFile(f.File.Name(), f.name)
}

// Discard removes the file.
func (f *OutFile) Discard() {
	f.Close()
	if f.name != "" {
		os.Remove(f.File.Name())
		f.forget()
	}
}

// ReplaceFile renames a file; if it cannot, the file is removed.
func ReplaceFile(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		os.Remove(from)
		return err
	}
	if dir, err := os.Open(filepath.Dir(to)); err == nil { // the new name is on disk too, where a folder can be synced
		dir.Sync()
		dir.Close()
	}
	return nil
}

// WriteWhole writes a file that appears under its name when the whole is there, and
// not at all on failure; see OutFile.
func WriteWhole(name string, data []byte) error {
	f, err := CreateFile(name)
	if err != nil {
		return err
	}
	if _, err = f.Write(data); err != nil {
		f.Discard()
	} else {
		err = f.Commit()
	}
	return ReasonFor("write "+name, err)
}

// SameFile reports whether two names are of one file that exists.
func SameFile(a, b string) bool {
	first, err1 := os.Stat(a)
	second, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(first, second)
}
