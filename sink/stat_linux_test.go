package sink

import (
	"io/fs"
	"os"
	"syscall"
	"testing"
)

// allocatedBytes is how much of the disk a file takes.
func allocatedBytes(t testing.TB, path string) int64 {
	return must[fs.FileInfo](t)(os.Stat(path)).Sys().(*syscall.Stat_t).Blocks * 512
}
