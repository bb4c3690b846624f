package batch

import (
	"math"
	"runtime"

	"github.com/seed95b73fdc/sluice/stage"
)

func yield() { runtime.Gosched() }

// count notes what the reader gets. Under mu.
func (r *agedReader[T]) count(given []stage.Try[[]T]) {
	r.stats.Out += uint64(len(given))
	for i := range given {
		if given[i].Error != nil {
			r.stats.Errors++
			r.held--
		}
		r.held -= len(given[i].Value)
	}
}

// snapshot is what the Stats of the run list.
func (r *agedReader[T]) snapshot() stage.StageStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stats
	s.Name, s.N, s.InFlight = r.name, 1, r.held
	s.Window = r.window()
	switch {
	case r.ended || !r.lent:
	case r.short:
		s.Blocked += r.now() - r.since
	default:
		s.Starved += r.now() - r.since
	}
	return s
}

// window is the most items that may be held: open batches, complete ones that
// the reader has room for, and what came with the last of them. Under mu.
func (r *agedReader[T]) window() int {
	batches := r.open + r.want
	if r.size > (math.MaxInt-chunk)/batches {
		return math.MaxInt
	}
	return r.size*batches + chunk
}
