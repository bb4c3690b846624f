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

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, maxRow+len("\r\n"))}
}

// next returns a line without its end, valid until the next call.
func (l *lineReader) next() ([]byte, error) {
	row, err := l.r.ReadSlice('\n')
	if len(row) > 0 {
		l.line++
	}
	long := err == bufio.ErrBufferFull
	for err == bufio.ErrBufferFull {
		_, err = l.r.ReadSlice('\n')
	}
	if err != nil && (err != io.EOF || len(row) == 0) {
		return nil, err
	}
	if !long {
		row = bytes.TrimSuffix(bytes.TrimSuffix(row, []byte("\n")), []byte("\r"))
	}
	if len(row) > maxRow {
		return nil, errLongRow
	}
	return row, nil
}

// isCorrupt reports whether err says that compressed data are not what they ought
// to be.
func isCorrupt(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.As(err, &corrupt)
}
