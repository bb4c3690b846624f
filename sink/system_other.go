//go:build !(linux || darwin || freebsd || netbsd || dragonfly || windows)

package sink

import "os"

const (
	openFlags   = 0
	dirsCanSync = false
)

func linkRefused(error) bool { return false }

func allocate(f *os.File, off, n int64) error { return fill(f, off, n) }

func syncData(f *os.File) error { return f.Sync() }

func punch(*os.File, int64, int64) error { return ErrNotSupported }

func mapFile(*os.File, int64, int) ([]byte, error) { return nil, errNoMap }

func unmapFile([]byte) error { return nil }

func lock(*os.File) error { return ErrNotSupported }

// warm does nothing: the zeros that allocate has written are in memory already.
func warm(*os.File, []byte) {}

func unlock(*os.File) {}
