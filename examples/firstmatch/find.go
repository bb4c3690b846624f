package main

import (
	"context"
	"sync/atomic"

	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// windowPerCall is how many files, for each that is searched at once, may be
// taken from the walk and wait for their turn to be told: what was done ahead is
// done in vain when an earlier file has the match.
const windowPerCall = 4

// A hit is a line to be printed.
type hit struct {
	path string
	match
}

// A finder does the job that the flags describe.
type finder struct {
	cfg    config
	search *searcher
	counts *counts
	files  atomic.Int64 // how many there are, once that is known
	report func(error)  // told of what is skipped
}

// find prints the first matches, in order, until print fails or there are as many
// as asked for.
//
//	walk ──> search × n, in order ──> lines of each file ──> take -count ──> print
//
// Only the search has goroutines; the walk is done by whichever of them wants a
// file, and all behind the search by the caller.
func (f *finder) find(ctx context.Context, print func(context.Context, hit) error) error {
	s := f.search
	defer s.folders.closeAll()
	defer s.close()
	w := &walker{
		roots:   newRoots(f.cfg.paths, f.cfg.order != orderGiven),
		hidden:  f.cfg.hidden,
		folders: s.folders,
		counts:  f.counts,
		wanted:  s.wanted,
	}
	files := w.stream()
	if f.cfg.order != orderPath && f.cfg.order != orderGiven {
		var total int64
		var err error
		if files, total, err = sorted(ctx, files, f.cfg, s.folders.release); err != nil {
			return err
		}
		f.files.Store(total)
	}
	found := ordered.FilterMap(files, f.cfg.n, s.search,
		stage.Window(f.cfg.n*windowPerCall), stage.Name("search"))
	lines := stage.FlatMap(found, stage.Inline, f.lines, stage.Name("lines"))
	return stage.ForEach(ctx, stage.Take(lines, int(f.cfg.count)), 1, print, stage.Name("print"))
}

// lines are the matches of a finding, and then, unless that is to be skipped,
// what went wrong with the file.
func (f *finder) lines(_ context.Context, found finding) stage.Stream[hit] {
	return stage.New(func(*stage.Scope) stage.Reader[hit] {
		return &lineReader{f: f, found: found, path: found.path()}
	})
}

// A lineReader reads the lines of one finding; those that it does not hold, from
// the file.
type lineReader struct {
	f     *finder
	found finding
	path  string
	over  bool
}

func (l *lineReader) Next(dst []stage.Try[hit]) int {
	if l.over {
		return 0
	}
	if len(l.found.matches) > 0 {
		dst[0] = stage.Try[hit]{Value: hit{l.path, l.found.matches[0]}}
		l.found.matches = l.found.matches[1:]
		return 1
	}
	if g := l.found.rest; g != nil {
		if m, ok := g.scan.next(); ok {
			m.text = append([]byte(nil), m.text...)
			dst[0] = stage.Try[hit]{Value: hit{l.path, m}}
			return 1
		}
		if l.found.err, l.found.shrank = g.end(); l.found.err != nil {
			l.found.err = named(&l.found.candidate, l.found.err)
		}
		l.found.rest = nil
		g.s.put(g)
	}
	l.over = true
	if l.found.shrank {
		l.f.report(shrankError(l.path))
	}
	switch err := l.found.err; {
	case err == nil:
	case l.f.cfg.skipErrors:
		l.f.counts.errors.Add(1)
		l.f.report(err)
	default:
		dst[0] = stage.Try[hit]{Error: err}
		return 1
	}
	return 0
}

// Close gives back what the finding holds.
func (l *lineReader) Close() {
	l.over = true
	if g := l.found.rest; g != nil {
		l.found.rest = nil
		g.s.put(g)
	}
}
