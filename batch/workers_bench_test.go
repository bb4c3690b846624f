package batch_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/seed95b73fdc/sluice/batch"
	"github.com/seed95b73fdc/sluice/stage"
)

// What it costs to have more workers than there is work for.
func BenchmarkMapReduceWorkers(b *testing.B) {
	for _, n := range []int{2, 100, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := batch.MapReduce(context.Background(), stage.FromSlice(upTo(1000)), n, one, sum); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/worker")
		})
	}
}

func BenchmarkEachWorkers(b *testing.B) {
	for _, workers := range []int{2, 100, 1_000, 10_000, 50_000} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			items := upTo(workers)
			for b.Loop() {
				if err := batch.Each(context.Background(), items, workers, func(context.Context, int) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*workers), "ns/worker")
		})
	}
}
