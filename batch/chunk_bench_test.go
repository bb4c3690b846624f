package batch_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed95b73fdc/sluice/batch"
	"github.com/seed95b73fdc/sluice/stage"
)

func BenchmarkChunk(b *testing.B) {
	for name, opts := range map[string][]batch.Option{
		"inline":        nil,
		"inline reuse":  {batch.Reuse()},
		"inline weigh":  {batch.Weigh(1<<20, func(int) int { return 1 })},
		"within":        {batch.Within(time.Hour)},
		"within, reuse": {batch.Within(time.Hour), batch.Reuse()},
	} {
		b.Run(name, func(b *testing.B) {
			items := upTo(1_000_000)
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				err := stage.ForEach(context.Background(), batch.Chunk(stage.FromSlice(items), 100, opts...), 1,
					func(_ context.Context, c []int) error { n += len(c); return nil })
				if err != nil || n != len(items) {
					b.Fatal(n, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(items)), "ns/item")
		})
	}
}
