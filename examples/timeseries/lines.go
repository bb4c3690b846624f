package main

import (
	"bufio"
	"bytes"
	"compress/flate"
	"errors"
	"io"
)

// errLongRow stands for a line that is longer than the buffer. The next line is
// read as usual.
var errLongRow = errors.New("row too long")

// A lineReader reads lines, ended by LF or CRLF; the last one may have no end.
type lineReader struct {
	r    *bufio.Reader
	line int // number of the last line, from 1
}

// next returns a line without its end, valid until the next call.
func (l *lineReader) next() ([]byte, error) {
	row, err := l.r.ReadSlice('\n')
	if len(row) > 0 {
		l.line++
	}
	switch {
	case err == bufio.ErrBufferFull:
		for err == bufio.ErrBufferFull {
			_, err = l.r.ReadSlice('\n')
		}
		if err != nil && err != io.EOF {
			return nil, err
		}
		return nil, errLongRow
	case err == io.EOF && len(row) > 0:
		return bytes.TrimSuffix(row, []byte("\r")), nil
	case err != nil:
		return nil, err
	}
	return bytes.TrimSuffix(row[:len(row)-1], []byte("\r")), nil
}

// isCorrupt reports whether err says that compressed data are not what they ought
// to be.
func isCorrupt(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.As(err, &corrupt)
}
