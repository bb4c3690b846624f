package ordered_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// A cell is given back only when nobody is in it any more. Calls of uneven
// length, a consumer that lets go of its processor, and sources with and
// without goroutines of their own make workers join each other's cells; the
// race detector sees a cell that is filled too early.
func TestP1NoItemIsTouchedAfterItsCellIsGivenBack(t *testing.T) {
	const total, rounds = 20_000, 3
	spin := func(k int) (sum int) {
		for i := range k {
			sum += i * i
		}
		return sum
	}
	sources := map[string]stage.Stream[int]{
		"generated": stage.Generate(func(_ context.Context, yield func(int) bool) error {
			for i := 0; i < total && yield(i); i++ {
			}
			return nil
		}),
		"inline": stage.Map(stage.FromSlice(make([]int, total)), stage.Inline, func() func(context.Context, int) (int, error) {
			i := -1
			return func(context.Context, int) (int, error) { i++; return i % total, nil }
		}()),
	}
	for name, src := range sources {
		for _, n := range share.Rows(t, []int{2, 4, 8}) {
			for round := range rounds {
				m := ordered.Map(src, n, func(_ context.Context, v int) (int, error) { spin(500 + v%977); return v, nil })
				next := 0
				err := stage.ForEach(t.Context(), m, 1, func(_ context.Context, v int) error {
					if v != next {
						t.Errorf("%s n=%d round %d: got %d, want %d", name, n, round, v, next)
						next = v
					}
					if next++; v%50 == 0 {
						runtime.Gosched()
					}
					return nil
				})
				if err != nil || next != total {
					t.Fatalf("%s n=%d round %d: %d of %d, %v", name, n, round, next, total, err)
				}
			}
		}
	}
}
