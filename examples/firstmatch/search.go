package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// A file's matches are handed on with the result, up to so many and so much
// text, if the file is in the buffer to its end. Whoever prints them has the scan
// go on for the rest: so the first one need not wait for what is yet to be read.
const heldMatches, heldText = 64, 16 * kiB

// A finding is what a search of one file has found.
type finding struct {
	candidate
	matches []match
	rest    *scanning // goes on after matches; nil if there is nothing more
	err     error     // came after matches
	shrank  bool
}

// A scanning is the search of one file, and what it needs for that. It is used
// again for the next file.
type scanning struct {
	s      *searcher
	ctx    context.Context
	seq    int64
	file   fileReader
	scan   scan
	unpack unpacker
	more   func() bool
	unhook func() bool // lets go of ctx
}

// A searcher looks into candidates. It has a scanning for each call of search
// that runs, and for each finding that has a rest, which are no more than the
// window of its stage and the one at the printer.
type searcher struct {
	p        *pattern
	count    int64 // matches that are asked for
	skip     bool  // errors are skipped
	unpack   bool
	maxSize  int64  // 0 for any
	output   fileID // is not searched
	stdin    io.Reader
	folders  *folders
	counts   *counts
	bufSize  int
	showText int

	// cut is the least place of a candidate that has all the matches asked for,
	// or an error: those after it make no difference.
	cut atomic.Int64

	mu   sync.Mutex
	free []*scanning
	held map[*scanning]struct{} // those that have a file open
}

func newSearcher(p *pattern, folders *folders, c *counts) *searcher {
	s := &searcher{p: p, count: 1, folders: folders, counts: c,
		bufSize: bufferSize, showText: shownText, held: make(map[*scanning]struct{})}
	s.cut.Store(math.MaxInt64)
	return s
}

// wanted reports whether the candidate in this place can make a difference.
func (s *searcher) wanted(seq int64) bool { return seq <= s.cut.Load() }

// settle notes that what comes after the candidate in this place makes none.
func (s *searcher) settle(seq int64) {
	for {
		cut := s.cut.Load()
		if seq >= cut || s.cut.CompareAndSwap(cut, seq) {
			return
		}
	}
}

// search looks into a candidate. The error is always nil: what went wrong is part
// of the finding, after the matches that come before it.
func (s *searcher) search(ctx context.Context, c candidate) (f finding, found bool, _ error) {
	f.candidate = c
	if c.err == nil {
		if !s.wanted(c.seq) {
			s.folders.release(c.dir)
			return f, false, nil
		}
		s.look(ctx, &f)
	} else {
		f.err = c.err
	}
	if f.err != nil {
		f.err = named(&c, f.err)
		if !s.skip {
			s.settle(c.seq)
		}
	}
	if int64(len(f.matches)) >= s.count {
		s.settle(c.seq)
	}
	return f, len(f.matches) > 0 || f.err != nil || f.shrank, nil
}

// named makes sure that an error names the file.
func named(c *candidate, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		// The path as it is printed elsewhere, on one line.
		return fmt.Errorf("%s: %s: %w", printable(c.path()), path.Op, path.Err)
	}
	return fmt.Errorf("%s: %w", printable(c.path()), err)
}

func (s *searcher) look(ctx context.Context, f *finding) {
	c := &f.candidate
	g := s.get()
	opened, err := g.open(ctx, c)
	s.folders.release(c.dir)
	if err != nil || !opened {
		f.err = err
		s.put(g)
		return
	}
	text := 0
	for {
		m, ok := g.scan.next()
		if !ok {
			f.err, f.shrank = g.end()
			s.put(g)
			return
		}
		m.text = append([]byte(nil), m.text...)
		text += len(m.text)
		if f.matches = append(f.matches, m); int64(len(f.matches)) == s.count {
			s.put(g)
			return
		}
		if !g.scan.eof || len(f.matches) == heldMatches || text >= heldText {
			f.rest = g
			return
		}
	}
}

// get takes a scanning that is free.
func (s *searcher) get() *scanning {
	s.mu.Lock()
	defer s.mu.Unlock()
	var g *scanning
	if k := len(s.free) - 1; k >= 0 {
		g, s.free = s.free[k], s.free[:k]
	} else {
		g = &scanning{s: s}
		g.more = g.goOn
		g.scan.buf, g.scan.show = make([]byte, s.bufSize), s.showText
	}
	s.held[g] = struct{}{}
	return g
}

// put closes the file of a scanning, and gives it back.
func (s *searcher) put(g *scanning) {
	g.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, g)
	s.free = append(s.free, g)
}

// close closes what findings that nobody took have left open.
func (s *searcher) close() {
	for g := range s.held {
		g.close()
	}
	for _, g := range s.free {
		g.unpack.close()
	}
}

func (g *scanning) goOn() bool { return g.ctx.Err() == nil && g.s.wanted(g.seq) }

// open opens the candidate. It reports false if that is passed over.
func (g *scanning) open(ctx context.Context, c *candidate) (opened bool, err error) {
	s := g.s
	g.ctx, g.seq = ctx, c.seq
	g.file = fileReader{bytes: &s.counts.bytes}
	if c.isStdin() {
		g.file.src = s.stdin
	} else {
		var in info
		if c.dir != nil {
			g.file.h, in, err = s.folders.sys.open(c.dir, c.name)
		} else {
			g.file.h, in, err = openNamed(c.name)
		}
		if err != nil {
			return false, err
		}
		if pass := s.pass(c, in); pass != nil {
			pass.Add(1)
			g.close()
			return false, nil
		}
		if g.file.size = in.size; in.kind != kindFile {
			g.file.size = 0
			file := g.file.h.file
			g.unhook = context.AfterFunc(ctx, func() { file.SetReadDeadline(time.Unix(1, 0)) })
		}
	}
	s.counts.files.Add(1)
	var src io.Reader = &g.file
	if s.unpack && (c.isStdin() || compressed(c.name)) {
		if src, err = g.unpack.open(src); err != nil {
			return false, err
		}
	}
	g.scan.reset(s.p, src, g.more)
	return true, nil
}

// pass says as what a candidate that has been opened is passed over, if it is.
func (s *searcher) pass(c *candidate, in info) *atomic.Int64 {
	switch {
	case c.dir != nil && in.kind == kindLink:
		return &s.counts.links
	case c.dir != nil && in.kind != kindFile:
		return &s.counts.specials
	case in.kind == kindFile && s.maxSize > 0 && in.size > s.maxSize:
		return &s.counts.large
	case in.kind == kindFile && in.id == s.output && in.id != fileID{}:
		return &s.counts.output
	}
	return nil
}

// end says how the file ended, after the last match.
func (g *scanning) end() (err error, shrank bool) {
	if err = g.scan.err; err == errEnough || err != nil && g.ctx.Err() != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, false
	}
	return err, g.file.shrank
}

func (g *scanning) close() {
	if g.unhook != nil {
		g.unhook()
		g.unhook = nil
	}
	if g.file.src == nil {
		g.file.h.close()
	}
	g.file = fileReader{}
	g.ctx = nil
}
