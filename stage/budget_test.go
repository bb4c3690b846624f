package stage_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/backpressure"
	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

func weightOf(v int) int { return v % 10 }

// loaned is a pipeline with a filter and two maps between the charge and the end.
func loaned(in stage.Stream[int], b *backpressure.Budget, n int, f func(context.Context, int) (int, error)) stage.Stream[int] {
	lent := stage.Charge(in, b, weightOf, stage.Name("lender"))
	kept := ordered.Filter(lent, n, stage.BorrowedFilter(func(_ context.Context, v int) (bool, error) {
		if v%100 == 13 {
			return true, fmt.Errorf("%d is unlucky", v)
		}
		return v%3 != 0, nil
	}))
	made := stage.Map(kept, n, stage.Borrowed(f))
	return stage.Map(made, n, stage.Repaid(func(_ context.Context, v int) (int, error) { return v, nil }))
}

func TestBudgetBoundsWhatIsInFlightOverSeveralStages(t *testing.T) {
	for _, n := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			b := backpressure.NewBudget(20)
			var weight, most atomic.Int64
			in := loaned(items(numbers(1000)...), b, n, func(_ context.Context, v int) (int, error) {
				if w := weight.Add(int64(weightOf(v))); w > most.Load() {
					most.Store(w)
				}
				defer weight.Add(-int64(weightOf(v)))
				time.Sleep(time.Second)
				return v, nil
			})
			in = stage.Catch(in, stage.Inline, func(_ context.Context, err error) error {
				if strings.HasSuffix(err.Error(), "unlucky") {
					return nil
				}
				return err
			})
			k, err := stage.Count(t.Context(), in)
			if want := 666 - 7; err != nil || k != want { // of the ten unlucky ones three are multiples of 3
				t.Errorf("n=%d: %d items, want %d; %v", n, k, want, err)
			}
			if most.Load() > 20 || b.InUse() != 0 {
				t.Errorf("n=%d: up to %d in flight at once, %d left", n, most.Load(), b.InUse())
			}
		})
	}
}

func TestBudgetIsGivenBackWhateverRoadTheRunTakesP5(t *testing.T) {
	pass := func(_ context.Context, v int) (int, error) { return v, nil }
	for name, f := range map[string]func(context.Context, int) (int, error){
		"passes": pass,
		"fails":  func(_ context.Context, v int) (int, error) { return v, oops(v) },
		"panics": func(_ context.Context, v int) (int, error) { panic(errA) },
		"exits":  func(_ context.Context, v int) (int, error) { runtime.Goexit(); return v, nil },
		"blocks": func(ctx context.Context, v int) (int, error) { <-ctx.Done(); return v, nil },
	} {
		for _, n := range []int{stage.Inline, 1, 3} {
			if n == stage.Inline && name == "exits" {
				continue // ends the test itself
			}
			synctest.Test(t, func(t *testing.T) {
				b := backpressure.NewBudget(15)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_ = panicOf(func() { _, _, _ = stage.First(ctx, stage.Drop(loaned(items(numbers(300)...), b, n, f), 20)) })
				if b.InUse() != 0 {
					t.Errorf("%s, n=%d: %d left in use", name, n, b.InUse())
				}
			})
		}
	}
}

// The inputs end, and are closed, while what they have charged is still worked on.
func TestBudgetBoundsWhatComesOfSeveralChargedStreams(t *testing.T) {
	const limit, each = 2, 3
	one := func(int) int { return 1 }
	for name, of := range map[string]func(b *backpressure.Budget) stage.Stream[stage.Loan[int]]{
		"Concat": func(b *backpressure.Budget) stage.Stream[stage.Loan[int]] {
			return stage.Concat(stage.Charge(items(0, 1, 2), b, one), stage.Charge(items(3, 4, 5), b, one), stage.Charge(items(6, 7, 8), b, one))
		},
		"Merge": func(b *backpressure.Budget) stage.Stream[stage.Loan[int]] {
			return stage.Merge(stage.Charge(items(0, 1, 2), b, one), stage.Charge(items(3, 4, 5), b, one), stage.Charge(items(6, 7, 8), b, one))
		},
		"FlatMap": func(b *backpressure.Budget) stage.Stream[stage.Loan[int]] {
			return stage.FlatMap(items(0, 1, 2), 2, func(_ context.Context, k int) stage.Stream[stage.Loan[int]] {
				return stage.Charge(items(each*k, each*k+1, each*k+2), b, one)
			})
		},
	} {
		for _, failing := range []int{-1, 4} {
			synctest.Test(t, func(t *testing.T) {
				b := backpressure.NewBudget(limit)
				running, most := atomic.Int64{}, atomic.Int64{}
				made := stage.Map(of(b), 8, stage.Repaid(func(ctx context.Context, v int) (int, error) {
					n := running.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					defer running.Add(-1)
					if v == failing {
						return v, oops(v)
					}
					time.Sleep(time.Second)
					return v, nil
				}))
				k, err := stage.Count(t.Context(), made)
				if (err != nil) != (failing >= 0) || err == nil && k != 3*each {
					t.Errorf("%s, %d fails: %d items, %v", name, failing, k, err)
				}
				if most.Load() != limit || b.InUse() != 0 {
					t.Errorf("%s, %d fails: up to %d in flight at once, want %d; %d left in use", name, failing, most.Load(), limit, b.InUse())
				}
			})
		}
	}
}

// More is dropped than the budget has: so what is dropped must give its weight back.
func TestBudgetIsGivenBackByWhatIsDropped(t *testing.T) {
	type loan = stage.Loan[int]
	older := stage.Conflate(func(old, _ loan) loan { return old })
	newer := stage.Conflate(func(_, new loan) loan { return new })
	for name, of := range map[string]func(in stage.Stream[loan], opts ...stage.Option) stage.Stream[loan]{
		"DropOldest": func(in stage.Stream[loan], opts ...stage.Option) stage.Stream[loan] {
			return stage.Buffer(in, 2, backpressure.DropOldest, opts...)
		},
		"DropNewest": func(in stage.Stream[loan], opts ...stage.Option) stage.Stream[loan] {
			return stage.Buffer(in, 2, backpressure.DropNewest, opts...)
		},
		"Latest": func(in stage.Stream[loan], opts ...stage.Option) stage.Stream[loan] {
			return stage.Buffer(in, 2, backpressure.Latest, opts...)
		},
		"Latest, merged into the older": func(in stage.Stream[loan], opts ...stage.Option) stage.Stream[loan] {
			return stage.Buffer(in, 2, backpressure.Latest, append(opts, older)...)
		},
		"Latest, merged into the newer": func(in stage.Stream[loan], opts ...stage.Option) stage.Stream[loan] {
			return stage.Buffer(in, 2, backpressure.Latest, append(opts, newer)...)
		},
		"Debounce": func(in stage.Stream[loan], opts ...stage.Option) stage.Stream[loan] {
			return stage.Debounce(in, time.Minute, opts...)
		},
		"Sample": func(in stage.Stream[loan], opts ...stage.Option) stage.Stream[loan] {
			return stage.Sample(in, time.Minute, opts...)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			const limit, n = 6, 100
			b := backpressure.NewBudget(limit)
			in := stage.Charge(items(numbers(n)...), b, func(int) int { return 1 })
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			dropped, got := 0, 0
			err := stage.ForEach(ctx, of(in, stage.OnDrop(func(l loan) { dropped++ })), 1, func(_ context.Context, l loan) error {
				got++
				time.Sleep(time.Second)
				if !l.Release() {
					t.Errorf("%s: %d had been given back before its end", name, l.Value)
				}
				return nil
			})
			if err != nil || got+dropped != n || dropped <= limit || b.InUse() != 0 {
				t.Errorf("%s: %v, %d came, %d were dropped, %d left in use", name, err, got, dropped, b.InUse())
			}
		})
	}
}

// What nobody repays is given back when the run ends.
func TestBudgetOfLoansThatAreLostIsGivenBackAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := backpressure.NewBudget(9)
		charged := func(of ...any) stage.Stream[stage.Loan[int]] {
			return stage.Charge(items(of...), b, func(int) int { return 1 })
		}
		in := stage.Concat(charged(1, 2), charged(3, 4), charged(), charged(5))
		lost := stage.Filter(in, 2, func(_ context.Context, l stage.Loan[int]) (bool, error) { return l.Value%2 == 0, nil })
		inUse := -1
		err := stage.ForEach(t.Context(), lost, 1, func(context.Context, stage.Loan[int]) error {
			time.Sleep(time.Second)
			inUse = b.InUse()
			return nil
		})
		if err != nil || inUse != 5 || b.InUse() != 0 {
			t.Errorf("%v, %d in use before the end, want 5, and %d after it", err, inUse, b.InUse())
		}
	})
}

func TestItemHeavierThanTheBudgetPassesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := backpressure.NewBudget(3)
		var running atomic.Int64
		in := stage.Charge(items(1, 2, 9, 1, 8, 1), b, weightOf)
		err := stage.ForEach(t.Context(), in, 6, stage.RepaidEach(func(_ context.Context, v int) error {
			if k := running.Add(1); v > 3 && k > 1 || k > 3 {
				t.Errorf("%d runs with %d others", v, k-1)
			}
			defer running.Add(-1)
			time.Sleep(time.Second)
			return nil
		}))
		if err != nil || b.InUse() != 0 {
			t.Error(err, b.InUse())
		}
	})
}

func TestBudgetIsSharedByRunsAndAWaitForItIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := backpressure.NewBudget(9)
		other, err := b.Acquire(t.Context(), 9)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Hour, func() { other.Release() })
		start := time.Now()
		k, err := stage.Count(t.Context(), loaned(items(numbers(10)...), b, 2, func(_ context.Context, v int) (int, error) { return v, nil }))
		if k != 6 || err != nil || time.Since(start) != time.Hour {
			t.Error(k, err, time.Since(start))
		}
		// And a wait for it ends with the run.
		if other, err = b.Acquire(t.Context(), 9); err != nil {
			t.Fatal(err)
		}
		defer other.Release()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := stage.Discard(ctx, stage.Charge(items(1, 2, 3), b, weightOf)); err != context.DeadlineExceeded || b.InUse() != 9 {
			t.Error(err, b.InUse())
		}
	})
}

func TestNegativeWeightIsAnErrorInItsPlaceP8(t *testing.T) {
	b := backpressure.NewBudget(5)
	in := stage.Charge(items(1, errA, -3, 2), b, weightOf, stage.Name("lender"))
	var got []any
	for loan, err := range in.Seq(t.Context()) {
		if err != nil {
			got = append(got, err)
			break
		}
		got = append(got, loan.Value)
		loan.Release()
	}
	if len(got) != 2 || got[1] != errA {
		t.Error(got)
	}
	_, err := stage.Count(t.Context(), stage.Charge(items(1, -3), b, weightOf, stage.Name("lender")))
	if !errors.Is(err, backpressure.ErrWeight) || !strings.HasPrefix(err.Error(), "lender: ") || b.InUse() != 0 {
		t.Error(err, b.InUse())
	}
	p, _ := panicOf(func() {
		_ = stage.Discard(t.Context(), stage.Charge(items(1), b, func(int) int { panic(errA) }, stage.Name("lender")))
	}).(*stage.Panic)
	if p == nil || p.Stage != "lender" {
		t.Error(p)
	}
}
