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
