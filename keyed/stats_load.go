package keyed

import (
	"sync"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// Load shows how the items of a [Map], [OrderedMap], [Process] or [Reduce] fall on
// keys and lanes: pass it with [Measure], and ask it while the stage runs or
// afterwards. It shows the run that began last. It may be used by any number of
// goroutines.
type Load[K comparable] struct {
	mu    sync.Mutex
	keys  sketch[K]
	where map[K]int // the lanes of the keys in the sketch
	live  func() ([]LaneStats, uint64)
	lanes []LaneStats
	taken uint64
	from  time.Duration // when the run began
	took  time.Duration // all of it, when it has ended
}

// NewLoad returns a Load that has seen nothing.
func NewLoad[K comparable]() *Load[K] { return &Load[K]{} }

// Measure has a stage keep the books of load. About one item of 16, or of 64 while
// calls are very cheap, chosen at random, is measured. K must be the type of the
// stage's keys, which panics otherwise; a nil load panics. With [stage.Inline] there
// are no lanes, and nothing is measured.
func Measure[K comparable](load *Load[K]) stage.Option {
	stage.CheckFunc("keyed.Measure", "load", load == nil)
	return stage.With(measureKey{}, load)
}

// checkLoad panics unless the load of Measure has the stage's keys.
func checkLoad[K comparable](fn string, c config) {
	if _, ok := c.load.(*Load[K]); c.load != nil && !ok {
		argPanic(fn, "Measure has a %T, want a %T", c.load, (*Load[K])(nil))
	}
}

// LoadStats is how the items of a stage fall on keys and lanes.
type LoadStats[K comparable] struct {
	Lanes   []LaneStats   // none with PerKey; Keys is not counted
	Steals  uint64        // lanes that a worker has taken over from another one
	Hottest []KeyShare[K] // at most 8, hottest first
}

// Stats returns a snapshot. It may be called at any time, and never blocks.
func (l *Load[K]) Stats() LoadStats[K] {
	l.mu.Lock()
	defer l.mu.Unlock()
	lanes, steals, took := l.lanes, l.taken, l.took
	if l.live != nil {
		lanes, steals = l.live()
		took = now() - l.from
	}
	s := LoadStats[K]{Lanes: lanes, Steals: steals}
	share(s.Lanes, took)
	s.Hottest = l.keys.top(0, max(1, l.keys.total))
	for i := range s.Hottest {
		s.Hottest[i].Lane = l.where[s.Hottest[i].Key]
	}
	s.Hottest = hottest(s.Hottest)
	return s
}

// Skew says in words where the load is uneven, one finding a line: "key 17 is 41 % of
// the load, and 97 % of that of lane 7". It is empty if there is nothing to say.
func (s LoadStats[K]) Skew() string { return skew(s.Lanes, s.Hottest) }

func (l *Load[K]) begin(live func() ([]LaneStats, uint64)) {
	l.mu.Lock()
	l.keys, l.where, l.lanes, l.live = sketch[K]{}, map[K]int{}, nil, live
	l.from = now()
	l.mu.Unlock()
}

func (l *Load[K]) end(lanes []LaneStats, steals uint64) {
	l.mu.Lock()
	l.lanes, l.taken, l.live = lanes, steals, nil
	l.took = now() - l.from
	l.mu.Unlock()
}

// see counts items of a key, on a lane.
func (l *Load[K]) see(key K, lane, items int) {
	l.mu.Lock()
	if gone, some := l.keys.add(key, items); some {
		delete(l.where, gone)
	}
	l.where[key] = lane
	l.mu.Unlock()
}
