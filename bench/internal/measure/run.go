package measure

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"
)

// Plan says how thoroughly to measure.
type Plan struct {
	Repeats int           // how often each contender of each row has its turn
	AtLeast time.Duration // a turn repeats the job until this much time has passed
	Log     io.Writer     // told about each repeat; nil for silence
}

// Sample is one turn of one contender: costs per item.
type Sample struct {
	Nanos, Allocs, Bytes float64
}

// Result holds the samples of a group.
type Result struct {
	Group   Group
	Repeats int
	samples map[cell][]Sample
}

type cell struct{ row, contender string }

// spent is g with the names of its contenders only, which keep no memory alive.
func (g Group) spent() Group {
	rows := slices.Clone(g.Rows)
	for i := range rows {
		names := make([]Contender, len(rows[i].Contenders))
		for k, c := range rows[i].Contenders {
			names[k] = named(c.Name())
		}
		rows[i].Contenders = names
	}
	g.Rows = rows
	return g
}

// named is a contender that has had its turns.
type named string

func (n named) Name() string { return string(n) }

func (n named) Run() (Tally, error) { return Tally{}, fmt.Errorf("%s: has been measured", string(n)) }

// Run measures g. The Result has the names of its contenders, and nothing else of
// them. Each repeat gives every contender of every row one turn, in
// the order in which they are listed; a first round only warms up. It ends at
// the first wrong output. Run blocks until all is measured.
func Run(g Group, p Plan) (*Result, error) {
	r := &Result{Group: g.spent(), Repeats: p.Repeats, samples: map[cell][]Sample{}}
	if err := g.Verify(); err != nil {
		return nil, err
	}
	for i := range p.Repeats {
		start := time.Now()
		for _, row := range g.Rows {
			for _, c := range row.Contenders {
				s, err := turn(row, c, p.AtLeast)
				if err != nil {
					return nil, fmt.Errorf("measure: %s/%s: %w", g.Key, row.Name, err)
				}
				at := cell{row.Name, c.Name()}
				r.samples[at] = append(r.samples[at], s)
			}
		}
		if p.Log != nil {
			fmt.Fprintf(p.Log, "%s: repeat %d of %d, %.1f s\n", g.Key, i+1, p.Repeats, time.Since(start).Seconds())
		}
	}
	return r, nil
}

// turn runs c until it has run for at least the given time. Garbage and goroutines of the
// one before are cleared away first, and outputs checked, outside the timing.
func turn(row Row, c Contender, atLeast time.Duration) (Sample, error) {
	idle := runtime.NumGoroutine()
	runtime.GC()
	runs, elapsed := 0, time.Duration(0)
	var m memory
	m.begin()
	for runs == 0 || elapsed < atLeast {
		start := time.Now()
		got, err := c.Run()
		elapsed += time.Since(start)
		checking := got.Later != nil
		if checking {
			m.end()
		}
		if _, err := row.judge(c, got, err); err != nil {
			return Sample{}, err
		}
		if checking {
			m.begin()
		}
		runs++
	}
	m.end()
	if err := settle(idle); err != nil {
		return Sample{}, fmt.Errorf("%s: %w", c.Name(), err)
	}
	per := 1 / float64(runs*row.Items)
	return Sample{
		Nanos:  float64(elapsed.Nanoseconds()) * per,
		Allocs: float64(m.allocs) * per,
		Bytes:  float64(m.bytes) * per,
	}, nil
}

// memory adds up what has been allocated between each begin and the end after it.
type memory struct {
	before        runtime.MemStats
	allocs, bytes uint64
}

func (m *memory) begin() { runtime.ReadMemStats(&m.before) }

func (m *memory) end() {
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	m.allocs += after.Mallocs - m.before.Mallocs
	m.bytes += after.TotalAlloc - m.before.TotalAlloc
}

// settle waits until no more goroutines run than before.
func settle(idle int) error {
	const patience, step = 2 * time.Second, time.Millisecond
	for waited := time.Duration(0); runtime.NumGoroutine() > idle; waited += step {
		if waited > patience {
			return fmt.Errorf("%w: %d", ErrLeftovers, runtime.NumGoroutine()-idle)
		}
		time.Sleep(step)
	}
	return nil
}

// Nanos returns a contender's nanoseconds per item, one value per repeat; nil
// if it was not measured.
func (r *Result) Nanos(row, contender string) []float64 {
	return r.each(row, contender, func(s Sample) float64 { return s.Nanos })
}

// Allocs returns a contender's allocations per item, one value per repeat.
func (r *Result) Allocs(row, contender string) []float64 {
	return r.each(row, contender, func(s Sample) float64 { return s.Allocs })
}

// Bytes returns a contender's allocated bytes per item, one value per repeat.
func (r *Result) Bytes(row, contender string) []float64 {
	return r.each(row, contender, func(s Sample) float64 { return s.Bytes })
}

func (r *Result) each(row, contender string, of func(Sample) float64) []float64 {
	var vs []float64
	for _, s := range r.samples[cell{row, contender}] {
		vs = append(vs, of(s))
	}
	return vs
}
