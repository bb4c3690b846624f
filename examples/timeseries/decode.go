package main

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// maxRow is the longest row that is read, in bytes; a longer one is a bad row.
const maxRow = 64 << 10

// What can be wrong with a body. It may have been damaged on its way, so all but
// the size are worth another attempt.
var (
	errEmpty     = errors.New("empty body")
	errTruncated = errors.New("truncated gzip")
	errDamaged   = errors.New("damaged gzip")
	errContent   = errors.New("wrong content")
	errTooBig    = errors.New("too big")
)

// decode reads a file of transactions, which may be gzip of several members. Part
// of a day is no day: if the file does not end as it should, none is returned.
// Neither the body nor what it unpacks to may have more than limit bytes.
func decode(body io.Reader, d date, limit int64) (*day, error) {
	packed := bufio.NewReaderSize(&capped{r: body, left: limit}, maxRow)
	if start, err := packed.Peek(2); err != nil {
		if err == io.EOF && len(start) == 0 {
			return nil, errEmpty
		}
		if err != io.EOF {
			return nil, err
		}
		return nil, fmt.Errorf("%w: no gzip", errContent)
	} else if start[0] != 0x1f || start[1] != 0x8b {
		head, _ := packed.Peek(512)
		return nil, fmt.Errorf("%w: %s, not gzip", errContent, http.DetectContentType(head))
	}
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		return nil, gzipError(err)
	}
	return readRows(&capped{r: unpacked, left: limit}, d)
}

// gzipError gives an error of package gzip the words of this one.
func gzipError(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errTruncated
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), isCorrupt(err):
		return errDamaged
	}
	return err
}

// capped reads up to left bytes, and fails if there are more.
type capped struct {
	r    io.Reader
	left int64
}

func (c *capped) Read(p []byte) (int, error) {
	if int64(len(p)) > c.left+1 {
		p = p[:c.left+1]
	}
	n, err := c.r.Read(p)
	if int64(n) > c.left {
		return int(c.left), errTooBig
	}
	c.left -= int64(n)
	return n, err
}

// readRows reads the rows below the header.
func readRows(r io.Reader, d date) (*day, error) {
	lines := newLineReader(r)
	header, err := lines.next()
	if err == io.EOF {
		return nil, fmt.Errorf("%w: no header", errContent)
	} else if err != nil && err != errLongRow {
		return nil, gzipError(err)
	}
	cols, ok := parseHeader(header)
	if !ok {
		return nil, fmt.Errorf("%w: no header with time, account and amount", errContent)
	}
	out := &day{date: d, accounts: map[string]*cents{}}
	var fields [][]byte
	for {
		row, err := lines.next()
		switch {
		case err == io.EOF:
			if out.rows == 0 && out.bad.count > 0 {
				return nil, fmt.Errorf("%w: none of %d rows is good; %s", errContent, out.bad.count, out.bad.first)
			}
			return out, nil
		case err == errLongRow:
			out.bad.add(lines.line, "longer than %d bytes", maxRow)
			continue
		case err != nil:
			return nil, gzipError(err)
		case len(row) == 0:
			continue
		}
		if fields, ok = splitRow(fields[:0], row); !ok {
			out.bad.add(lines.line, "quotes out of place")
		} else if why := addRow(out, cols, fields); why != "" {
			out.bad.add(lines.line, "%s", why)
		}
	}
}

// addRow adds a row to the day, or says why not.
func addRow(out *day, cols columns, fields [][]byte) (why string) {
	if len(fields) != cols.count {
		return fmt.Sprintf("%s, not %d", plural(len(fields), "field"), cols.count)
	}
	when, account := fields[cols.time], fields[cols.account]
	at, ok := parseTime(when)
	if !ok {
		return fmt.Sprintf("bad time %s", excerpt(when))
	}
	if on := dateOf(at); on != out.date {
		return fmt.Sprintf("time %s is on %v", when, on)
	}
	if len(account) == 0 {
		return "no account"
	}
	amount, ok := parseCents(fields[cols.amount])
	if !ok {
		return fmt.Sprintf("bad amount %s", excerpt(fields[cols.amount]))
	}
	if !out.add(account, amount) {
		return "the volume of the day is too large"
	}
	return ""
}

// excerpt quotes the beginning of a field.
func excerpt(field []byte) string {
	const longest = 32
	if len(field) > longest {
		return strconv.Quote(string(field[:longest])) + "…"
	}
	return strconv.Quote(string(field))
}
