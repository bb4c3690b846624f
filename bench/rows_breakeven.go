package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/seed95b73fdc/sluice/bench/internal/measure"
)

// worth are the amounts of work per item at which n = 2 is held against the loop.
var worth = []time.Duration{0, 20, 40, 60, 100, 200, 500, 1000, 2000}

// breakEvenRows: from how much work per item on is a second worker worth it?
func breakEvenRows(c config) measure.Group {
	const (
		n       = 2
		ceiling = 60.0 // ns of work
	)
	peers := []entry{sluiceOrdered, sluiceStage, rillOrderedMap, concIter}
	name := func(d time.Duration) string { return fmt.Sprintf("%d ns", d.Nanoseconds()) }
	g := measure.Group{
		Key:   "breakeven",
		Title: "Break-even: n = 2 against a plain loop",
		Job: "Each f is so many nanoseconds of CPU work, calibrated as what it adds to the plain loop. " +
			"A column says how many times as fast as the loop each is in the same repeat. " +
			"The break-even is the least work from which on, at every larger amount measured, the median is above 1.",
		Ratios: []measure.Ratio{speedUp(plainLoop.name)},
		Summary: func(r *measure.Result) []measure.Table {
			return []measure.Table{speedUps(r, peers)}
		},
	}
	g.Drawn = []string{name(60), name(1000)}
	for _, d := range worth {
		j := job{upTo(c.itemsFor(d)), n, c.spin(d).f()}
		g.Rows = append(g.Rows, j.row(name(d), "", append([]entry{plainLoop}, peers...)...))
	}
	for _, e := range []entry{sluiceOrdered, sluiceStage} {
		g.Targets = append(g.Targets, measure.Target{
			Row: name(60), Contender: e.name, Sense: measure.AtMost, Bound: ceiling, Unit: "ns of work to break even",
			Of: func(r *measure.Result) []float64 {
				if len(r.Group.Rows) < len(worth) {
					return nil
				}
				return []float64{breakEven(advantages(r, e.name))}
			},
		})
	}
	return g
}

// speedUp is the column that says how many times as fast as base a contender is.
func speedUp(base string) measure.Ratio {
	return measure.Ratio{
		Title: "× the " + base,
		Of: func(r *measure.Result, row, contender string) []float64 {
			if contender == base {
				return nil
			}
			return measure.Divide(r.Nanos(row, base), r.Nanos(row, contender))
		},
	}
}

// advantages returns, for each amount of worth, how many times as fast as the
// loop a contender is.
func advantages(r *measure.Result, contender string) []float64 {
	of := speedUp(plainLoop.name).Of
	var times []float64
	for _, row := range r.Group.Rows {
		times = append(times, measure.Summarize(of(r, row.Name, contender)).Median)
	}
	return times
}

// breakEven returns the least work of worth, in nanoseconds, from which on the
// advantage is above 1; +Inf if it is not at the largest.
func breakEven(advantages []float64) float64 {
	least := math.Inf(1)
	for i, d := range slices.Backward(worth) {
		if !(advantages[i] > 1) {
			break
		}
		least = float64(d.Nanoseconds())
	}
	return least
}

// speedUps is the group at a glance: a line per amount of work, a column per contender.
func speedUps(r *measure.Result, peers []entry) measure.Table {
	of := speedUp(plainLoop.name).Of
	t := measure.Table{Header: []string{"work per item", "loop ns/item"}}
	for _, e := range peers {
		t.Header = append(t.Header, e.name+", × the loop")
	}
	for _, row := range r.Group.Rows {
		line := []string{row.Name, measure.Figure(measure.Summarize(r.Nanos(row.Name, plainLoop.name)))}
		for _, e := range peers {
			line = append(line, measure.Figure(measure.Summarize(of(r, row.Name, e.name))))
		}
		t.Rows = append(t.Rows, line)
	}
	if len(r.Group.Rows) < len(worth) {
		return t
	}
	last := []string{"break-even", ""}
	for _, e := range peers {
		cell := "above " + worth[len(worth)-1].String()
		if at := breakEven(advantages(r, e.name)); !math.IsInf(at, 1) {
			cell = time.Duration(at).String()
		}
		last = append(last, cell)
	}
	t.Rows = append(t.Rows, last)
	return t
}
