package stage

import (
	"context"
	"fmt"
	"testing"
	"time"
)

//go:noinline
func zzSpin(n int) uint64 {
	x := uint64(1)
	for i := 0; i < n; i++ {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

func BenchmarkW(b *testing.B) {
	for _, n := range []int{0, 1, 2, 3, 4} {
		for _, ns := range []int{60, 200, 1500, 10000} {
			b.Run(fmt.Sprintf("ns=%d/n=%d", ns, n), func(b *testing.B) {
				f := func(_ context.Context, x int) (uint64, error) { return zzSpin(ns / 2), nil }
				t0 := time.Now()
				s := zzSlice[:min(len(zzSlice), 30_000_000/ns)]
				items := 0
				for k := 0; k < b.N; k++ {
					ForEach(context.Background(), Transform("map", FromSlice(s), n, InOrder, MapFunc("x", f)), 1, func(_ context.Context, x uint64) error { return nil })
					items += len(s)
				}
				b.ReportMetric(float64(time.Since(t0).Nanoseconds())/float64(items), "ns/item")
			})
		}
	}
}
