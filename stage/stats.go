package stage

import (
	"context"
	"slices"
	"sync"
	"time"
)

// StageStats is what one stage of a run has done so far. A stage with much
// Blocked and little Starved time is ahead of its downstream, one with much
// Starved time waits for its upstream, and one with neither is where more
// parallelism helps.
type StageStats struct {
	Name     string
	N        int           // its parallelism; 1 for a ForEach or To with Inline
	In       uint64        // items taken from upstream, errors included
	Out      uint64        // items taken by downstream, errors included
	Errors   uint64        // errors taken by downstream
	InFlight int           // items held: taken from upstream, not yet taken by downstream nor filtered out
	Window   int           // the bound of InFlight at present
	Dropped  uint64        // values dropped, or merged into others, by a Buffer, Debounce or Sample
	Calls    int           // workers that have an item in hand at present
	Busy     time.Duration // time in the stage's function, summed over its workers
	Starved  time.Duration // time in which a worker waited for upstream
	Blocked  time.Duration // time in which the window was full; of a FlatMap, in which its workers waited for downstream, summed
}

// Stats collects the [StageStats] of the runs of a context; see [WithStats]. It
// may be used by any number of goroutines and runs at once.
type Stats struct {
	mu    sync.Mutex
	runs  []*run
	ended []StageStats // of runs that have ended, those of one name added up
}

type statsKey struct{}

// WithStats returns a context whose runs report to the Stats returned. Listed
// are the stages that call a function with n ≥ 1 (those of [Any], [All] and
// ordered.First too), ForEach, To and Reduce with any n, and operators that call
// [Scope.Report]. Not listed are sources, [Merge], the many-outs, what runs in
// the goroutine of whoever pulls, other terminals, stages of the inner streams of
// a FlatMap, and runs that a function starts with the context it was given; give
// those a Stats of their own.
func WithStats(ctx context.Context) (context.Context, *Stats) {
	s := &Stats{}
	return context.WithValue(ctx, statsKey{}, s), s
}

func statsOf(ctx context.Context) *Stats {
	s, _ := ctx.Value(statsKey{}).(*Stats)
	return s
}

// Stages returns a snapshot: one entry for each stage of the runs that have
// ended, those of one name added up, and then one for each stage of a run that
// has not, upstream first. It never blocks on a stage and may be called at any
// time, also by a function of the run.
func (s *Stats) Stages() []StageStats {
	s.mu.Lock()
	out := slices.Clone(s.ended)
	runs := slices.Clone(s.runs)
	s.mu.Unlock()
	for _, r := range runs {
		r.mu.Lock()
		reports := slices.Clone(r.reports)
		r.mu.Unlock()
		for _, f := range reports {
			out = append(out, f())
		}
	}
	return out
}

// add adds the counts of a stage to those of its name. Under mu.
func (s *Stats) add(t StageStats) {
	for i := range s.ended {
		if e := &s.ended[i]; e.Name == t.Name {
			t.In += e.In
			t.Out += e.Out
			t.Errors += e.Errors
			t.Busy += e.Busy
			t.Starved += e.Starved
			t.Blocked += e.Blocked
			*e = t
			return
		}
	}
	s.ended = append(s.ended, t)
}

// Report lists a stage in the Stats of the run's context, if it has any; call
// it once, in the function given to [New], upstream first. snapshot may be called
// at any time by anyone, and a last time when the run has ended.
func (s *Scope) Report(snapshot func() StageStats) {
	r := s.run
	if r.stats == nil || s.family.base != r.root {
		return
	}
	r.mu.Lock()
	r.reports = append(r.reports, snapshot)
	first := len(r.reports) == 1
	r.mu.Unlock()
	if first {
		r.stats.mu.Lock()
		r.stats.runs = append(r.stats.runs, r)
		r.stats.mu.Unlock()
	}
}

// report moves the run's entries to those of the runs that have ended.
func (r *run) report() {
	if r.stats == nil || len(r.reports) == 0 {
		return
	}
	var last []StageStats
	for _, f := range r.reports {
		last = append(last, f())
	}
	s := r.stats
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range last {
		s.add(t)
	}
	s.runs = slices.DeleteFunc(s.runs, func(o *run) bool { return o == r })
}

var epoch = time.Now()

// now is a monotonic clock reading. Only differences count.
func now() time.Duration { return time.Since(epoch) }
