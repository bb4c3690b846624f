package stage_test

import (
	"context"
	"errors"
	"runtime"
	"sort"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/stage"
)

// P8: in order, the terminal returns the first error in input order, the same
// one in every run. With an error every companion result is its zero value.

func TestP8FirstErrorInInputOrderIsTheSameInEveryRun(t *testing.T) {
	fails := func(v int) bool { return v > 20 && v%3 == 1 } // 22 is the first
	for _, op := range share.Rows(t, engineOps) {
		if op.order != stage.InOrder {
			continue
		}
		for _, n := range []int{1, 2, 4, 8, 32} {
			for _, cheap := range []bool{true, false} {
				for round := range 20 {
					synctest.Test(t, func(t *testing.T) {
						in := op.over(stage.FromSlice(upTo(300)), n, func(_ context.Context, v int) error {
							if !cheap {
								time.Sleep(time.Duration((v*7919+round*104729)%97) * time.Millisecond)
							}
							if fails(v) {
								return oops(v)
							}
							return nil
						}, stage.Window(64))
						var got []int
						err := stage.ForEach(t.Context(), in, 1, func(_ context.Context, v int) error { got = append(got, v); return nil })
						if err != oops(22) || len(got) != 22 {
							t.Errorf("%s n=%d: %v after %d values", op.name, n, err, len(got))
						}
					})
				}
			}
		}
	}
}

// Errors of the source, of an earlier stage, and of this one, each in its
// place, and none given to f.
func TestP8ErrorsOfUpstreamPassInTheirPlace(t *testing.T) {
	for _, op := range share.Rows(t, engineOps) {
		for _, n := range []int{stage.Inline, 1, 2, 8} {
			mixed := stage.Map(stage.FromSlice(upTo(1000)), stage.Inline, func(_ context.Context, v int) (int, error) {
				if v%10 == 3 {
					return 99, oops(v)
				}
				return v, nil
			})
			var failed []int
			out := op.over(mixed, n, func(_ context.Context, v int) error {
				if v%10 == 3 {
					t.Errorf("%s: f is called for %d", op.name, v)
				}
				if v%10 == 5 {
					return oops(v)
				}
				return nil
			})
			caught := stage.Transform("see", out, stage.Inline, stage.InOrder, stage.TryFunc(func(_ context.Context, a stage.Try[int], out *stage.Try[int]) bool {
				*out = a
				var o oops
				if errors.As(a.Error, &o) {
					if a.Error != o || a.Value != 0 {
						t.Errorf("%s: %v came with %d", op.name, a.Error, a.Value)
					}
					failed = append(failed, int(o))
					*out = stage.Try[int]{Value: int(o)}
				}
				return true
			}))
			got, err := stage.Collect(t.Context(), caught)
			if op.order == stage.AnyOrder && n != stage.Inline {
				sort.Ints(got)
			}
			if err != nil || len(got) != 1000 || len(failed) != 200 || !sort.IntsAreSorted(got) {
				t.Errorf("%s n=%d: %d items, %d errors, %v", op.name, n, len(got), len(failed), err)
			}
		}
	}
}

// C03: whatever goes wrong, no terminal gives a result along with an error.
func TestP8C03CompanionResultsAreZeroWithAnError(t *testing.T) {
	yes := func(context.Context, int) (bool, error) { return true, nil }
	no := func(context.Context, int) (bool, error) { return false, nil }
	sum := func(_ context.Context, a, b int) (int, error) { return a + b, nil }
	type result struct {
		zero bool
		err  error
	}
	terminals := map[string]func(ctx context.Context, in stage.Stream[int], n int) result{
		"All": func(ctx context.Context, in stage.Stream[int], n int) result {
			ok, err := stage.All(ctx, in, n, yes)
			return result{!ok, err}
		},
		"Any": func(ctx context.Context, in stage.Stream[int], n int) result {
			ok, err := stage.Any(ctx, in, n, no)
			return result{!ok, err}
		},
		"Any hit": func(ctx context.Context, in stage.Stream[int], n int) result {
			ok, err := stage.Any(ctx, in, n, yes)
			return result{!ok, err}
		},
		"Collect": func(ctx context.Context, in stage.Stream[int], _ int) result {
			got, err := stage.Collect(ctx, in)
			return result{got == nil, err}
		},
		"Count": func(ctx context.Context, in stage.Stream[int], _ int) result {
			k, err := stage.Count(ctx, in)
			return result{k == 0, err}
		},
		"First": func(ctx context.Context, in stage.Stream[int], _ int) result {
			v, ok, err := stage.First(ctx, in)
			return result{v == 0 && !ok, err}
		},
		"Reduce": func(ctx context.Context, in stage.Stream[int], n int) result {
			v, ok, err := stage.Reduce(ctx, in, n, sum)
			return result{v == 0 && !ok, err}
		},
	}
	one := func(_ context.Context, yield func(int) bool) bool { return yield(1) && yield(2) }
	sources := map[string]stage.Stream[int]{
		"error first":  stage.Concat(stage.Failed[int](errStop), stage.Of(1)),
		"error second": stage.Concat(stage.Of(1), stage.Failed[int](errStop), stage.Of(2)),
		"fails":        stage.Generate(func(ctx context.Context, yield func(int) bool) error { one(ctx, yield); return errStop }),
		"cleanup exits": stage.Generate(func(ctx context.Context, yield func(int) bool) error {
			defer runtime.Goexit()
			one(ctx, yield)
			return nil
		}),
		"exits at once": stage.Generate(func(context.Context, func(int) bool) error { runtime.Goexit(); return nil }),
		"f exits":       stage.Map(stage.Of(1, 2), 2, func(context.Context, int) (int, error) { runtime.Goexit(); return 1, nil }),
		"recovered": stage.Map(stage.Of(1, 2), 2, func(context.Context, int) (int, error) { panic(1) },
			stage.RecoverPanics()),
	}
	for from, in := range sources {
		for name, run := range terminals {
			for _, n := range []int{stage.Inline, 1, 3} {
				for range rounds(20) {
					r := run(t.Context(), in, n)
					if r.err != nil && !r.zero {
						t.Errorf("%s from %q, n=%d: a result along with %v", name, from, n, r.err)
					}
					if r.err == nil && name != "First" && name != "Any hit" {
						t.Errorf("%s from %q, n=%d: no error", name, from, n)
					}
				}
			}
		}
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for name, run := range terminals {
		if r := run(done, stage.Of(1, 2), 2); r.err != context.Canceled || !r.zero {
			t.Errorf("%s with a dead context: %v, zero %v", name, r.err, r.zero)
		}
	}
}

// f's own errors end each terminal that calls one.
func TestP8ErrorsOfAPredicateEndTheTerminal(t *testing.T) {
	for _, n := range []int{stage.Inline, 1, 4} {
		test := func(_ context.Context, v int) (bool, error) {
			if v == 500 {
				return true, errStop
			}
			return false, nil
		}
		if ok, err := stage.Any(t.Context(), stage.FromSlice(upTo(1000)), n, test); ok || err != errStop {
			t.Errorf("Any n=%d: %v, %v", n, ok, err)
		}
		if ok, err := stage.All(t.Context(), stage.FromSlice(upTo(1000)), n, func(ctx context.Context, v int) (bool, error) {
			ok, err := test(ctx, v)
			return !ok || err != nil, err
		}); ok || err != errStop {
			t.Errorf("All n=%d: %v, %v", n, ok, err)
		}
		var calls atomic.Int64
		v, ok, err := stage.Reduce(t.Context(), stage.FromSlice(upTo(1000)), n, func(_ context.Context, a, b int) (int, error) {
			if calls.Add(1) == 500 {
				return 0, errStop
			}
			return a + b, nil
		})
		if v != 0 || ok || err != errStop {
			t.Errorf("Reduce n=%d: %d, %v, %v", n, v, ok, err)
		}
	}
}

// Terminals without an error say what they should.
func TestP8TerminalsAnswerWhatIsTrue(t *testing.T) {
	ctx := t.Context()
	for _, n := range []int{stage.Inline, 1, 2, 8} {
		even := func(_ context.Context, v int) (bool, error) { return v%2 == 0, nil }
		sum := func(_ context.Context, a, b int) (int, error) { return a + b, nil }
		for _, c := range []struct {
			in       []int
			any, all bool
			sum      int
		}{{nil, false, true, 0}, {[]int{1}, false, false, 1}, {[]int{2}, true, true, 2}, {[]int{1, 2}, true, false, 3}, {upTo(1001), true, false, 500500}} {
			in := stage.FromSlice(c.in)
			if got, err := stage.Any(ctx, in, n, even); got != c.any || err != nil {
				t.Errorf("Any(%d items) n=%d = %v, %v", len(c.in), n, got, err)
			}
			if got, err := stage.All(ctx, in, n, even); got != c.all || err != nil {
				t.Errorf("All(%d items) n=%d = %v, %v", len(c.in), n, got, err)
			}
			if got, ok, err := stage.Reduce(ctx, in, n, sum); got != c.sum || ok != (len(c.in) > 0) || err != nil {
				t.Errorf("Reduce(%d items) n=%d = %v, %v, %v", len(c.in), n, got, ok, err)
			}
			if got, err := stage.Count(ctx, in); got != len(c.in) || err != nil {
				t.Errorf("Count(%d items) = %v, %v", len(c.in), got, err)
			}
			got, ok, err := stage.First(ctx, in)
			if ok != (len(c.in) > 0) || ok && got != c.in[0] || err != nil {
				t.Errorf("First(%d items) = %v, %v, %v", len(c.in), got, ok, err)
			}
		}
	}
}
