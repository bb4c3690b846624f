package keyed

import (
	"fmt"
	"time"
)

// LaneStats is what a lane of [Owners], or of a stage with [Measure], has done since
// its layout, which for a stage is the begin of its run.
type LaneStats struct {
	Depth   int           // functions queued at present
	Keys    int           // that have a state
	Done    uint64        // functions that have ended, without those of Atomically; in a Load, calls
	Share   float64       // of all that have ended in the layout, 0 to 1
	Rate    float64       // functions that have ended a second, since the layout
	Wait    time.Duration // from admission to the start, the mean of a sample of those that were queued
	Service time.Duration // from start to end, the mean of a sample
}

// OwnersStats is what [Owners] have done so far. About one function of 16, chosen at
// random, is measured: shares of keys and times come from those. All else is
// counted.
type OwnersStats[K comparable] struct {
	N         int
	Epoch     uint64
	Admitted  int           // functions admitted and not ended
	Window    int           // the bound of that
	Running   int           // functions that run, or workers on their way to one
	Queued    int           // callers that wait to be admitted
	Done      uint64        // functions that have ended, one of Atomically once
	Failed    uint64        // posted ones that ended with an error or a panic
	Withdrawn uint64        // that have not run, because their context ended while they were queued
	Resizes   uint64        // finished ones
	Resizing  time.Duration // time spent in them, waiting for functions to end included

	Atomically      uint64        // calls of Atomically that have ended, part of Done
	AtomicallyShare float64       // of Done, 0 to 1
	AtomicallyLanes float64       // lanes of such a call, the mean
	AtomicallyWait  time.Duration // from admission to the start, the mean
	AtomicallyBusy  time.Duration // from start to end, the mean

	Lanes   []LaneStats
	Hottest []KeyShare[K] // of the present layout, at most 8, hottest first
}

// ownersCounts is under the mu of Owners.
type ownersCounts struct {
	failed, withdrawn, resizes uint64
	resizing                   time.Duration
	atomically, atomicLanes    uint64
	atomicWait, atomicBusy     time.Duration
	past                       uint64 // functions that ended in earlier layouts
}

// Stats returns a snapshot. It waits for no function, and may be called at any
// time, also by a function, and after Close.
func (o *Owners[K, S]) Stats() OwnersStats[K] {
	o.mu.Lock()
	t, c, queued := o.table.Load(), o.counts, len(o.queue)
	o.mu.Unlock()
	s := OwnersStats[K]{
		N: int(o.n.Load()), Epoch: t.epoch, Window: int(o.most), Queued: queued,
		Admitted: int(o.books.Load() &^ slowRoad), Running: int(o.running.Load()),
		Failed: c.failed, Withdrawn: c.withdrawn, Resizes: c.resizes, Resizing: c.resizing, Atomically: c.atomically,
	}
	var done, sampled uint64
	for i := range t.lanes {
		l := &t.lanes[i]
		l.mu.Lock()
		depth := l.depth
		l.mu.Unlock()
		ls := LaneStats{Depth: depth, Keys: int(l.keys.Load()), Done: l.done.Load()}
		ls.Wait = mean(time.Duration(l.wait.Load()), l.waits.Load())
		ls.Service = mean(time.Duration(l.service.Load()), l.samples.Load())
		done += ls.Done
		s.Lanes = append(s.Lanes, ls)
		l.hot.Lock()
		sampled += l.hot.total
		l.hot.Unlock()
	}
	share(s.Lanes, now()-t.since)
	for i := range t.lanes {
		l := &t.lanes[i]
		l.hot.Lock()
		s.Hottest = append(s.Hottest, l.hot.top(i, max(1, sampled))...)
		l.hot.Unlock()
	}
	s.Hottest = hottest(s.Hottest)
	s.Done = done + c.past + c.atomically
	if s.Done > 0 {
		s.AtomicallyShare = float64(c.atomically) / float64(s.Done)
	}
	if c.atomically > 0 {
		s.AtomicallyLanes = float64(c.atomicLanes) / float64(c.atomically)
		s.AtomicallyWait = mean(c.atomicWait, c.atomically)
		s.AtomicallyBusy = mean(c.atomicBusy, c.atomically)
	}
	return s
}

func mean(sum time.Duration, of uint64) time.Duration {
	if of == 0 {
		return 0
	}
	return sum / time.Duration(of)
}

// Skew says in words where the load is uneven, one finding a line: "key 17 is 41 % of
// the load, and 97 % of that of lane 7". It is empty if there is nothing to say.
func (s OwnersStats[K]) Skew() string {
	words := skew(s.Lanes, s.Hottest)
	if s.AtomicallyShare >= muchAtomically {
		if words != "" {
			words += "\n"
		}
		words += fmt.Sprintf("%.0f %% of the functions take several keys at once, on %.1f lanes on average", 100*s.AtomicallyShare, s.AtomicallyLanes)
	}
	return words
}
