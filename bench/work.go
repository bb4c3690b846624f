package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/seed95b73fdc/sluice/bench/internal/measure"
)

// spin is pure CPU work: each step needs the one before, and the result is used.
func spin(x uint64, steps int) uint64 {
	for range steps {
		x = x*6364136223846793005 + 1442695040888963407 // Knuth's MMIX generator
	}
	return x
}

// work returns an f that spins so many steps on each item and hands it on.
func work(steps int) func(context.Context, int) (int, error) {
	return func(_ context.Context, v int) (int, error) {
		const unlikely = 0xDEADBEEFCAFEF00D // a result would show as a wrong output
		if spin(uint64(v), steps) == unlikely {
			return -1, nil
		}
		return v, nil
	}
}

// calibrated is work of a known duration.
type calibrated struct {
	want  time.Duration
	steps int
}

func (c calibrated) f() func(context.Context, int) (int, error) {
	if c.steps == 0 {
		return noop
	}
	return work(c.steps)
}

// calibrate finds how many steps make the plain loop slower by d per item than
// it is with noop. It measures in the loop itself, because a CPU overlaps short
// chains of neighbouring items: steps timed in one long chain would come out
// cheaper than they were meant to be.
func calibrate(d time.Duration) calibrated {
	c := calibrated{want: d}
	want := float64(d.Nanoseconds())
	if want == 0 {
		return c
	}
	const firstGuess, rounds, closeEnough = 1.2, 6, 0.02 // ns a step
	c.steps = max(1, int(want/firstGuess))
	for range rounds {
		got := c.actual()
		if math.Abs(got/want-1) < closeEnough {
			break
		}
		c.steps = max(1, int(math.Round(float64(c.steps)*want/got)))
	}
	return c
}

// actual measures how much slower the work makes the plain loop now, in
// nanoseconds per item. It takes the best of several tries: what disturbs a
// single goroutine only ever slows it.
func (c calibrated) actual() float64 {
	const tries, budget = 7, 2 * time.Millisecond
	items := upTo(max(100, int(budget/max(c.want, 1))))
	best := func(f func(context.Context, int) (int, error)) float64 {
		least := math.Inf(1)
		for range tries {
			var t measure.Tally
			start := time.Now()
			_ = loop(context.Background(), job{items: items, n: 1, f: f}, t.InOrder) // neither f fails
			least = min(least, float64(time.Since(start).Nanoseconds())/float64(len(items)))
		}
		return least
	}
	return best(c.f()) - best(noop)
}

// calibrator remembers what it calibrated, so that it can be checked again.
type calibrator struct {
	order []time.Duration
	known map[time.Duration]calibrated
}

func newCalibrator() *calibrator {
	return &calibrator{known: map[time.Duration]calibrated{}}
}

// spin returns work of d, calibrated when it is first asked for.
func (c *calibrator) spin(d time.Duration) calibrated {
	w, ok := c.known[d]
	if !ok {
		w = calibrate(d)
		c.known[d] = w
		c.order = append(c.order, d)
	}
	return w
}

// drift measures all of it again and says what it takes now.
func (c *calibrator) drift() string {
	var again []string
	for _, d := range c.order {
		if d > 0 {
			again = append(again, fmt.Sprintf("%d → %.0f", d.Nanoseconds(), c.known[d].actual()))
		}
	}
	return strings.Join(again, ", ")
}
