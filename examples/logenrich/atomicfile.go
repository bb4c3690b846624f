package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// unfinished names the temporary files in use, for a program that must end
// without waiting for who uses them.
var unfinished registry

type registry struct {
	mu    sync.Mutex
	names map[string]bool
}

// add notes a name until forget is called.
func (r *registry) add(name string) (forget func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.names == nil {
		r.names = map[string]bool{}
	}
	r.names[name] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.names, name)
	}
}

// removeUnfinished removes the temporary files in use.
func removeUnfinished() {
	unfinished.mu.Lock()
	defer unfinished.mu.Unlock()
	for name := range unfinished.names {
		os.RemoveAll(name)
	}
}

// An outFile is a file that appears under its name when commit is called, and not
// at all if discard is. What is no regular file, such as a device or a FIFO, is
// written as it is.
type outFile struct {
	*os.File
	name   string // under which it is to appear, "" if it is written as it is
	forget func()
}

// createFile makes the file beside the one that it is to replace, so that it can
// be renamed to it. A symbolic link stays: what it points to is replaced.
func createFile(name string) (*outFile, error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("write %s: %w", name, syscall.EISDIR)
	case err == nil && !info.Mode().IsRegular():
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		return &outFile{File: f, forget: func() {}}, reasonFor("write "+name, err)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, reasonFor("write "+name, err)
	}
	target, err := followLinks(name)
	if err != nil {
		return nil, reasonFor("write "+name, err)
	}
	f, err := createTemp(filepath.Dir(target))
	if err != nil {
		return nil, reasonFor("write "+name, err)
	}
	if info != nil {
		f.Chmod(info.Mode().Perm()) // as well as can be: the contents count
	}
	return &outFile{File: f, name: target, forget: unfinished.add(f.Name())}, nil
}

// createTemp is os.CreateTemp with the permissions that a new file has.
func createTemp(dir string) (*os.File, error) {
	for try := 0; ; try++ {
		name := filepath.Join(dir, fmt.Sprintf(".logenrich-%d-%d.tmp", os.Getpid(), try))
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

// commit makes the file appear. It is on disk then.
func (f *outFile) commit() error {
	if f.name == "" {
		return f.Close()
	}
	defer f.forget()
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		os.Remove(f.File.Name())
		return err
	}
	return replaceFile(f.File.Name(), f.name)
}

// discard removes the file.
func (f *outFile) discard() {
	f.Close()
	if f.name != "" {
		os.Remove(f.File.Name())
		f.forget()
	}
}

// replaceFile renames a file; if it cannot, the file is removed.
func replaceFile(from, to string) error {
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

// writeWhole writes a file that appears whole.
func writeWhole(name string, data []byte) error {
	f, err := createFile(name)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		f.discard()
		return err
	}
	return f.commit()
}

// sameFile reports whether two names are of one file that exists.
func sameFile(a, b string) bool {
	first, err1 := os.Stat(a)
	second, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(first, second)
}

// reasonFor prefixes an error of a file operation with what was to be done, in
// place of the operation and the name, which may be a temporary one.
func reasonFor(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, reason(err))
}

// reason is the bare reason for which a file operation failed.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}
