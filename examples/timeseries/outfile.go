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

// unfinished is the temporary file in use, for a program that must end without
// waiting for who uses it.
var unfinished struct {
	mu   sync.Mutex
	name string
}

func setUnfinished(name string) {
	unfinished.mu.Lock()
	defer unfinished.mu.Unlock()
	unfinished.name = name
}

// removeUnfinished removes the temporary file in use.
func removeUnfinished() {
	unfinished.mu.Lock()
	defer unfinished.mu.Unlock()
	if unfinished.name != "" {
		os.Remove(unfinished.name)
	}
}

// writeWhole writes a file that appears under its name when the whole is there,
// and not at all on failure. A symbolic link stays: what it points to is replaced.
// What is no regular file, such as a device or a FIFO, is written as it is.
func writeWhole(name string, data []byte) error {
	if err := tryWriteWhole(name, data); err != nil {
		return writeFileError{name, bare(err)}
	}
	return nil
}

// A writeFileError names the file that could not be written.
type writeFileError struct {
	name string
	err  error
}

func (e writeFileError) Unwrap() error { return e.err }

func (e writeFileError) Error() string { return fmt.Sprintf("write %s: %v", e.name, e.err) }

func tryWriteWhole(name string, data []byte) error {
	if err := checkTarget(name); err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(name, data, 0)
	}
	target, err := followLinks(name)
	if err != nil {
		return err
	}
	f, err := createTemp(filepath.Dir(target))
	if err != nil {
		return err
	}
	setUnfinished(f.Name())
	defer setUnfinished("")
	if info != nil {
		f.Chmod(info.Mode().Perm()) // as well as can be: the contents count
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), target)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// checkTarget reports whether a file can be expected to come about under a name. It
// is asked before the work begins.
func checkTarget(name string) error {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return syscall.EISDIR
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	target, err := followLinks(name)
	if err != nil {
		return err
	}
	folder, err := os.Stat(filepath.Dir(target))
	if err == nil && !folder.IsDir() {
		err = syscall.ENOTDIR
	}
	return err
}

// createTemp is os.CreateTemp with the permissions that a new file has.
func createTemp(dir string) (*os.File, error) {
	for try := 0; ; try++ {
		name := filepath.Join(dir, fmt.Sprintf(".timeseries-%d-%d.tmp", os.Getpid(), try))
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

// bare is the reason for which a file operation failed, without the operation and
// the name, which may be a temporary one.
func bare(err error) error {
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
