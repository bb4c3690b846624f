package main

import (
	"context"
	"testing"
)

// calling calls f at each read, with its number, and reads a few bytes then.
type calling struct {
	reads int
	f     func(read int)
}

func (c *calling) Read(p []byte) (int, error) {
	c.reads++
	c.f(c.reads)
	return copy(p, "nothing here\n"), nil
}

func TestSettleKeepsTheLeastPlace(t *testing.T) {
	s := newSearcher(must(compile("x", false, false)), newFolders(theSystem), new(counts))
	if !s.wanted(1 << 60) {
		t.Error("nothing is settled, and yet something is not wanted")
	}
	for _, seq := range []int64{9, 7, 8} {
		s.settle(seq)
	}
	if !s.wanted(6) || !s.wanted(7) || s.wanted(8) {
		t.Errorf("settled at %d", s.cut.Load())
	}
}

// A file is read no further when an earlier one has the answer, or the run is
// over; a later one's answer does not keep it from being read.
func TestSettleBreaksOffTheReadingOfLaterFiles(t *testing.T) {
	const last = 10 // the read after which it has to end
	for _, tt := range []struct {
		name string
		do   func(s *searcher, cancel func(), read int)
	}{
		{"an earlier one", func(s *searcher, _ func(), read int) {
			switch read {
			case 3:
				s.settle(5) // this one
			case 5:
				s.settle(6)
			case last:
				s.settle(4)
			}
		}},
		{"cancelled", func(_ *searcher, cancel func(), read int) {
			if read == last {
				cancel()
			}
		}},
	} {
		ctx, cancel := context.WithCancel(context.Background())
		s := newSearcher(must(compile("x", false, false)), newFolders(theSystem), new(counts))
		in := &calling{}
		in.f = func(read int) {
			if read > last {
				panic("read on: " + tt.name)
			}
			tt.do(s, cancel, read)
		}
		s.stdin = in
		f, found, err := s.search(ctx, candidate{seq: 5, name: stdinName})
		if found || f.err != nil || err != nil || in.reads != last {
			t.Errorf("%s: %d reads, found %v, %v", tt.name, in.reads, found, f.err)
		}
		cancel()
	}
}
