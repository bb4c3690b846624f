package main

import (
	"fmt"
	"io"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/seed95b73fdc/sluice/lockfree"
)

// counter is what the goroutines of sharing add to.
type counter struct{ n atomic.Int64 }

func (c *counter) add() { c.n.Add(1) }

// heap is how many bytes of objects the heap holds, dead ones included that have
// not been swept.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// slowest is the way that the others are compared with: naive, if it was run.
func slowest(all []*figures) *figures {
	for _, f := range all {
		if f.way.name == "naive" {
			return f
		}
	}
	return all[0]
}

func table(out io.Writer, c config, all []*figures) {
	base := slowest(all)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\nway\ttime\tevents/s\t× %s\tallocs/event\tsteals\tout of key order\tpeak heap\t\n", base.way.name)
	for _, f := range all {
		took := f.median()
		fmt.Fprintf(w, "%s\t%v\t%.1f M\t%.1f\t%.2f\t%d\t%d\t%.1f MB\t\n", f.way.name, took.Round(time.Millisecond),
			float64(c.events)/took.Seconds()/1e6, base.median().Seconds()/took.Seconds(), f.allocs, f.steals, f.disorder, float64(f.peak)/1e6)
	}
	w.Flush()
	fmt.Fprintln(out)
	for _, f := range all {
		fmt.Fprintf(out, "%-9s %s\n", f.way.name, f.way.what)
	}
}

// chart draws a bar for the time of each way.
func chart(out io.Writer, all []*figures) {
	const width = 50
	longest := time.Duration(1)
	for _, f := range all {
		longest = max(longest, f.median())
	}
	fmt.Fprintln(out)
	for _, f := range all {
		bar := max(1, int(float64(width)*float64(f.median())/float64(longest)+0.5))
		fmt.Fprintf(out, "%-9s %s %v\n", f.way.name, strings.Repeat("█", bar), f.median().Round(time.Millisecond))
	}
}

// sharing shows what it costs when two goroutines count in one cache line, and
// when a line stands between them.
func sharing(out io.Writer) {
	const rounds = 20_000_000
	both := func(a, b *counter) time.Duration {
		start := time.Now()
		var wg sync.WaitGroup
		for _, x := range []*counter{a, b} {
			wg.Go(func() {
				for range rounds {
					x.add()
				}
			})
		}
		wg.Wait()
		return time.Since(start)
	}
	var near [2]counter
	var apart [2]lockfree.Padded[counter]
	side := both(&near[0], &near[1])
	padded := both(&apart[0].Value, &apart[1].Value)
	fmt.Fprintf(out, "\ntwo goroutines, a counter each: %.1f ns an addition side by side, %.1f ns with lockfree.Padded (%.1f ×)\n",
		float64(side.Nanoseconds())/rounds, float64(padded.Nanoseconds())/rounds, side.Seconds()/padded.Seconds())
	if near[0].n.Load() != rounds || apart[1].Value.n.Load() != rounds {
		fmt.Fprintln(out, "the counters are wrong")
	}
}
