//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// openFile opens a file for a wakeReader. Opening a FIFO would wait for a
// writer, where no interrupt reaches; on Linux it can be opened at once and
// waited for in poll.
func openFile(name string) (*os.File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Mode().Type() != os.ModeNamedPipe || runtime.GOOS != "linux" {
		return os.Open(name)
	}
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// A wakeReader reads a file of any kind and can be interrupted while it waits
// for a terminal, pipe or socket. It waits in poll, for the file or for a pipe of
// its own, so the file need not be made non-blocking: that would change it for
// every process that shares it, such as a shell with its terminal.
type wakeReader struct {
	file   *os.File // kept open while fd is in use
	fd     int
	wake   [2]int
	mu     sync.Mutex // guards wake[1] against a late Interrupt
	closed bool
	woken  bool
}

func newWakeReader(f *os.File) (*wakeReader, error) {
	w := &wakeReader{file: f, fd: int(f.Fd())}
	if err := unix.Pipe(w.wake[:]); err != nil {
		return nil, os.NewSyscallError("pipe", err)
	}
	for _, fd := range w.wake {
		unix.CloseOnExec(fd)
	}
	return w, nil
}

func (w *wakeReader) Read(p []byte) (int, error) {
	for {
		fds := []unix.PollFd{{Fd: int32(w.wake[0]), Events: unix.POLLIN}, {Fd: int32(w.fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return 0, &os.PathError{Op: "poll", Path: w.file.Name(), Err: err}
		}
		if fds[0].Revents != 0 {
			return 0, errInterrupted
		}
		if fds[1].Revents == 0 {
			continue
		}
		switch n, err := unix.Read(w.fd, p); {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN): // somebody else was quicker
		case err != nil:
			return 0, &os.PathError{Op: "read", Path: w.file.Name(), Err: err}
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// Interrupt makes Read fail with errInterrupted, now and later.
func (w *wakeReader) Interrupt() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed && !w.woken {
		w.woken = true
		unix.Write(w.wake[1], []byte{0}) // one byte into an empty pipe: it neither waits nor fails
	}
}

// Close releases the pipe, not the file. No Read may be under way.
func (w *wakeReader) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed = true
		unix.Close(w.wake[0])
		unix.Close(w.wake[1])
	}
}
