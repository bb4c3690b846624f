//go:build linux || darwin || freebsd || netbsd || dragonfly

package sink

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const dirsCanSync = true

// linkRefused reports whether err says that the path is a symbolic link, or a
// pipe that nobody reads.
func linkRefused(err error) bool {
	return errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EMLINK) || errors.Is(err, unix.ENXIO) ||
		errors.Is(err, unix.EISDIR)
}

// retry repeats a call that a signal has interrupted; the runtime sends some to
// its own threads.
func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func mapFile(f *os.File, off int64, n int) ([]byte, error) {
	m, err := unix.Mmap(int(f.Fd()), off, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENOTSUP) {
		return nil, errNoMap
	}
	return m, err
}

func unmapFile(m []byte) error { return unix.Munmap(m) }

// lock takes the file for this open of it. The lock ends with the process.
func lock(f *os.File) error {
	err := retry(func() error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

func unlock(f *os.File) { unix.Flock(int(f.Fd()), unix.LOCK_UN) }
