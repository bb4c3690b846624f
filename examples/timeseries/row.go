package main

import (
	"bytes"
	"strings"
	"time"
)

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

// parseTime reads a time of RFC 3339, to the letter: package time by itself lets
// some others pass.
func parseTime(b []byte) (time.Time, bool) {
	const shape = "0000-00-00T00:00:00"
	if len(b) <= len(shape) || !hasShape(b[:len(shape)], shape) {
		return time.Time{}, false
	}
	zone := b[len(shape):]
	if zone[0] == '.' {
		digits := 1
		for digits < len(zone) && isDigit(zone[digits]) {
			digits++
		}
		zone = zone[digits:]
	}
	if string(zone) != "Z" {
		offset := hasShape(zone, "+00:00") || hasShape(zone, "-00:00")
		if !offset || string(zone[1:3]) > "23" || string(zone[4:6]) > "59" {
			return time.Time{}, false
		}
	}
	var t time.Time
	err := t.UnmarshalText(b)
	return t, err == nil
}

// hasShape reports whether b is like shape, with any digit for each 0.
func hasShape(b []byte, shape string) bool {
	if len(b) != len(shape) {
		return false
	}
	for i, c := range b {
		if shape[i] == '0' && !isDigit(c) || shape[i] != '0' && c != shape[i] {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

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
			if !isDigit(b) || c > maxCents {
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
