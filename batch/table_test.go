package batch

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"testing"

	"github.com/seed95b73fdc/sluice/stage"
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
		var one, many shard[string, int]
		for round := range 3 {
			var some []hashed[string, int]
			for i := range keys {
				key := fmt.Sprint(i)
				want[key] += i + round
				if err := one.add(context.Background(), m, hash(i), key, i+round); err != nil {
					t.Fatal(err)
				}
				some = append(some, hashed[string, int]{pair[string, int]{key, i + round}, hash(i)})
			}
			for some := range slices.Chunk(some, burstSize) {
				if err := many.addAll(context.Background(), m, some); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, s := range []*shard[string, int]{&one, &many} {
			got := map[string]int{}
			s.into(got)
			if !maps.Equal(got, want) || len(s.pairs) != keys {
				t.Errorf("%s: %d keys, %d pairs: %v", name, len(got), len(s.pairs), got)
			}
		}
	}
}

// The limits are those of the constants: with manyKeys a table is a map, with one more
// it is in parts, and nothing is lost on the way. That of a single worker has no bursts.
func TestATableIsSplitWhenItHasManyKeys(t *testing.T) {
	ctx := context.Background()
	err := stage.Discard(ctx, stage.New(func(s *stage.Scope) stage.Reader[int] {
		for _, scope := range []*stage.Scope{s, nil} {
			m := adding()
			m.seed, m.scope = maphash.MakeSeed(), scope
			tab := newTable(m, nil)
			want := map[string]int{}
			for i := range 2*manyKeys + 1 {
				key := fmt.Sprint(i % (manyKeys + 1))
				want[key]++
				if err := tab.add(ctx, key, 1); err != nil {
					t.Fatal(err)
				}
				if whole := tab.few != nil; whole != (i < manyKeys) || whole != (len(tab.parts) == 0) {
					t.Fatalf("%d parts with %d keys", len(tab.parts), min(i, manyKeys)+1)
				}
			}
			if scope == nil {
				if got := tab.whole(); tab.bursts != nil || !maps.Equal(got, want) {
					t.Errorf("%d bursts, %d keys, want none and %d", len(tab.bursts), len(got), len(want))
				}
				continue
			}
			wantMerged(t, s, []*table[string, int]{tab, m.common.table(m)}, want)
		}
		return none[int]{}
	}))
	if err != nil {
		t.Error(err)
	}
}

// A part that another worker has is not waited for: what belongs to it goes into the
// worker's own, and both are merged in the end.
func TestABurstDoesNotWaitForAPartThatIsTaken(t *testing.T) {
	ctx := context.Background()
	err := stage.Discard(ctx, stage.New(func(s *stage.Scope) stage.Reader[int] {
		m := adding()
		m.seed, m.scope = maphash.MakeSeed(), s
		tables := []*table[string, int]{newTable(m, nil), newTable(m, nil)}
		want := map[string]int{}
		for i := range 20 * manyKeys {
			if c := m.common; c != nil { // every second part is taken for half of the time
				if at := &c.parts[i*2%len(c.parts)].mu; !at.TryLock() {
					at.Unlock()
				}
			}
			key := fmt.Sprint(i % (3 * manyKeys))
			want[key] += i
			if err := tables[i%2].add(ctx, key, i); err != nil {
				t.Error(err)
			}
		}
		own := 0
		for _, tab := range tables {
			for i := range tab.parts {
				own += len(tab.parts[i].pairs)
			}
		}
		if own == 0 {
			t.Error("no burst met a part that was taken")
		}
		wantMerged(t, s, append(tables, m.common.table(m)), want)
		return none[int]{}
	}))
	if err != nil {
		t.Error(err)
	}
}

// wantMerged merges the tables of a run by one worker.
func wantMerged(t *testing.T, s *stage.Scope, tables []*table[string, int], want map[string]int) {
	t.Helper()
	g, err := newMerger(s, tables[0].m, tables)
	if err != nil {
		t.Fatal(err)
	}
	if complete, err := g.work(); !complete || err != nil || !maps.Equal(g.result, want) {
		t.Errorf("%t, %v: %d keys, want %d", complete, err, len(g.result), len(want))
	}
}

// none is a reader at its end.
type none[T any] struct{}

func (none[T]) Next([]stage.Try[T]) int { return 0 }
func (none[T]) Close()                  {}
