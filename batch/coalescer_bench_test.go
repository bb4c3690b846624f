package batch_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed95b73fdc/sluice/batch"
)

// What it costs each of many callers when all of them give up at once: as much with
// many as with few.
func BenchmarkCoalescerGivenUp(b *testing.B) {
	for _, callers := range []int{1_000, 50_000} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			c := batch.NewCoalescer(func(_ context.Context, items []int) ([]int, error) { return items, nil }, 2*callers, batch.Within(time.Hour))
			for b.Loop() {
				b.StopTimer()
				ctx, cancel := context.WithCancel(context.Background())
				var wg sync.WaitGroup
				var begun atomic.Int64
				for i := range callers {
					wg.Go(func() { begun.Add(1); c.Do(ctx, i) })
				}
				for begun.Load() < int64(callers) {
					runtime.Gosched()
				}
				b.StartTimer()
				cancel()
				wg.Wait()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*callers), "ns/caller")
			if err := c.Close(context.Background()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
