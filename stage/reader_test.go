package stage_test

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/seed95b73fdc/sluice/stage"
)

// readers makes a stream of 1, 2, 3 with each operator that has a Reader of its
// own. begun counts what of the user's has been set going.
func readers(begun *atomic.Int64) map[string]stage.Stream[int] {
	values := []int{1, 2, 3}
	mark := func(v int) int { begun.Add(1); return v }
	in := stage.FromSlice(values)
	gen := stage.Generate(func(_ context.Context, yield func(int) bool) error {
		mark(0)
		_ = yield(1) && yield(2) && yield(3)
		return nil
	})
	marked := func(_ context.Context, v int) (int, error) { return mark(v), nil }
	single := func(_ context.Context, v int) stage.Stream[int] { return stage.Of(mark(v)) }
	yes, _ := stage.Split(gen, func(int) bool { return true })
	open := func(context.Context) (io.ReadCloser, error) {
		mark(0)
		return io.NopCloser(strings.NewReader("1\n2\n3")), nil
	}
	return map[string]stage.Stream[int]{
		"slice":         in,
		"failed":        stage.Concat(in, stage.Failed[int](nil)),
		"chan":          stage.FromChan(filled(values)),
		"generate":      gen,
		"lines":         stage.Map(stage.Lines(open), stage.Inline, func(_ context.Context, s string) (int, error) { return int(s[0] - '0'), nil }),
		"inline":        stage.Map(in, stage.Inline, marked),
		"take":          stage.Take(gen, 3),
		"takewhile":     stage.TakeWhile(gen, func(int) bool { return true }),
		"concat":        stage.Concat(gen),
		"zip":           stage.Map(stage.Zip(gen, in), stage.Inline, func(_ context.Context, p pair) (int, error) { return p.First, nil }),
		"until":         stage.Until(gen, nil),
		"merge":         stage.Merge(gen, stage.Stream[int]{}),
		"flatmap 0":     stage.FlatMap(in, stage.Inline, single),
		"flatmap 1":     stage.FlatMap(in, 1, single),
		"flatmap 3":     stage.FlatMapOrder("test", in, 3, stage.InOrder, single),
		"split":         yes,
		"cells":         stage.Map(in, 1, marked),
		"cells ordered": stage.Transform("test", in, 3, stage.InOrder, stage.MapFunc("test", marked)),
	}
}

func TestReaderGivesNothingAfterItsEnd(t *testing.T) {
	for name, in := range readers(new(atomic.Int64)) {
		synctest.Test(t, func(t *testing.T) {
			err := hands(t, t.Context(), again(name, in), func(rd stage.Reader[int]) {
				var got []int
				var buf [2]stage.Try[int]
				for k := rd.Next(buf[:]); k > 0; k = rd.Next(buf[:]) {
					for _, a := range buf[:k] {
						got = append(got, a.Value)
					}
				}
				slices.Sort(got)
				if !slices.Equal(got, []int{1, 2, 3}) {
					t.Errorf("%s: gives %v", name, got)
				}
				for range 3 {
					if k := rd.Next(buf[:]); k != 0 {
						t.Errorf("%s: gives %d items after its end", name, k)
					}
				}
				wantClosed(t, name, rd)
			})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

func TestReaderMayBeClosedTwiceAndGivesNothingAfterC42C48(t *testing.T) {
	for name, in := range readers(new(atomic.Int64)) {
		synctest.Test(t, func(t *testing.T) {
			err := hands(t, t.Context(), again(name, in), func(rd stage.Reader[int]) {
				var buf [1]stage.Try[int]
				if k := rd.Next(buf[:]); k != 1 {
					t.Errorf("%s: gives %d items", name, k)
				}
				wantClosed(t, name, rd)
			})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

func TestReaderThatIsClosedUnreadStartsNothing(t *testing.T) {
	var begun atomic.Int64
	for name, in := range readers(&begun) {
		synctest.Test(t, func(t *testing.T) {
			err := hands(t, t.Context(), again(name, in), func(rd stage.Reader[int]) { wantClosed(t, name, rd) })
			if err != nil || begun.Load() != 0 {
				t.Errorf("%s: %v, %d calls", name, err, begun.Load())
			}
			begun.Store(0)
		})
	}
}

// again is in, but for a channel, which has to be of the bubble that reads it.
func again(name string, in stage.Stream[int]) stage.Stream[int] {
	if name == "chan" {
		return stage.FromChan(filled([]int{1, 2, 3}))
	}
	return in
}

func wantClosed(t *testing.T, name string, rd stage.Reader[int]) {
	t.Helper()
	var buf [3]stage.Try[int]
	for range 2 {
		rd.Close()
		for range 2 {
			if k := rd.Next(buf[:]); k != 0 {
				t.Errorf("%s: gives %d items after Close", name, k)
			}
		}
	}
}

func TestReaderGivesWhatThereIsRoomFor(t *testing.T) {
	for name, in := range readers(new(atomic.Int64)) {
		hands(t, t.Context(), in, func(rd stage.Reader[int]) {
			var buf [5]stage.Try[int]
			for total := 0; total < 3; {
				k := rd.Next(buf[:1])
				if k != 1 || buf[1] != (stage.Try[int]{}) {
					t.Fatalf("%s: gives %d items with room for one, then %v", name, k, buf[1])
				}
				total += k
			}
		})
	}
}

func TestEmptyReaderOfAnotherPackage(t *testing.T) {
	hands(t, t.Context(), stage.Stream[int]{}, func(rd stage.Reader[int]) { wantClosed(t, "zero stream", rd) })
}
