package keyed_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/keyed"
	"github.com/seed95b73fdc/sluice/stage"
)

func numbers(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// serial checks that calls for one key never overlap and come in order.
type serial struct {
	next []int // of each key: how many of its items have been seen; plain on purpose
	busy []atomic.Bool
	keys int
}

func newSerial(keys int) *serial {
	return &serial{next: make([]int, keys), busy: make([]atomic.Bool, keys), keys: keys}
}

func (s *serial) key(v int) int { return v % s.keys }

func (s *serial) call(t *testing.T, v int) {
	k := v % s.keys
	if !s.busy[k].CompareAndSwap(false, true) {
		t.Errorf("item %d: two calls of key %d at once", v, k)
	}
	if v/s.keys != s.next[k] {
		t.Errorf("item %d: key %d is at %d", v, k, s.next[k])
	}
	s.next[k]++
	s.busy[k].Store(false)
}

func TestMapKeepsTheOrderOfEachKeyP2(t *testing.T) {
	for _, n := range share.Rows(t, []int{1, 2, 4, 9}) {
		for _, opts := range [][]stage.Option{nil, {keyed.PerKey()}, {keyed.Pinned()}, {stage.Window(7)}} {
			const keys, items = 37, 40_000 / raceScale
			s := newSerial(keys)
			in := stage.FromSlice(numbers(items))
			out := keyed.Map(in, n, s.key, func(_ context.Context, v int) (int, error) {
				s.call(t, v)
				return v, nil
			}, opts...)
			seen := make([]int, keys)
			total := 0
			err := stage.ForEach(context.Background(), out, 1, func(_ context.Context, v int) error {
				if v/keys != seen[v%keys] {
					t.Errorf("n=%d: result %d of key %d came as number %d", n, v, v%keys, seen[v%keys])
				}
				seen[v%keys]++
				total++
				return nil
			})
			if err != nil || total != items {
				t.Fatalf("n=%d: %d results, %v", n, total, err)
			}
		}
	}
}

func TestOrderedMapKeepsTheOrderOfTheInputP1(t *testing.T) {
	for _, n := range share.Rows(t, []int{1, 2, 4, 9}) {
		for _, opts := range [][]stage.Option{nil, {keyed.PerKey()}, {keyed.Pinned()}, {stage.Window(7)}} {
			const keys, items = 37, 40_000 / raceScale
			s := newSerial(keys)
			out := keyed.OrderedMap(stage.FromSlice(numbers(items)), n, s.key, func(_ context.Context, v int) (int, error) {
				s.call(t, v)
				return v, nil
			}, opts...)
			want := 0
			err := stage.ForEach(context.Background(), out, 1, func(_ context.Context, v int) error {
				if v != want {
					t.Errorf("n=%d: %d came in the place of %d", n, v, want)
				}
				want++
				return nil
			})
			if err != nil || want != items {
				t.Fatalf("n=%d: %d results, %v", n, want, err)
			}
		}
	}
}

func BenchmarkMap(b *testing.B) {
	counts := make([]int, 1000*16)
	out := keyed.Map(stage.FromSlice(numbers(b.N)), 4, func(v int) int { return v % 1000 }, func(_ context.Context, v int) (int, error) {
		counts[v%1000*16]++
		return v, nil
	})
	b.ReportAllocs()
	b.ResetTimer()
	stage.ForEach(context.Background(), out, 1, func(_ context.Context, v int) error { return nil })
}

func BenchmarkOrderedMap(b *testing.B) {
	counts := make([]int, 1000*16)
	out := keyed.OrderedMap(stage.FromSlice(numbers(b.N)), 4, func(v int) int { return v % 1000 }, func(_ context.Context, v int) (int, error) {
		counts[v%1000*16]++
		return v, nil
	})
	b.ReportAllocs()
	b.ResetTimer()
	stage.ForEach(context.Background(), out, 1, func(_ context.Context, v int) error { return nil })
}

func BenchmarkOneGoroutine(b *testing.B) {
	counts := map[int]*int{}
	for _, v := range numbers(b.N) {
		k := v * 7 % 1000
		c := counts[k]
		if c == nil {
			c = new(int)
			counts[k] = c
		}
		*c++
	}
}

func BenchmarkStageMap(b *testing.B) {
	out := stage.Map(stage.FromSlice(numbers(b.N)), 4, func(_ context.Context, v int) (int, error) { return v, nil })
	b.ReportAllocs()
	b.ResetTimer()
	stage.ForEach(context.Background(), out, 1, func(_ context.Context, v int) error { return nil })
}
