package main

import (
	"cmp"
	"math"
	"slices"
)

// A summary is what the table and the chart show of a day. It is small: the day
// itself is let go.
type summary struct {
	date    date
	missing error // why there is no day; nothing else counts then

	rows     int
	volume   cents
	accounts int
	bad      badRows

	// Against the day before, or the last one that was there.
	compared           bool
	against            date
	rowsPct, volPct    float64 // change in per cent; NaN from nothing to something
	newcomers, leavers int     // accounts that were not there before; that are there no more
	movers             []mover
}

// A mover is an account that turned over more, or less, than before.
type mover struct {
	account string
	change  cents
}

// summarize compares a day with the one before, nil if there is none, and names
// the top accounts of those that changed most.
func summarize(d, before *day, top int) summary {
	s := summary{date: d.date, rows: d.rows, volume: d.volume, accounts: len(d.accounts), bad: d.bad}
	if before == nil {
		return s
	}
	s.compared, s.against = true, before.date
	s.rowsPct = percent(float64(before.rows), float64(d.rows))
	s.volPct = percent(float64(before.volume), float64(d.volume))
	list := topMovers{limit: top}
	for account, sum := range d.accounts {
		was, known := before.accounts[account]
		if !known {
			s.newcomers++
			list.offer(mover{account, *sum})
		} else {
			list.offer(mover{account, *sum - *was})
		}
	}
	for account, was := range before.accounts {
		if _, still := d.accounts[account]; !still {
			s.leavers++
			list.offer(mover{account, -*was})
		}
	}
	s.movers = list.best
	return s
}

// percent is the change from a to b in per cent of a.
func percent(a, b float64) float64 {
	if a == 0 {
		if b == 0 {
			return 0
		}
		return math.NaN()
	}
	return (b - a) / a * 100
}

// topMovers keeps the few that changed most, the most first, equals by name: so
// the order in which they are offered, that of a map, makes no difference.
type topMovers struct {
	limit int
	best  []mover
}

func (t *topMovers) offer(m mover) {
	if m.change == 0 || t.limit == 0 {
		return
	}
	if len(t.best) == t.limit {
		if compareMovers(m, t.best[len(t.best)-1]) > 0 {
			return
		}
		t.best = t.best[:len(t.best)-1]
	}
	i, _ := slices.BinarySearchFunc(t.best, m, compareMovers)
	t.best = slices.Insert(t.best, i, m)
}

func compareMovers(a, b mover) int {
	return cmp.Or(cmp.Compare(abs(b.change), abs(a.change)), cmp.Compare(a.account, b.account))
}

func abs(c cents) cents { return max(c, -c) }
