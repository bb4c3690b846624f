package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed95b73fdc/sluice/bench/internal/measure"
)

// BenchmarkRows offers every row to go test -bench, for profiles and benchstat.
// The program beside it is the fairer judge, as it interleaves the repeats.
func BenchmarkRows(b *testing.B) {
	const items = 100_000
	spin := newCalibrator().spin
	for _, rows := range groups() {
		g := rows(config{items: items, spin: spin})
		for _, row := range g.Rows {
			for _, c := range row.Contenders {
				b.Run(fmt.Sprintf("%s/%s/%s", g.Key, row.Name, c.Name()), func(b *testing.B) { benchmark(b, row, c) })
			}
		}
	}
}

func benchmark(b *testing.B, row measure.Row, c measure.Contender) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := row.Once(c); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*row.Items), "ns/item")
}

// uncalibrated stands in for calibrated work where only the output matters.
func uncalibrated(d time.Duration) calibrated {
	return calibrated{want: d, steps: int(d.Nanoseconds())}
}
