package sink

import (
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"sync"
)

// memory is a system whose files lie in memory, and which can lose power: then
// of what was written since the last Sync some sectors are there and some not, in
// no order. Maps are the file's own bytes, so files have a largest size.
type memory struct {
	mu    sync.Mutex
	files map[string]*memFile
	calls map[string]int
}

const (
	memLargest = 256 << 10
	sector     = 512
)

func newMemory() *memory { return &memory{files: map[string]*memFile{}, calls: map[string]int{}} }

type memFile struct {
	m       *memory
	data    []byte // memLargest of them
	size    int64
	durable []byte // as of the last Sync
	locked  bool
}

// put makes a file with the content given, all of it durable.
func (m *memory) put(path string, content []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := &memFile{m: m, data: aligned(memLargest), size: int64(len(content)), durable: content}
	copy(f.data, content)
	m.files[path] = f
}

// show makes a file that is not to be changed.
func (m *memory) show(path string, content []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[path] = &memFile{m: m, data: content, size: int64(len(content))}
}

// get is the content of a file.
func (m *memory) get(path string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.files[path]
	return append([]byte(nil), f.data[:f.size]...)
}

// cut is what a power cut leaves of a file.
func (m *memory) cut(path string, r *rand.Rand) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.files[path]
	now := f.data[:f.size]
	after := append([]byte(nil), f.durable...)
	if r.IntN(2) == 0 { // the new size got there
		after = make([]byte, len(now))
		copy(after, f.durable)
	}
	most := r.IntN(5) // how likely a sector is to be there, in quarters
	for i := 0; i < len(after); i += sector {
		if r.IntN(4) < most && i < len(now) {
			copy(after[i:min(i+sector, len(after))], now[i:])
		}
	}
	return after
}

// cutTo is what a power cut leaves of a file if the sectors at offs were written, and
// no other.
func (m *memory) cutTo(path string, offs ...int64) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.files[path]
	after := append([]byte(nil), f.durable...)
	for _, off := range offs {
		copy(after[off:off+sector], f.data[off:])
	}
	return after
}

func (m *memory) Open(path string, flag int) (file, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.files[path]
	switch {
	case flag&oCreate != 0 && f != nil:
		return nil, fs.ErrExist
	case flag&oCreate != 0:
		f = &memFile{m: m, data: aligned(memLargest)}
		m.files[path] = f
	case f == nil:
		return nil, fs.ErrNotExist
	}
	return &memHandle{memFile: f}, nil
}

func (m *memory) Link(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files[to] != nil {
		return fs.ErrExist
	}
	m.files[to] = m.files[from]
	return nil
}

func (m *memory) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files[from] == nil {
		return fs.ErrNotExist
	}
	m.files[to] = m.files[from]
	delete(m.files, from)
	return nil
}

func (m *memory) Remove(path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files[path] == nil {
		return fs.ErrNotExist
	}
	delete(m.files, path)
	return nil
}

func (m *memory) SyncDir(string) error { return nil }

func (m *memory) Names(dir string) (names []string, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for p := range m.files {
		if filepath.Dir(p) == dir {
			names = append(names, filepath.Base(p))
		}
	}
	return names, nil
}

type memHandle struct {
	*memFile
	holds  bool
	closed bool
}

func (f *memHandle) ReadAt(b []byte, off int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.closed {
		return 0, fs.ErrClosed
	}
	if off >= f.size {
		return 0, io.EOF
	}
	n := copy(b, f.data[off:f.size])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memHandle) WriteAt(b []byte, off int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.size = max(f.size, off+int64(len(b)))
	return copy(f.data[off:], b), nil
}

func (f *memHandle) Size() (int64, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return f.size, nil
}

func (f *memHandle) Truncate(size int64) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if size < f.size {
		clear(f.data[size:f.size])
	}
	f.size = size
	return nil
}

func (f *memHandle) Allocate(off, n int64) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.size = max(f.size, off+n)
	return nil
}

func (f *memHandle) Map(off int64, n int) ([]byte, error) {
	return f.data[off : off+int64(n) : off+int64(n)], nil
}

func (f *memHandle) Warm([]byte) {}

func (f *memHandle) Unmap([]byte) error { return nil }

func (f *memHandle) Sync() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.durable = append([]byte(nil), f.data[:f.size]...)
	return nil
}

func (f *memHandle) Punch(off, n int64) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	clear(f.data[off : off+n])
	return nil
}

func (f *memHandle) Lock() error {
	if f.locked {
		return ErrLocked
	}
	f.locked, f.holds = true, true
	return nil
}

func (f *memHandle) Close() error {
	f.closed = true
	if f.holds {
		f.locked = false
	}
	return nil
}
