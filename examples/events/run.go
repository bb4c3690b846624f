package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

// figures are what was seen of one way.
type figures struct {
	way      *way
	path     string // of its file
	times    []time.Duration
	allocs   float64 // per event, of the last run
	peak     uint64  // bytes of heap, the most of all runs
	steals   uint64
	disorder int // records that came behind a later one of their key
}

func (f *figures) median() time.Duration {
	sorted := slices.Sorted(slices.Values(f.times))
	return sorted[len(sorted)/2]
}

func run(ctx context.Context, c config, out io.Writer) (err error) {
	dir := c.dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "events"); err != nil {
			return err
		}
		defer program.Unfinished(dir)()
		defer os.RemoveAll(dir)
	}
	fmt.Fprintf(out, "%d events, %d keys, %d workers, %d processors, %v\n", c.events, c.keys, c.workers, runtime.GOMAXPROCS(0), c.durable)
	events := makeEvents(c)
	var all []*figures
	for _, name := range c.only {
		all = append(all, &figures{way: wayOf(name), path: filepath.Join(dir, name+".events")})
	}
	for i := range c.repeats { // in turns, so that all see the same weather
		for _, f := range all {
			if i == 0 && !c.keep {
				defer program.Unfinished(f.path)()
				defer os.Remove(f.path)
			}
			if err := f.measure(ctx, c, events, f.path); err != nil {
				return fmt.Errorf("%s: %w", f.way.name, err)
			}
		}
	}
	table(out, c, all)
	chart(out, all)
	if c.counters {
		sharing(out)
	}
	return nil
}

// measure runs a way once and checks its file.
func (f *figures) measure(ctx context.Context, c config, events []*Event, path string) error {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	stop := watch(before.HeapAlloc, &f.peak)
	start := time.Now()
	did, err := f.way.do(ctx, c, events, path)
	took := time.Since(start)
	stop()
	runtime.ReadMemStats(&after)
	if did.close != nil {
		if e := did.close(); err == nil {
			err = e
		}
	}
	if err != nil {
		return err
	}
	f.times = append(f.times, took)
	f.allocs = float64(after.Mallocs-before.Mallocs) / float64(c.events)
	f.steals = did.steals
	if f.disorder, err = check(f.way, c, events, path); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// watch looks at the heap now and then, and keeps the most that it is beyond
// base.
func watch(base uint64, most *uint64) (stop func()) {
	const every = 5 * time.Millisecond
	quit, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				now := heap()
				*most = max(*most, now-min(now, base))
			}
		}
	}()
	return func() { close(quit); <-gone }
}

// check reads what a way has left: each event once, with its checksum. It
// counts the records that stand behind a later one of their key.
func check(w *way, c config, events []*Event, path string) (disorder int, err error) {
	seen := make([]bool, len(events))
	last := make([]uint64, c.keys) // ID + 1
	count := 0
	var wrong error
	err = w.records(path, c, func(r Result) {
		count++
		switch {
		case wrong != nil:
		case r.Tag != resultTag || r.ID >= uint64(len(events)):
			wrong = fmt.Errorf("record %d is of no event: %+v", count-1, r)
		case seen[r.ID]:
			wrong = fmt.Errorf("event %d is there twice", r.ID)
		case r != process(context.Background(), events[r.ID], 0):
			wrong = fmt.Errorf("event %d has the record %+v", r.ID, r)
		default:
			seen[r.ID] = true
			if r.ID+1 < last[r.Key] {
				disorder++
			}
			last[r.Key] = max(last[r.Key], r.ID+1)
		}
	})
	if err == nil {
		err = wrong
	}
	if err == nil && count != len(events) {
		err = fmt.Errorf("%d records of %d events", count, len(events))
	}
	if err == nil && w.ordered && disorder > 0 {
		err = fmt.Errorf("%d records are out of the order of their key", disorder)
	}
	return disorder, err
}
