package batch_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/seed95b73fdc/sluice/batch"
	"github.com/seed95b73fdc/sluice/stage"
)

// inTurn is in, read by Next and by NextValues as luck has it, with buffers of any
// length. It counts the values that came by the latter.
func inTurn(rng *rand.Rand, in stage.Stream[int], plain *int) stage.Stream[int] {
	return stage.New(func(s *stage.Scope) stage.Reader[int] {
		up := stage.Open(s, in)
		return &turnReader{up, up.(stage.ValueReader[int]), rng, plain}
	})
}

type turnReader struct {
	stage.Reader[int]
	values stage.ValueReader[int]
	rng    *rand.Rand
	plain  *int
}

func (r *turnReader) Next(dst []stage.Try[int]) int {
	room := 1 + r.rng.IntN(len(dst))
	if r.rng.IntN(2) == 0 {
		buf := make([]int, room)
		k := r.values.NextValues(buf)
		for i, v := range buf[:k] {
			dst[i] = stage.Try[int]{Value: v}
		}
		if *r.plain += k; k > 0 {
			return k
		}
	}
	return r.Reader.Next(dst[:room])
}

// Whether values are read alone or with the errors among them, each comes once and in
// its place.
func TestValuesAloneAreThoseOfNextP1(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	alone := 0
	for round := range 300 {
		var batches []stage.Try[[]int]
		var want []string
		for range rng.IntN(12) {
			if rng.IntN(4) == 0 {
				batches = append(batches, stage.Try[[]int]{Error: errE})
				want = append(want, "E")
				continue
			}
			b := make([]int, rng.IntN(100)*rng.IntN(2))
			for i := range b {
				b[i] = len(want)
				want = append(want, fmt.Sprint(b[i]))
			}
			batches = append(batches, stage.Try[[]int]{Value: b})
		}
		in := batch.Flatten(tries(batches))
		plain := 0
		wantShown(t, inTurn(rng, in, &plain), want...)
		items := upTo(rng.IntN(200))
		got, err := stage.Collect(context.Background(), inTurn(rng, stage.FromSlice(items), &plain))
		if !slices.Equal(got, items) || err != nil {
			t.Errorf("%v of %d items, %v", got, len(items), err)
		}
		size := 1 + rng.IntN(150)
		wantShown(t, batch.Flatten(batch.Chunk(in, size)), want...)
		wantShown(t, batch.Flatten(batch.Chunk(in, size, batch.Reuse())), want...)
		if alone += plain; t.Failed() {
			t.Fatalf("seed %d, round %d", seed, round)
		}
	}
	if alone == 0 {
		t.Error("no value came by NextValues")
	}
}

// A run that has ended has no values, though some are there.
func TestNoValuesComeOnceTheRunHasEndedP6(t *testing.T) {
	for name, in := range map[string]stage.Stream[int]{
		"slice":   stage.FromSlice(upTo(10)),
		"flatten": batch.Flatten(stage.Of(upTo(10))),
	} {
		after := -1
		in := stage.New(func(s *stage.Scope) stage.Reader[int] {
			r := stage.Open(s, in).(stage.ValueReader[int])
			return &reading{r, func() {
				var buf [2]int
				if k := r.NextValues(buf[:]); k != 2 || buf != [2]int{0, 1} {
					t.Errorf("%s: %d values, %v", name, k, buf)
				}
				s.Cancel(errE)
				after = r.NextValues(buf[:])
			}}
		})
		stage.Discard(context.Background(), in)
		if after != 0 {
			t.Errorf("%s: %d values after the end", name, after)
		}
	}
}

// reading calls first in its first Next, and has no items.
type reading struct {
	stage.Reader[int]
	first func()
}

func (r *reading) Next([]stage.Try[int]) int {
	if r.first != nil {
		r.first()
		r.first = nil
	}
	return 0
}

// tries is a stream of items as they are.
func tries[T any](items []stage.Try[T]) stage.Stream[T] {
	return stage.Transform("tries", stage.FromSlice(items), stage.Inline, stage.InOrder, stage.TryFunc(
		func(_ context.Context, it stage.Try[stage.Try[T]], out *stage.Try[T]) bool {
			*out = it.Value
			return true
		}))
}

// Batches that are filled without errors between them are those of the slice, however
// few of them fit into their first memory.
func TestChunkOfValuesAloneIsThatOfASlice(t *testing.T) {
	items := upTo(1000)
	for _, size := range []int{1, 2, 7, 8, 9, 64, 65, 100, 999, 1000, 1001} {
		for _, opts := range [][]batch.Option{nil, {batch.Reuse()}} {
			var want []string
			for b := range slices.Chunk(items, size) {
				want = append(want, fmt.Sprint(b))
			}
			wantShown(t, batch.Chunk(stage.FromSlice(items), size, opts...), want...)
		}
	}
}

// A batch that was opened for values, of which none came, is the next one: no memory
// is fetched for each error.
func TestErrorsCostNoBatch(t *testing.T) {
	const errs = 1000
	got := testing.AllocsPerRun(5, func() {
		in := batch.Chunk(stage.New(func(*stage.Scope) stage.Reader[int] { return &failing{errs} }), 1<<16)
		n, err := stage.Count(context.Background(), shown(in))
		if n != errs || err != nil {
			t.Errorf("%d errors, %v", n, err)
		}
	})
	if most := 1.9 * errs; got > most { // one is the text of the error
		t.Errorf("%.0f allocations for %d errors, want at most %.0f", got, errs, most)
	}
}

// failing has so many errors, one by one, and no values.
type failing struct{ errs int }

func (r *failing) Next(dst []stage.Try[int]) int {
	if r.errs == 0 {
		return 0
	}
	r.errs--
	dst[0] = stage.Try[int]{Error: errE}
	return 1
}

func (*failing) NextValues([]int) int { return 0 }
func (*failing) Close()               {}
