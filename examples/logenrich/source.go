package main

import (
	"context"
	"errors"
	"io"
)

// A record is a line on its way through the pipeline.
type record struct {
	line
	pauses  bool   // the input may pause behind it
	offset  int64  // how far into the input file the line ends, for the progress
	members []byte // the fields, as the members of a JSON object
	key     field  // to look up
	outcome outcome
	json    []byte // the line of output
}

// endsBatch reports whether a batch ends with r, full or not: lines that are there
// do not wait for some that are not.
func (r record) endsBatch() bool { return r.pauses }

// A source cuts the input into batches of lines.
type source struct {
	in    *input
	lines *lineReader
	batch int
	idle  idler
}

// An idler is told when the input pauses.
type idler interface {
	// pause is called before a read that may wait, with the number of lines read
	// so far. An error ends the source.
	pause(lines int) error
	// resume is called after that read.
	resume()
}

func newSource(in *input, maxLine, batch int, idle idler) *source {
	return &source{in: in, lines: newLineReader(in, readBuffer, maxLine), batch: batch, idle: idle}
}

// each calls yield for each batch, until that returns false, the context is done
// or the input interrupted, neither of which is an error of the source. A batch
// is full, or what could be had without waiting.
func (s *source) each(ctx context.Context, yield func([]record) bool) error {
	defer context.AfterFunc(ctx, s.in.interrupt)()
	for ctx.Err() == nil {
		records, err := s.next()
		if len(records) > 0 && !yield(records) {
			return nil
		}
		if errors.Is(err, io.EOF) || errors.Is(err, errInterrupted) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *source) next() ([]record, error) {
	records := make([]record, 0, s.batch)
	for len(records) < s.batch {
		r, err := s.nextRecord()
		if err != nil {
			return records, err
		}
		if records = append(records, r); r.pauses {
			break
		}
	}
	return records, nil
}

// records calls yield for each line by itself; it ends as each does.
func (s *source) records(ctx context.Context, yield func(record) bool) error {
	defer context.AfterFunc(ctx, s.in.interrupt)()
	for ctx.Err() == nil {
		r, err := s.nextRecord()
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, errInterrupted):
			return nil
		case err != nil:
			return err
		case !yield(r):
			return nil
		}
	}
	return nil
}

// nextRecord reads the next line, and tells the idler if that may take a while.
func (s *source) nextRecord() (record, error) {
	wait := !s.lines.more()
	if wait {
		if err := s.idle.pause(s.lines.read); err != nil {
			return record{}, err
		}
	}
	l, err := s.lines.next()
	if wait {
		s.idle.resume()
	}
	if err != nil {
		return record{}, err
	}
	return record{line: l, offset: s.offset(), pauses: !s.lines.more()}, nil
}

// offset is how far the lines go into the input file; as far as a compressed one
// has been read.
func (s *source) offset() int64 {
	if s.in.gzipped {
		return s.in.raw.Load()
	}
	return s.lines.off
}

// neverIdle is an idler that does nothing.
type neverIdle struct{}

func (neverIdle) pause(int) error { return nil }
func (neverIdle) resume()         {}
