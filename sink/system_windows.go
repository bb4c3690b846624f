package sink

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

const (
	openFlags   = 0
	dirsCanSync = false // NTFS keeps its directories in a journal
)

func linkRefused(error) bool { return false }

func allocate(f *os.File, off, n int64) error { return fill(f, off, n) }

func syncData(f *os.File) error { return f.Sync() }

func punch(*os.File, int64, int64) error { return ErrNotSupported }

// Files are written with plain writes here: a mapped one could not be cut to its
// length, renamed or removed.
func mapFile(*os.File, int64, int) ([]byte, error) { return nil, errNoMap }

func unmapFile([]byte) error { return nil }

// lockAt is a byte far behind all data: what LockFileEx locks nobody else can
// read.
const lockAt = 1 << 30

func lock(f *os.File) error {
	at := windows.Overlapped{OffsetHigh: lockAt}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}

// warm does nothing: the zeros that allocate has written are in memory already.
func warm(*os.File, []byte) {}

// unlock does nothing: no other process has a copy of the handle.
func unlock(*os.File) {}
