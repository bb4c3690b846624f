package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// roomFor fails if the disk has no room for size bytes now: a page of the map for which
// it has none ends the program with a fault. Whoever takes the room later still brings
// that about, which a sink.Log is safe from; but to allocate would cost what it costs.
func roomFor(file *os.File, size int) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(file.Fd()), &st); err != nil || st.Blocks == 0 { // 0: without a limit
		return nil
	}
	if uint64(size) > st.Bavail*uint64(st.Bsize) {
		return unix.ENOSPC
	}
	return nil
}
