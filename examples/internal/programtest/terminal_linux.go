package programtest

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The size of a terminal that OpenTerminal makes.
const rows, columns = 24, 100

// OpenTerminal returns the two ends of a new pseudo-terminal.
func OpenTerminal(t testing.TB) (near, far *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	near = os.NewFile(uintptr(fd), "ptmx")
	t.Cleanup(func() { near.Close() })
	n, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
	}
	if err == nil {
		far, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	return near, far
}

// ReadUntil reads what a terminal shows until that has the text.
func ReadUntil(t testing.TB, near io.Reader, text string) string {
	t.Helper()
	var shown []byte
	for buf := make([]byte, 4096); !strings.Contains(string(shown), text); {
		n, err := near.Read(buf)
		if err != nil {
			t.Fatalf("%v after %q", err, shown)
		}
		shown = append(shown, buf[:n]...)
	}
	return string(shown)
}

// RestOfTerminal is what is written to a terminal until its other end closes.
func RestOfTerminal(near io.Reader) string {
	data, _ := io.ReadAll(near) // Linux ends it with EIO
	return string(data)
}
