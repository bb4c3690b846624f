package main

import (
	"fmt"
	"time"
)

// A report says what a run did.
type report struct {
	lines    int64
	outcomes [outcomes]int64
	elapsed  time.Duration
	stopped  bool
}

func reportOn(out *output, elapsed time.Duration, stopped bool) report {
	r := report{lines: out.lines.Load(), elapsed: elapsed, stopped: stopped}
	for i := range r.outcomes {
		r.outcomes[i] = out.outcomes[i].Load()
	}
	return r
}

// String is the summary, one line.
func (r report) String() string {
	s := fmt.Sprintf("%d lines, %d enriched, %d unknown, %d malformed, %.0f lines/s",
		r.lines, r.outcomes[enriched], r.outcomes[unknown], r.outcomes[malformed], float64(r.lines)/r.elapsed.Seconds())
	if r.stopped {
		s += ", interrupted"
	}
	return s
}
