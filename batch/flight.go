package batch

import (
	"context"
	"fmt"
	"runtime/debug"
	"runtime/pprof"

	"github.com/seed95b73fdc/sluice/stage"
)

// fly is the goroutine of a flush.
func (c *Coalescer[A, B]) fly(f *flight[A, B]) {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("sluice.stage", c.name)))
	items := make([]A, len(f.calls))
	for i, w := range f.calls {
		items[i] = w.item // of no use to anybody else, also if its caller gives up
	}
	err := fmt.Errorf("%s: %w", c.name, stage.ErrGoexit) // unless flush returns or panics
	var results []B
	defer func() {
		if v := recover(); v != nil {
			err = &stage.Panic{Stage: c.name, Value: v, Stack: debug.Stack()}
		}
		f.cancel(errFlushed)
		c.land(f, results, err)
	}()
	results, err = c.flush(f.ctx, items)
}

// land delivers what a flush has brought, and launches what has come meanwhile
// if that has waited for it.
func (c *Coalescer[A, B]) land(f *flight[A, B], results []B, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var short error
	if len(results) != len(f.calls) {
		short = &ResultsError{Items: len(f.calls), Results: len(results)}
	}
	for i, w := range f.calls {
		switch {
		case err != nil:
			w.err = err
		case short != nil && (i >= len(results) || len(results) > len(f.calls)):
			w.err = short
		default:
			w.result = results[i]
		}
		w.delivered = true
		w.done <- struct{}{} // has room
	}
	if p, ok := err.(*stage.Panic); ok && f.waiting == 0 && c.unheard == nil {
		c.unheard = p
	}
	delete(c.flights, f)
	if c.within == 0 && len(c.flights) == 0 && c.open.len > 0 {
		c.launch()
	}
	if c.landed != nil && len(c.flights) == 0 {
		close(c.landed)
	}
}
