package main

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
)

// errChanged says that a name stands for something else than a moment ago.
var errChanged = errors.New("replaced while it was opened")

// A kind is what a name in a folder stands for.
type kind uint8

const (
	kindFile kind = iota
	kindFolder
	kindLink    // a symbolic link
	kindSpecial // a FIFO, a socket, a device
	kindUnknown // the file system does not say
)

func kindOf(mode fs.FileMode) kind {
	switch {
	case mode.IsRegular():
		return kindFile
	case mode.IsDir():
		return kindFolder
	case mode&fs.ModeSymlink != 0:
		return kindLink
	}
	return kindSpecial
}

// An entry is a name in a folder.
type entry struct {
	name string
	kind kind
}

// A folder is a directory that is open while somebody needs it: the walk, while
// it is in it, and each of its files until that is opened. They are opened
// relative to it, which saves looking up the path each time.
type folder struct {
	path  string          // as it is printed, "" for names without one
	canon string          // absolute and without links, where there are several PATHs
	past  map[string]bool // names in it that were PATHs and have been searched
	fd    int             // noFD if it is not held open
	users atomic.Int32
}

const noFD = -1

// join is the path of a name in the folder.
func (f *folder) join(name string) string { return joinPath(f.path, name) }

func joinPath(path, name string) string {
	switch {
	case path == "":
		return name
	case os.IsPathSeparator(path[len(path)-1]):
		return path + name
	}
	return path + string(os.PathSeparator) + name
}

// A system reads folders and opens files. There are two: one that does so in the
// fewest calls of Linux, and one that does it with package os.
type system interface {
	// openFolder opens the folder name in parent, or the path name if that is
	// nil. In a parent, a link is not followed.
	openFolder(parent *folder, name string) (*folder, error)
	// list is what is in the folder, sorted by name.
	list(f *folder) ([]entry, error)
	// closeFolder closes what openFolder has opened.
	closeFolder(f *folder)
	// open opens a file of the folder. It follows no link, and waits for no
	// writer.
	open(f *folder, name string) (handle, info, error)
}

// info is what is known of an open file.
type info struct {
	kind kind
	size int64
	id   fileID // the zero value if there is none
}

// A fileID tells files apart.
type fileID struct{ device, inode uint64 }

// A handle is an open file, or with the zero value none.
type handle struct {
	file *os.File
	fd   int // instead, if raw
	raw  bool
}

func (h handle) read(p []byte) (int, error) {
	if h.raw {
		return readFD(h.fd, p)
	}
	return h.file.Read(p)
}

// size is the size that the file has now.
func (h handle) size() (int64, error) {
	if h.raw {
		return sizeOfFD(h.fd)
	}
	st, err := h.file.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

func (h handle) close() {
	switch {
	case h.raw:
		closeFD(h.fd)
	case h.file != nil:
		h.file.Close()
	}
}

// folders are those that are open.
type folders struct {
	sys  system
	mu   sync.Mutex
	live map[*folder]struct{}
}

func newFolders(sys system) *folders {
	return &folders{sys: sys, live: make(map[*folder]struct{})}
}

// open opens a folder, with one user.
func (o *folders) open(parent *folder, name string) (*folder, error) {
	f, err := o.sys.openFolder(parent, name)
	if err != nil {
		return nil, err
	}
	f.users.Store(1)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.live[f] = struct{}{}
	return f, nil
}

// release ends a use of the folder; the last one closes it.
func (o *folders) release(f *folder) {
	if f == nil || f.users.Add(-1) > 0 {
		return
	}
	o.sys.closeFolder(f)
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.live, f)
}

// closeAll closes what is left, when nobody uses it any more.
func (o *folders) closeAll() {
	for f := range o.live {
		o.sys.closeFolder(f)
	}
	clear(o.live)
}

// plainSystem does it with package os.
type plainSystem struct{}

func (plainSystem) openFolder(parent *folder, name string) (*folder, error) {
	f := &folder{path: name, fd: noFD}
	if parent != nil {
		f.path = parent.join(name)
		if st, err := os.Lstat(f.path); err != nil {
			return nil, err
		} else if !st.IsDir() {
			return nil, &fs.PathError{Op: "open", Path: f.path, Err: errChanged}
		}
	}
	return f, nil
}

func (plainSystem) list(f *folder) ([]entry, error) {
	path := f.path
	if path == "" {
		path = "."
	}
	all, err := os.ReadDir(path)
	entries := make([]entry, len(all))
	for i, e := range all {
		entries[i] = entry{e.Name(), kindOf(e.Type())}
	}
	return entries, err
}

func (plainSystem) closeFolder(*folder) {}

func (plainSystem) open(f *folder, name string) (handle, info, error) {
	path := f.join(name)
	st, err := os.Lstat(path)
	if err != nil {
		return handle{}, info{}, err
	}
	if in := infoOf(st); in.kind != kindFile {
		return handle{}, in, nil
	}
	file, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return handle{}, info{}, err
	}
	if st, err = file.Stat(); err != nil {
		file.Close()
		return handle{}, info{}, err
	}
	return handle{file: file}, infoOf(st), nil
}

func infoOf(st fs.FileInfo) info {
	return info{kind: kindOf(st.Mode()), size: st.Size(), id: idOf(st)}
}

// openNamed opens a file that was named by the user: links are followed, and
// what is no regular file is read as it comes.
func openNamed(path string) (handle, info, error) {
	file, err := os.Open(path)
	if err != nil {
		return handle{}, info{}, err
	}
	st, err := file.Stat()
	if err != nil {
		file.Close()
		return handle{}, info{}, err
	}
	return handle{file: file}, infoOf(st), nil
}
