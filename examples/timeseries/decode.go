package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
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
	lines := &lineReader{r: bufio.NewReaderSize(r, maxRow)}
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
	var at time.Time
	when, account := fields[cols.time], fields[cols.account]
	if err := at.UnmarshalText(when); err != nil {
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

// columns are where the fields stand.
type columns struct{ time, account, amount, count int }

// parseHeader finds the columns by name, in any order; others may be there too.
func parseHeader(row []byte) (columns, bool) {
	row = bytes.TrimPrefix(row, []byte("\ufeff"))
	fields, ok := splitRow(nil, row)
	cols := columns{-1, -1, -1, len(fields)}
	for i, f := range fields {
		var col *int
		switch strings.ToLower(string(f)) {
		case "time":
			col = &cols.time
		case "account":
			col = &cols.account
		case "amount":
			col = &cols.amount
		default:
			continue
		}
		if *col >= 0 {
			return cols, false // which of the two is it?
		}
		*col = i
	}
	return cols, ok && min(cols.time, cols.account, cols.amount) >= 0
}

// splitRow appends the fields of a row to dst, in place: row is overwritten. A
// field may be in quotes, with a quote within it doubled, but does not go on in the
// next line: then a quote too few spoils one row and not all that follow.
func splitRow(dst [][]byte, row []byte) ([][]byte, bool) {
	for {
		if len(row) == 0 || row[0] != '"' {
			i := bytes.IndexByte(row, ',')
			if i < 0 {
				return append(dst, row), bytes.IndexByte(row, '"') < 0
			}
			if bytes.IndexByte(row[:i], '"') >= 0 {
				return dst, false
			}
			dst, row = append(dst, row[:i]), row[i+1:]
			continue
		}
		field := row[1:1]
		for rest := row[1:]; ; {
			i := bytes.IndexByte(rest, '"')
			if i < 0 {
				return dst, false
			}
			field = append(field, rest[:i]...)
			rest = rest[i+1:]
			if len(rest) > 0 && rest[0] == '"' {
				field, rest = append(field, '"'), rest[1:]
				continue
			}
			row = rest
			break
		}
		dst = append(dst, field)
		if len(row) == 0 {
			return dst, true
		}
		if row[0] != ',' {
			return dst, false
		}
		row = row[1:]
	}
}

// parseCents reads an amount such as 12.34, -12.3 or 12.
func parseCents(s []byte) (cents, bool) {
	negative := len(s) > 0 && s[0] == '-'
	if negative {
		s = s[1:]
	}
	whole, fraction, point := bytes.Cut(s, []byte("."))
	if len(whole) == 0 || point && (len(fraction) == 0 || len(fraction) > 2) {
		return 0, false
	}
	var c cents
	for _, part := range [][]byte{whole, fraction} {
		for _, b := range part {
			if b < '0' || b > '9' || c > maxCents {
				return 0, false
			}
			c = c*10 + cents(b-'0')
		}
	}
	for range 2 - len(fraction) {
		c *= 10
	}
	if c > maxCents {
		return 0, false
	}
	if negative {
		c = -c
	}
	return c, true
}
