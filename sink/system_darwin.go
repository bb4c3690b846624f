package sink

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const openFlags = unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK

// allocate reserves real blocks behind the end of the file, and then moves the
// end. File systems without that get zeros.
func allocate(f *os.File, off, n int64) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if off+n <= st.Size() {
		return nil
	}
	store := unix.Fstore_t{
		Flags:   unix.F_ALLOCATEALL,
		Posmode: unix.F_PEOFPOSMODE,
		Length:  off + n - st.Size(),
	}
	switch err := unix.FcntlFstore(f.Fd(), unix.F_PREALLOCATE, &store); {
	case errors.Is(err, unix.ENOTSUP):
		return fill(f, off, n)
	case err != nil:
		return err
	}
	return f.Truncate(off + n)
}

// syncData is F_FULLFSYNC: fsync leaves data in the disk's cache here.
func syncData(f *os.File) error { return f.Sync() }

func punch(*os.File, int64, int64) error { return ErrNotSupported }

// warm does nothing: what it could do has not been measured here.
func warm(*os.File, []byte) {}
