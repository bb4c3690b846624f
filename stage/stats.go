package stage

import (
	"context"
	"sync"
	"time"
)

// StageStats is what one stage of a run has done so far. A stage with much
// Blocked and little Starved time is ahead of its downstream, one with much
// Starved time waits for its upstream, and one with neither is where more
// parallelism helps.
type StageStats struct {
	Name     string
	N        int           // its parallelism
	In       uint64        // items taken from upstream, errors included
	Out      uint64        // items taken by downstream, errors included
	Errors   uint64        // errors taken by downstream
	InFlight int           // items held: taken from upstream, not yet taken by downstream nor filtered out
	Window   int           // the bound of InFlight at present
	Calls    int           // workers that have an item in hand at present
	Busy     time.Duration // time in the stage's function, summed over its workers
	Starved  time.Duration // time in which a worker waited for upstream
	Blocked  time.Duration // time in which the window was full
}

// Stats collects the [StageStats] of the runs of a context; see [WithStats].
type Stats struct {
	mu     sync.Mutex
	stages []func() StageStats
}

type statsKey struct{}

// WithStats returns a context whose runs report to the Stats returned. Stages
// that work in the goroutine of whoever pulls, and sources, are not listed.
func WithStats(ctx context.Context) (context.Context, *Stats) {
	s := &Stats{}
	return context.WithValue(ctx, statsKey{}, s), s
}

func statsOf(ctx context.Context) *Stats {
	s, _ := ctx.Value(statsKey{}).(*Stats)
	return s
}

// Stages returns a snapshot per stage, in the order in which the runs opened
// them: upstream first. It never blocks on a stage and may be called at any
// time, also by a function of the run.
func (s *Stats) Stages() []StageStats {
	s.mu.Lock()
	stages := s.stages
	s.mu.Unlock()
	out := make([]StageStats, len(stages))
	for i, f := range stages {
		out[i] = f()
	}
	return out
}

// Report lists a stage of the run in the Stats of its context, if it has any.
// snapshot is called at any time by anyone, also after the run.
func (s *Scope) Report(snapshot func() StageStats) {
	st := s.run.stats
	if st == nil {
		return
	}
	st.mu.Lock()
	st.stages = append(st.stages, snapshot)
	st.mu.Unlock()
}

var epoch = time.Now()

// now is a monotonic clock reading. Only differences count.
func now() time.Duration { return time.Since(epoch) }
