package main

import (
	"context"

	"github.com/seed95b73fdc/sluice/examples/retry"
	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// A job is all that the pipeline needs.
type job struct {
	span  span
	n     int             // days in memory, and downloads at once
	stop  <-chan struct{} // closed to begin no further day
	top   int
	fetch func(context.Context, date) (*day, error) // one attempt
	retry retrying
	// write gets the days in order. It keeps nothing of a day.
	write func(summary) error
}

// arrival is what has become of a day.
type arrival struct {
	date date
	day  *day // nil if err is not
	err  error
}

// run downloads the days, n at once, and compares each, in order, with the last
// one that was there.
//
// A day takes a slot before its download begins, and gives it back when the next
// one has been compared with it. There are n slots; so no more than n days are in
// memory, be they on their way, waiting for one before them, being compared, or
// kept as the day before. Slots are taken in the order of the days, by the source:
// the earliest day that is not done always has one, and the slots of those behind
// it cannot hold it up. To compare takes two days, so there are two slots at least.
func (j *job) run(ctx context.Context) error {
	slots := make(slots, max(j.n, 2))
	dates := stage.Generate(func(ctx context.Context, yield func(date) bool) error {
		for d := range j.span.all() {
			if err := slots.take(ctx); err != nil {
				return err
			}
			if !yield(d) {
				return nil
			}
		}
		return nil
	})
	days := ordered.Map(stage.Until(dates, j.stop), j.n, j.arrive, stage.Window(j.n), stage.Name("download"))

	var before *day
	return stage.ForEach(ctx, days, 1, func(_ context.Context, a arrival) error {
		if a.err != nil {
			slots.giveBack()
			return j.write(summary{date: a.date, missing: a.err})
		}
		s := summarize(a.day, before, j.top)
		first := before == nil
		before = a.day // the old one is let go before its slot is given back
		if !first {
			slots.giveBack()
		}
		return j.write(s)
	}, stage.Name("compare"))
}

// slots bound the days in memory.
type slots chan struct{}

// take blocks until there is a slot or ctx is done.
func (s slots) take(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// giveBack never blocks.
func (s slots) giveBack() { <-s }

// arrive downloads a day, with as many attempts as it may take. A day that
// cannot be had is no error of the run. To the pipeline all attempts are one call, so
// the day keeps its place.
func (j *job) arrive(ctx context.Context, d date) (arrival, error) {
	attempts := 0
	attempt := func(ctx context.Context, d date) (*day, error) {
		attempts++
		return j.fetch(ctx, d)
	}
	got, err := retry.With(attempt, j.retry.policy(d))(ctx, d)
	switch {
	case err == nil:
		return arrival{date: d, day: got}, nil
	case ctx.Err() != nil:
		return arrival{}, err
	}
	return arrival{date: d, err: missingError{err, attempts}}, nil
}
