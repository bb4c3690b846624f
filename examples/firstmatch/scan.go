package main

import (
	"bytes"
	"errors"
	"io"
	"math"
	"unicode/utf8"
)

const (
	kiB = 1 << 10
	miB = 1 << 20
	giB = 1 << 30

	// bufferSize is how much of a file is held at once. Most files are smaller.
	bufferSize = 128 * kiB
	// shownText is the most bytes of a line that are shown; of a longer line
	// they begin shownText/shownBefore before the match.
	shownText, shownBefore = 4 * kiB, 4
	// binaryHead is how far into a file a NUL makes it a binary one.
	binaryHead = 8 * kiB
)

// A match is a line that matches: where, and what is shown of it.
type match struct {
	line, column int64 // from 1; the column of the first match, in bytes
	text         []byte
	binary       bool // there is a NUL among the first bytes: no text
}

// A scan looks for matching lines in a file, through a buffer that it moves over
// the file.
//
//	          base          base+pos        base+end
//	           |               |               |
//	file ------[ kept, counted | not searched  ]------
//
// Of what was searched, shownText bytes are kept at most. All that is unsearched
// and may belong to a match that goes on beyond the buffer stays after pos.
type scan struct {
	p    *pattern
	src  io.Reader
	more func() bool // asked before each read: false ends the scan
	buf  []byte
	show int // shownText, but in tests

	pos, end int
	base     int64
	eof      bool
	err      error // why src ended, if not with the end of the file

	counted int   // newlines before buf[counted] are counted
	lines   int64 // that many
	lineAt  int64 // offset of the line in which buf[counted] is
	heads   int64 // as far has the file been looked at for a NUL
	nul     int64 // where the first one is; noNUL if there is none in the head

	sought   int  // with an expression: before buf[sought] its literal has been looked for
	skipping bool // the rest of a line that has matched
	over     bool
}

// reset begins a new scan, with the buffer of the last one.
func (s *scan) reset(p *pattern, src io.Reader, more func() bool) {
	*s = scan{p: p, src: src, more: more, buf: s.buf, show: s.show, nul: noNUL}
}

// errEnough ends a scan whose result is no longer needed.
var errEnough = errors.New("enough")

// next returns the next line that matches. After false, err says whether the file
// was read to its end. What it returns is good until the next call.
func (s *scan) next() (m match, ok bool) {
	for !s.over {
		if s.skipping {
			s.skipping = !s.skipLine()
			if s.skipping && !s.fill() {
				break
			}
			continue
		}
		var found bool
		if s.p.re == nil {
			found = s.findLiteral(&m)
		} else {
			found = s.findExpr(&m)
		}
		if found {
			s.skipping = true
			s.over = m.binary
			return m, true
		}
	}
	s.over = true
	return match{}, false
}

// skipLine moves pos behind the end of the line, or to the end of the buffer.
func (s *scan) skipLine() bool {
	k := bytes.IndexByte(s.buf[s.pos:s.end], '\n')
	if k < 0 {
		s.pos = s.end
		return false
	}
	s.pos += k + 1
	return true
}

// fill reads more. False means that there is no more, or, if not eof, that the
// buffer is full of what has to be kept.
func (s *scan) fill() bool {
	if s.eof {
		s.over = true
		return false
	}
	if s.end == len(s.buf) {
		k := max(0, s.pos-s.show)
		if k == 0 {
			return false
		}
		s.account(k)
		s.seeNUL(k)
		copy(s.buf, s.buf[k:s.end])
		s.base += int64(k)
		s.pos -= k
		s.end -= k
		s.counted -= k
		s.sought -= k
	}
	for range 100 { // as bufio does it: a reader that returns nothing for ever is broken
		if !s.more() {
			s.eof, s.over, s.err = true, true, errEnough
			return false
		}
		n, err := s.src.Read(s.buf[s.end:])
		s.end += n
		if err != nil {
			s.eof = true
			if err != io.EOF {
				s.err = err
			}
		}
		if n > 0 || s.eof {
			return true
		}
	}
	s.eof, s.err = true, io.ErrNoProgress
	return true
}

// account counts the lines that begin before buf[k] or there.
func (s *scan) account(k int) {
	if k <= s.counted {
		return
	}
	part := s.buf[s.counted:k]
	if n := bytes.Count(part, newline); n > 0 {
		s.lines += int64(n)
		s.lineAt = s.base + int64(s.counted+bytes.LastIndexByte(part, '\n')+1)
	}
	s.counted = k
}

var newline = []byte{'\n'}

// seeNUL looks for a NUL before buf[k], in the head of the file.
func (s *scan) seeNUL(k int) {
	to := min(s.base+int64(k), binaryHead)
	from := s.heads
	if from >= to {
		return
	}
	s.heads = to
	if i := bytes.IndexByte(s.buf[from-s.base:to-s.base], 0); i >= 0 && s.nul == noNUL {
		s.nul = from + int64(i)
	}
}

const noNUL = math.MaxInt64

func (s *scan) findLiteral(m *match) bool {
	k, n := s.p.lit.index(s.buf[s.pos:s.end])
	if k < 0 {
		s.pos = max(s.pos, s.end-s.p.span())
		s.fill()
		return false
	}
	s.pos += k
	s.account(s.pos)
	s.describe(m, s.pos, s.pos+n)
	return true
}

// describe fills in m for the match buf[at:to] in the line that has been
// counted. It may read on, for the rest of the line.
func (s *scan) describe(m *match, at, to int) {
	offset, length := s.base+int64(at), to-at
	m.line, m.column = s.lines+1, offset-s.lineAt+1
	shown := s.shownFrom(offset)

	// The end of the line, or as much of it as is shown: that, a byte that is
	// not, and one for a return before the newline.
	lineEnd, whole := 0, false
	for {
		at = int(offset - s.base)
		k := bytes.IndexByte(s.buf[at+length:s.end], '\n')
		if k >= 0 {
			lineEnd, whole = at+length+k, true
			break
		}
		lineEnd = s.end
		if s.base+int64(lineEnd)-shown >= int64(s.show)+2 || !s.fill() {
			whole = s.eof && lineEnd == s.end
			break
		}
	}
	s.over = false // the end of the file is not that of the scan
	atEnd := lineEnd
	if whole && lineEnd < s.end && lineEnd > 0 && s.buf[lineEnd-1] == '\r' {
		atEnd--
	}
	start, from := s.lineAt-s.base, shown-s.base
	if whole && int64(atEnd)-start <= int64(s.show) {
		from, to = start, atEnd
	} else {
		to = min(int(from)+s.show, atEnd)
	}
	s.seeNUL(to)
	if m.binary = s.nul < s.base+int64(to); m.binary {
		return
	}
	m.text = s.buf[from:max(int64(to), from)]
	if cutBefore, cutAfter := from > start, to < atEnd || !whole; cutBefore || cutAfter {
		m.text = excerpt(m.text, cutBefore, cutAfter)
	}
}

// shownFrom is where in the file the text begins that is shown of a long line
// with a match at offset.
func (s *scan) shownFrom(offset int64) int64 {
	return max(s.lineAt, offset-int64(s.show/shownBefore))
}

const ellipsis = "…"

// excerpt is a part of a line, with dots where it was cut. Runes are left whole.
func excerpt(part []byte, cutBefore, cutAfter bool) []byte {
	var text []byte
	if cutBefore {
		text = append(text, ellipsis...)
		for i := 0; i < utf8.UTFMax-1 && len(part) > 0 && !utf8.RuneStart(part[0]); i++ {
			part = part[1:]
		}
	}
	if cutAfter {
		for i := 1; i < utf8.UTFMax && i <= len(part); i++ {
			if tail := part[len(part)-i:]; utf8.RuneStart(tail[0]) {
				if !utf8.FullRune(tail) {
					part = part[:len(part)-i]
				}
				break
			}
		}
	}
	text = append(text, part...)
	if cutAfter {
		text = append(text, ellipsis...)
	}
	return text
}
