package stage

import (
	"context"
	"fmt"
	"testing"
)

var zzSlice = func() []int {
	s := make([]int, 100000)
	for i := range s {
		s[i] = i
	}
	return s
}()

func BenchmarkZ(b *testing.B) {
	for _, o := range []Order{InOrder, AnyOrder} {
		for _, n := range []int{0, 1, 2, 4, 8, 32} {
			b.Run(fmt.Sprintf("noop/o=%d/n=%d", o, n), func(b *testing.B) {
				f := func(_ context.Context, x int) (int, error) { return x, nil }
				b.ReportAllocs()
				for k := 0; k < b.N; k += len(zzSlice) {
					m := Transform("map", FromSlice(zzSlice), n, o, MapFunc("x", f))
					want, sum := 0, 0
					err := ForEach(context.Background(), m, 1, func(_ context.Context, x int) error {
						if o == InOrder && x != want {
							return fmt.Errorf("%d %d", x, want)
						}
						want++
						sum += x
						return nil
					})
					if err != nil || want != len(zzSlice) || sum != want*(want-1)/2 {
						b.Fatal("lost", err, want, b.N)
					}
				}
			})
		}
	}
}
