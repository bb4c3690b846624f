package batch

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"testing"
)

func adding() *mapping[string, int] {
	return &mapping[string, int]{plain: func(a, b int) int { return a + b }}
}

// All hashes are equal, or all are different in the upper half alone, or the search
// for each key wraps around.
func TestKeysOfTheSameHashAreKeptApart(t *testing.T) {
	for name, hash := range map[string]func(i int) uint32{
		"one":   func(int) uint32 { return 7 },
		"upper": func(i int) uint32 { return uint32(i) << 16 },
		"last":  func(int) uint32 { return 1<<32 - 1 },
		"few":   func(i int) uint32 { return uint32(i % 3) },
	} {
		const keys = 200
		m, want := adding(), map[string]int{}
		var s shard[string, int]
		for round := range 3 {
			for i := range keys {
				key := fmt.Sprint(i)
				want[key] += i + round
				if err := s.add(context.Background(), m, hash(i), key, i+round); err != nil {
					t.Fatal(err)
				}
			}
		}
		got := map[string]int{}
		s.into(got)
		if !maps.Equal(got, want) || len(s.pairs) != keys {
			t.Errorf("%s: %d keys, %d pairs: %v", name, len(got), len(s.pairs), got)
		}
	}
}

// The limits are those of the constants: with manyKeys a table is whole, with one
// more it is in parts, and nothing is lost on the way.
func TestATableIsSplitWhenItHasManyKeys(t *testing.T) {
	tab := newTable(adding())
	tab.m.seed = maphash.MakeSeed()
	want := map[string]int{}
	for i := range 2*manyKeys + 1 {
		key := fmt.Sprint(i % (manyKeys + 1))
		want[key]++
		if err := tab.add(context.Background(), key, 1); err != nil {
			t.Fatal(err)
		}
		if parts := len(tab.parts); (parts == 1) != (i < manyKeys) {
			t.Fatalf("%d parts with %d keys", parts, min(i, manyKeys)+1)
		}
	}
	if got := tab.whole(); !maps.Equal(got, want) || tab.len() != manyKeys+1 {
		t.Errorf("%d keys, want %d", len(got), len(want))
	}
}
