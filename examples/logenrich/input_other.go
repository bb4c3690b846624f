//go:build !unix

package main

import (
	"io"
	"os"
	"sync"
)

func openFile(name string) (*os.File, error) { return os.Open(name) }

// A wakeReader reads a file of any kind and can be interrupted while it waits.
// Where there is no poll, a goroutine reads ahead by one buffer; one that waits
// for a console when the program ends goes with it.
type wakeReader struct {
	chunks <-chan chunk
	have   chunk
	wake   chan struct{}
	once   sync.Once
}

type chunk struct {
	data []byte
	err  error
}

func newWakeReader(f *os.File) (*wakeReader, error) {
	chunks, wake := make(chan chunk), make(chan struct{})
	go func() {
		for {
			data := make([]byte, readBuffer)
			n, err := f.Read(data)
			select {
			case chunks <- chunk{data[:n], err}:
			case <-wake:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return &wakeReader{chunks: chunks, wake: wake}, nil
}

func (w *wakeReader) Read(p []byte) (int, error) {
	for len(w.have.data) == 0 {
		if w.have.err != nil {
			return 0, w.have.err
		}
		select {
		case <-w.wake:
			return 0, errInterrupted
		default:
		}
		select {
		case w.have = <-w.chunks:
		case <-w.wake:
			return 0, errInterrupted
		}
	}
	n := copy(p, w.have.data)
	w.have.data = w.have.data[n:]
	return n, nil
}

// Interrupt makes Read fail with errInterrupted, now and later.
func (w *wakeReader) Interrupt() { w.once.Do(func() { close(w.wake) }) }

// Close ends the goroutine when its read returns. No Read may be under way.
func (w *wakeReader) Close() { w.Interrupt() }

var _ io.Reader = (*wakeReader)(nil)
