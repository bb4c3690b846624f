package main

import (
	"bufio"
	"compress/gzip"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

const (
	maxMadeRows     = 10_000_000
	maxMadeAccounts = 1_000_000
)

// writeDay writes the file of a day: gzip of made-up transactions, in the order of
// their times, the same ones each time. They follow the week and the season, and
// have a busy fortnight every ten weeks.
func (m madeUp) writeDay(w io.Writer, d date) error {
	packed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(packed)
	rnd := rand.New(rand.NewPCG(m.seed, uint64(d)))

	rows := int(float64(m.rows) * m.mood(d) * (0.95 + 0.1*rnd.Float64()))
	seconds := make([]int, rows)
	for i := range seconds {
		seconds[i] = rnd.IntN(secondsPerDay)
	}
	slices.Sort(seconds)
	out.WriteString("time,account,amount\n")
	for _, s := range seconds {
		at := d.time().Add(time.Duration(s) * time.Second)
		amount := math.Exp(3 + 1.2*rnd.NormFloat64()) // most are small, some are large
		if rnd.IntN(4) == 0 {
			amount = -amount
		}
		row := at.AppendFormat(out.AvailableBuffer(), time.RFC3339)
		row = append(row, ",A"...)
		row = strconv.AppendInt(row, int64(m.account(rnd, d)), 10)
		row = append(row, ',')
		row = strconv.AppendFloat(row, amount, 'f', 2, 64)
		out.Write(append(row, '\n'))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return packed.Close()
}

// mood is how busy a day is, about 1.
func (m madeUp) mood(d date) float64 {
	const (
		season  = 0.25   // more in its middle, less in between
		year    = 400    // days
		cycle   = 10 * 7 // days from one busy time to the next
		busy    = 0.6
		breadth = 4.0 // days from its middle
	)
	week := [...]float64{time.Sunday: 0.55, 1.1, 1.15, 1.1, 1.1, 1.2, time.Saturday: 0.7}
	day := float64(d - mustDate("2026-01-01"))
	off := math.Mod(math.Mod(day-52, cycle)+cycle+cycle/2, cycle) - cycle/2
	trend := 1 + season*math.Sin(2*math.Pi*day/year)
	return week[d.time().Weekday()] * trend * (1 + busy*math.Exp(-off*off/(2*breadth*breadth)))
}

// account draws an account. Low places are drawn more often than high ones; the
// account that holds a place is another one after every life of days, and not all
// change on one day.
func (m madeUp) account(rnd *rand.Rand, d date) int {
	const life = 120
	u := rnd.Float64()
	place := int(u * u * float64(m.accounts))
	generation := (int(d-firstDate) + place*37) / life
	return 100_000 + (generation*m.accounts+place)%900_000
}
