package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// linuxSystem opens files relative to their folder, with plain descriptors.
type linuxSystem struct{}

var theSystem system = linuxSystem{}

const openFlags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY

// retry repeats a call that a signal has interrupted.
func retry(call func() (int, error)) (n int, err error) {
	for {
		if n, err = call(); err != unix.EINTR {
			return n, err
		}
	}
}

// openAt opens a name in a folder, which may be closed.
func openAt(f *folder, name string, flags int) (fd int, err error) {
	at := f.fd
	if at == noFD {
		at, name = unix.AT_FDCWD, f.join(name)
	}
	for {
		if fd, err = unix.Openat(at, name, flags, 0); err != unix.EINTR {
			return fd, err
		}
	}
}

func (linuxSystem) openFolder(parent *folder, name string) (f *folder, err error) {
	f = &folder{path: name}
	if parent == nil {
		path := name
		if path == "" {
			path = "."
		}
		f.fd, err = retry(func() (int, error) {
			return unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		})
	} else {
		f.path = parent.join(name)
		f.fd, err = openAt(parent, name, openFlags|unix.O_DIRECTORY)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: f.path, Err: err}
	}
	return f, nil
}

func (linuxSystem) closeFolder(f *folder) {
	if f.fd != noFD {
		unix.Close(f.fd)
		f.fd = noFD
	}
}

func (linuxSystem) open(f *folder, name string) (handle, info, error) {
	fd, err := openAt(f, name, openFlags)
	if err == unix.ELOOP {
		return handle{}, info{kind: kindLink}, nil // it was none when the folder was read
	}
	if err == unix.ENXIO {
		return handle{}, info{kind: kindSpecial}, nil // a socket
	}
	if err != nil {
		return handle{}, info{}, &fs.PathError{Op: "open", Path: f.join(name), Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return handle{}, info{}, &fs.PathError{Op: "stat", Path: f.join(name), Err: err}
	}
	return handle{fd: fd, raw: true}, info{kindOfMode(st.Mode), st.Size, fileID{uint64(st.Dev), st.Ino}}, nil
}

func kindOfMode(mode uint32) kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return kindFile
	case unix.S_IFDIR:
		return kindFolder
	case unix.S_IFLNK:
		return kindLink
	}
	return kindSpecial
}

// listBuffers are for getdents64.
var listBuffers = sync.Pool{New: func() any { return new([32 * kiB]byte) }}

func (linuxSystem) list(f *folder) ([]entry, error) {
	buf := listBuffers.Get().(*[32 * kiB]byte)
	defer listBuffers.Put(buf)
	var all []entry
	for {
		n, err := retry(func() (int, error) { return unix.Getdents(f.fd, buf[:]) })
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: f.path, Err: err}
		}
		if n == 0 {
			break
		}
		all = appendEntries(all, buf[:n])
	}
	for i := range all {
		if all[i].kind == kindUnknown {
			var st unix.Stat_t
			if err := unix.Fstatat(f.fd, all[i].name, &st, unix.AT_SYMLINK_NOFOLLOW); err == nil {
				all[i].kind = kindOfMode(st.Mode)
			} else if !errors.Is(err, fs.ErrNotExist) {
				all[i].kind = kindFile // to open it will tell what is wrong
			}
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// A record of getdents64 begins with the inode (8 bytes), an offset (8), its own
// length (2) and the kind (1); then comes the name, ended by a NUL.
const (
	direntLength = 16
	direntKind   = 18
	direntName   = 19
)

func appendEntries(all []entry, records []byte) []entry {
	for len(records) > direntName {
		size := int(binary.NativeEndian.Uint16(records[direntLength:]))
		if size <= direntName || size > len(records) {
			break
		}
		name := records[direntName:size]
		if k := bytes.IndexByte(name, 0); k >= 0 {
			name = name[:k]
		}
		if string(name) != "." && string(name) != ".." {
			all = append(all, entry{string(name), kindOfDirent(records[direntKind])})
		}
		records = records[size:]
	}
	return all
}

func kindOfDirent(c byte) kind {
	switch c {
	case unix.DT_REG:
		return kindFile
	case unix.DT_DIR:
		return kindFolder
	case unix.DT_LNK:
		return kindLink
	case unix.DT_UNKNOWN:
		return kindUnknown
	}
	return kindSpecial
}

func readFD(fd int, p []byte) (n int, err error) {
	for {
		if n, err = unix.Read(fd, p); err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

func sizeOfFD(fd int) (int64, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return st.Size, err
}

func closeFD(fd int) { unix.Close(fd) }
