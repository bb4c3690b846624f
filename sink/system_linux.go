package sink

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const openFlags = unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK

// allocate reserves real blocks. Where the file system cannot, they are written.
func allocate(f *os.File, off, n int64) error {
	err := retry(func() error { return unix.Fallocate(int(f.Fd()), 0, off, n) })
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return fill(f, off, n)
	}
	return err
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
