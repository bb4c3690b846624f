package stage

import (
	"context"
	"fmt"
	"testing"
	"time"
)

func bench(b *testing.B, n int, order Order, d time.Duration) {
	s := make([]int, b.N)
	for i := range s {
		s[i] = i
	}
	b.ReportAllocs()
	b.ResetTimer()
	f := func(_ context.Context, x int) (int, error) { return x, nil }
	m := Transform("map", FromSlice(s), n, order, MapFunc("x", f))
	want := 0
	sum := 0
	err := ForEach(context.Background(), m, 1, func(_ context.Context, x int) error {
		if order == InOrder && x != want {
			return fmt.Errorf("%d %d", x, want)
		}
		want++
		sum += x
		return nil
	})
	if err != nil || want != b.N || sum != b.N*(b.N-1)/2 {
		b.Fatal("lost", err, want, b.N)
	}
}

func BenchmarkZ(b *testing.B) {
	for _, o := range []Order{InOrder, AnyOrder} {
		for _, n := range []int{0, 1, 2, 4, 8, 32} {
			b.Run(fmt.Sprintf("noop/o=%d/n=%d", o, n), func(b *testing.B) { bench(b, n, o, 0) })
		}
	}
}
