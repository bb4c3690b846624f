//go:build freebsd || netbsd || dragonfly

package sink

import (
	"os"

	"golang.org/x/sys/unix"
)

const openFlags = unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK

func allocate(f *os.File, off, n int64) error { return fill(f, off, n) }

func syncData(f *os.File) error { return f.Sync() }

func punch(*os.File, int64, int64) error { return ErrNotSupported }

// warm does nothing: the zeros that allocate has written are in memory already.
func warm(*os.File, []byte) {}
