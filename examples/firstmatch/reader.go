package main

import (
	"io"
	"sync/atomic"
)

// A fileReader reads a file, and ends it without a further read where its size
// says that it is over.
type fileReader struct {
	src    io.Reader // instead of h, if not nil
	h      handle
	size   int64 // when it was opened; 0 if that says nothing
	got    int64
	shrank bool // it ended before size, and has become smaller
	bytes  *atomic.Int64
}

func (r *fileReader) Read(p []byte) (n int, err error) {
	if r.src != nil {
		n, err = r.src.Read(p)
		r.bytes.Add(int64(n))
		return n, err
	}
	n, err = r.h.read(p)
	r.got += int64(n)
	r.bytes.Add(int64(n))
	switch {
	case err == io.EOF, err == nil && n == 0 && len(p) > 0:
		if r.got < r.size {
			now, err := r.h.size()
			r.shrank = err == nil && now < r.size
		}
		return n, io.EOF
	case err == nil && r.got == r.size && n < len(p):
		return n, io.EOF // a short read of a regular file ends where the file does
	}
	return n, err
}
