package sink

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const openFlags = unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK

// allocate reserves real blocks, and then writes zeros to them: so the pages that a
// writer will touch through a map are there, made many at a time, and the blocks are
// ones that have been written. A page that is made by the first access to it costs
// several times as much, and the sync that follows has to change the block's state
// in the journal. In a file system that is memory, and in one that cannot reserve,
// the zeros are the reservation.
func allocate(f *os.File, off, n int64) error {
	if inMemory(f) {
		return fill(f, off, n)
	}
	st, err := f.Stat()
	if err != nil {
		return err
	}
	err = retry(func() error { return unix.Fallocate(int(f.Fd()), 0, off, n) })
	if err != nil && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	return zero(f, max(off, st.Size()), off+n)
}

// inMemory reports whether the file system is tmpfs.
func inMemory(f *os.File) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(int(f.Fd()), &st) == nil && st.Type == unix.TMPFS_MAGIC
}

// warm maps the pages of m that are in memory, many with one call. On tmpfs a page
// that was mapped to be read can be written to at once, and several of them are
// mapped together; elsewhere the file system wants to hear of each first write. It
// is a hint: if the system does not know it, or has no memory, the first access does
// the same.
func warm(f *os.File, m []byte) {
	how := unix.MADV_POPULATE_WRITE
	if inMemory(f) {
		how = unix.MADV_POPULATE_READ
	}
	unix.Madvise(m, how)
}

// syncData is fdatasync, which on Linux writes mapped pages too, and as much of
// the file's own data as is needed to read it.
func syncData(f *os.File) error {
	return retry(func() error { return unix.Fdatasync(int(f.Fd())) })
}

func punch(f *os.File, off, n int64) error {
	err := retry(func() error {
		return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
	})
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return ErrNotSupported
	}
	return err
}
