package sink

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// system is what a log and a File ask of the operating system. All of it goes
// through here, so that tests can make each call fail.
type system interface {
	// Open opens a regular file, without following a link at the end of path.
	Open(path string, flag int) (file, error)
	Link(from, to string) error // fails if to exists
	Rename(from, to string) error
	Remove(path string) error
	// Names lists a directory.
	Names(dir string) ([]string, error)
	// SyncDir makes the names in a directory durable.
	SyncDir(dir string) error
}

// file is an open file.
type file interface {
	io.ReaderAt
	io.WriterAt
	Size() (int64, error)
	Truncate(size int64) error
	// Allocate gives the file n bytes of the disk from off on, and the size that
	// goes with it. What was there stays.
	Allocate(off, n int64) error
	// Warm prepares a part of a map, of which the space has been allocated, for
	// being written to. It may do nothing.
	Warm(m []byte)
	// Map maps n bytes from off on, shared and writable, or fails with errNoMap
	// where it cannot be.
	Map(off int64, n int) ([]byte, error)
	Unmap(m []byte) error
	// Sync returns when all that was written, through a map too, is on the disk.
	Sync() error
	// Punch gives n bytes from off on back to the disk; they read as zeros.
	Punch(off, n int64) error
	// Lock takes the file for this one writer, or fails with ErrLocked.
	Lock() error
	Close() error
}

// errNoMap: the file cannot be mapped here. A log is then written with write.
var errNoMap = errors.New("sink: file cannot be mapped")

// osSystem is the system there is.
type osSystem struct{}

var host system = osSystem{}

const fileMode = 0o600

func (osSystem) Open(path string, flag int) (file, error) {
	f, err := os.OpenFile(path, flag|openFlags, fileMode)
	if err != nil {
		if linkRefused(err) {
			err = &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
		}
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &osFile{f}, nil
}

func (osSystem) Link(from, to string) error   { return os.Link(from, to) }
func (osSystem) Rename(from, to string) error { return os.Rename(from, to) }
func (osSystem) Remove(path string) error     { return os.Remove(path) }

func (osSystem) Names(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	names, err := d.Readdirnames(-1)
	return names, errors.Join(err, d.Close())
}

func (osSystem) SyncDir(dir string) error {
	if !dirsCanSync {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// osFile is an *os.File with what the system adds to it.
type osFile struct{ *os.File }

func (f *osFile) Size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

func (f *osFile) Allocate(off, n int64) error          { return allocate(f.File, off, n) }
func (f *osFile) Map(off int64, n int) ([]byte, error) { return mapFile(f.File, off, n) }
func (f *osFile) Warm(m []byte)                        { warm(f.File, m) }
func (f *osFile) Unmap(m []byte) error                 { return unmapFile(m) }
func (f *osFile) Sync() error                          { return syncData(f.File) }
func (f *osFile) Punch(off, n int64) error             { return punch(f.File, off, n) }
func (f *osFile) Lock() error                          { return lock(f.File) }

// Close gives the lock up itself: a process that this one is about to start has a copy
// of the file until its program is loaded, and would hold the lock for so long.
func (f *osFile) Close() error {
	unlock(f.File)
	return f.File.Close()
}

// fill allocates by writing zeros, where there is no call for it. It writes only
// behind the end of the file, so that what was there stays.
func fill(f *os.File, off, n int64) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	return zero(f, max(off, st.Size()), off+n)
}

// zeros are never written to, so they take no memory of their own.
var zeros [256 << 10]byte

// zero writes zeros up to end. If there is no room for them, the file ends at from.
func zero(f *os.File, from, end int64) error {
	for at := from; at < end; {
		k, err := f.WriteAt(zeros[:min(int64(len(zeros)), end-at)], at)
		if err != nil {
			return errors.Join(err, f.Truncate(from))
		}
		at += int64(k)
	}
	return nil
}

// dirOf is the directory that holds path.
func dirOf(path string) string { return filepath.Dir(path) }

// tempName is a hidden name beside path that nothing has.
func tempName(path string) string {
	return filepath.Join(dirOf(path), "."+filepath.Base(path)+"."+rand.Text()[:8]+".tmp")
}

// christen gives the file temp the name path, which nothing may have; it fails
// with fs.ErrExist otherwise. Where a file cannot have two names, the new name is
// taken by an empty file first.
func christen(sys system, temp, path string) error {
	err := sys.Link(temp, path)
	if err == nil {
		return sys.Remove(temp)
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	f, oerr := sys.Open(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if oerr != nil {
		return errors.Join(err, oerr)
	}
	if err := errors.Join(f.Close(), sys.Rename(temp, path)); err != nil {
		return errors.Join(err, sys.Remove(path))
	}
	return nil
}
