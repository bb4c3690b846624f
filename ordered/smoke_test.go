package ordered_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/ordered"
	. "github.com/seed95b73fdc/sluice/stage"
)

func TestSmoke(t *testing.T) {
	ctx := context.Background()
	ints := make([]int, 10000)
	for i := range ints {
		ints[i] = i
	}
	id := func(_ context.Context, x int) (int, error) { return x, nil }
	for _, n := range []int{0, 1, 2, 4, 8, 32, 100} {
		for _, w := range []int{0, 1, 3, 50} {
			var opts []Option
			if w > 0 {
				opts = append(opts, Window(w))
			}
			got, err := Collect(ctx, ordered.Map(FromSlice(ints), n, id, opts...))
			if err != nil || !slices.Equal(got, ints) {
				t.Fatal(n, w, err, len(got))
			}
			got, err = Collect(ctx, Map(FromSlice(ints), n, id, opts...))
			slices.Sort(got)
			if err != nil || !slices.Equal(got, ints) {
				t.Fatal(n, w, err, len(got))
			}
			got, err = Collect(ctx, ordered.FlatMap(FromSlice(ints[:1000]), n, func(_ context.Context, x int) Stream[int] { return Of(x, x) }, opts...))
			if err != nil || len(got) != 2000 || !slices.IsSorted(got) {
				t.Fatal(n, w, err, len(got))
			}
			got, err = Collect(ctx, FlatMap(FromSlice(ints[:1000]), n, func(_ context.Context, x int) Stream[int] { return Of(x, x) }, opts...))
			if err != nil || len(got) != 2000 {
				t.Fatal(n, w, err, len(got))
			}
			k := atomic.Int64{}
			err = ForEach(ctx, FromSlice(ints), n, func(_ context.Context, x int) error { k.Add(1); return nil }, opts...)
			if err != nil || k.Load() != 10000 {
				t.Fatal(err)
			}
			s, ok, err := Reduce(ctx, FromSlice(ints), n, func(_ context.Context, a, b int) (int, error) { return a + b, nil })
			if err != nil || !ok || s != 10000*9999/2 {
				t.Fatal(s, ok, err)
			}
			v, ok, err := ordered.First(ctx, FromSlice(ints), n, func(_ context.Context, x int) (bool, error) { return x > 500 && x%7 == 0, nil }, opts...)
			if v != 504 || !ok || err != nil {
				t.Fatal(v, ok, err)
			}
			yes, no := ordered.Split(FromSlice(ints), n, func(_ context.Context, x int) (bool, error) { return x%2 == 0, nil }, opts...)
			var a, b []int
			err = Run(ctx, To(yes, 1, func(_ context.Context, x int) error { a = append(a, x); return nil }), To(no, 1, func(_ context.Context, x int) error { b = append(b, x); return nil }))
			if err != nil || len(a) != 5000 || len(b) != 5000 || !slices.IsSorted(a) || !slices.IsSorted(b) {
				t.Fatal(err, len(a), len(b))
			}
		}
	}
	got, err := Collect(ctx, Merge(FromSlice(ints), Generate(func(ctx context.Context, yield func(int) bool) error {
		for i := range 1000 {
			if !yield(i) {
				return nil
			}
		}
		return nil
	}), FromSeq(slices.Values(ints))))
	if err != nil || len(got) != 21000 {
		t.Fatal(err, len(got))
	}
	tees := Tee(FromSlice(ints), 3)
	z, err := Collect(ctx, Zip(tees[0], tees[2]))
	if err != nil || len(z) != 10000 || z[77].First != z[77].Second {
		t.Fatal(err, len(z))
	}
	yes, no := Split(FromSlice(ints), func(x int) bool { return x%2 == 0 })
	got, err = Collect(ctx, Concat(yes, no))
	if !errors.Is(err, ErrStalled) {
		t.Fatal(err)
	}
	fmt.Println(err)
	got, err = Collect(ctx, yes)
	if err != nil || len(got) != 5000 {
		t.Fatal(err)
	}
	ls, err := Collect(ctx, Lines(func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("a\r\nbb\n\nc")), nil
	}))
	if err != nil || len(ls) != 4 {
		t.Fatal(ls, err)
	}
	got, err = Collect(ctx, Take(Scan(Generate(func(ctx context.Context, yield func(int) bool) error {
		for i := 0; yield(i); i++ {
		}
		return nil
	}), 0, func(a, b int) int { return a + b }), 5))
	if err != nil || !slices.Equal(got, []int{0, 1, 3, 6, 10}) {
		t.Fatal(got, err)
	}
}

func TestBarrier(t *testing.T) {
	for _, n := range []int{1, 2, 4, 8, 32} {
		for _, order := range []Order{InOrder, AnyOrder} {
			synctest.Test(t, func(t *testing.T) {
				var running, calls atomic.Int64
				gate := make(chan struct{})
				s := Transform("m", FromSlice(make([]int, 100000)), n, order, TryFunc(func(ctx context.Context, a Try[int], out *Try[int]) bool {
					*out = a
					if calls.Add(1) > 5000 {
						running.Add(1)
						<-gate
						running.Add(-1)
					}
					return true
				}))
				start := time.Now()
				go func() {
					synctest.Wait()
					if int(running.Load()) != n {
						t.Errorf("n=%d order=%d running=%d", n, order, running.Load())
					}
					close(gate)
				}()
				k, err := Count(t.Context(), s)
				if err != nil || k != 100000 || time.Since(start) != 0 {
					t.Fatal(k, err, time.Since(start))
				}
			})
		}
	}
}
