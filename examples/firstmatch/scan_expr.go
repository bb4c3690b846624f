package main

import (
	"bytes"
	"io"
	"unicode/utf8"
)

// findExpr looks at the next line, or at the next one that has the expression's
// literal in it.
func (s *scan) findExpr(m *match) bool {
	seek := s.pos // the line ends at or after it
	if s.p.lit != nil {
		from := max(s.pos, s.sought-s.p.span())
		k, _ := s.p.lit.index(s.buf[from:s.end])
		if k < 0 {
			s.sought = s.end
			if nl := bytes.LastIndexByte(s.buf[from:s.end], '\n'); nl >= 0 {
				s.pos = from + nl + 1
			}
			return s.moreOfLine(m)
		}
		seek = from + k
		s.sought = seek
		if nl := bytes.LastIndexByte(s.buf[s.pos:seek], '\n'); nl >= 0 {
			s.pos += nl + 1
		}
	}
	k := bytes.IndexByte(s.buf[seek:s.end], '\n')
	if k < 0 && !s.eof {
		return s.moreOfLine(m)
	}
	end, next := s.end, s.end
	if k >= 0 {
		end, next = seek+k, seek+k+1
		if end > s.pos && s.buf[end-1] == '\r' {
			end--
		}
	} else if s.pos == s.end {
		s.over = true // no line after the last newline
		return false
	}
	line := s.buf[s.pos:end]
	if !s.p.re.Match(line) {
		s.pos = next
		return false
	}
	loc := s.p.re.FindIndex(line)
	at := s.pos
	s.account(at)
	s.describe(m, at+loc[0], at+loc[1])
	return true
}

// moreOfLine reads on, for a line that begins at pos and does not end in the
// buffer. One that fills the buffer is searched rune by rune.
func (s *scan) moreOfLine(m *match) bool {
	if s.fill() || s.over {
		return false
	}
	s.account(s.pos)
	head := append([]byte(nil), s.buf[s.pos:s.pos+s.show]...)
	start := s.base + int64(s.pos)
	runes := &lineRunes{s: s}
	loc := s.p.re.FindReaderIndex(runes)
	if s.err == errEnough {
		return false
	}
	s.over = false
	if loc == nil {
		s.skipping = true
		return false
	}
	if s.shownFrom(start+int64(loc[0])) < s.base+int64(s.pos-s.show) {
		// A match so long that its beginning may have left the buffer.
		m.line, m.column = s.lines+1, int64(loc[0])+1
		s.seeNUL(s.pos)
		if m.binary = s.nul < start+int64(s.show); !m.binary {
			m.text = excerpt(head, false, true)
		}
		return true
	}
	at := start - s.base
	s.describe(m, int(at)+loc[0], int(at)+loc[1])
	return true
}

// lineRunes are the runes of the line at pos, which moves along.
type lineRunes struct{ s *scan }

func (l *lineRunes) ReadRune() (r rune, size int, err error) {
	s := l.s
	for {
		b := s.buf[s.pos:s.end]
		switch {
		case len(b) > 0 && b[0] == '\n', len(b) > 1 && b[0] == '\r' && b[1] == '\n', len(b) == 0 && s.eof:
			return 0, 0, io.EOF
		case len(b) > 1 && b[0] != '\r' && utf8.FullRune(b), len(b) > 0 && s.eof, len(b) > 1 && b[0] == '\r':
			r, size = utf8.DecodeRune(b)
			s.pos += size
			return r, size, nil
		}
		if !s.fill() && (s.err == errEnough || !s.eof) {
			return 0, 0, io.EOF
		}
	}
}
