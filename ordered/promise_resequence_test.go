package ordered_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

func itself[N any](v N) N { return v }

// told runs in and tells its items: numbers, "2-4" for a gap, "again 5" for a
// duplicate, and the text of another error.
func told[N ordered.Integer](t *testing.T, in stage.Stream[N]) (got []string) {
	t.Helper()
	lines := stage.Transform("tell", in, stage.Inline, stage.InOrder, stage.TryFunc(func(_ context.Context, a stage.Try[N], out *stage.Try[string]) bool {
		var gap *ordered.GapError[N]
		var dup *ordered.DuplicateError[N]
		switch {
		case errors.As(a.Error, &gap) && errors.Is(a.Error, ordered.ErrGap):
			out.Value = fmt.Sprintf("%d-%d", gap.First, gap.Last)
		case errors.As(a.Error, &dup) && errors.Is(a.Error, ordered.ErrDuplicate):
			out.Value = fmt.Sprintf("again %d", dup.Number)
		case a.Error != nil:
			out.Value = a.Error.Error()
		default:
			out.Value = fmt.Sprint(a.Value)
		}
		out.Error = nil
		return true
	}))
	got, err := stage.Collect(t.Context(), lines)
	if err != nil {
		t.Error(err)
	}
	return got
}

func TestP1ResequenceEmitsNumbersInOrderAndSaysWhatIsAmiss(t *testing.T) {
	for name, c := range map[string]struct {
		window int
		in     []int
		want   []string
	}{
		"in order":               {1, []int{0, 1, 2}, []string{"0", "1", "2"}},
		"reversed":               {4, []int{3, 2, 1, 0}, []string{"0", "1", "2", "3"}},
		"one too far":            {3, []int{3, 2, 1, 0}, []string{"0-0", "1", "2", "3", "again 0"}},
		"a gap at the end":       {9, []int{0, 1, 4, 3}, []string{"0", "1", "2-2", "3", "4"}},
		"a gap and a full house": {2, []int{0, 5, 7, 9}, []string{"0", "1-4", "5", "6-6", "7", "8-8", "9"}},
		"missing first":          {2, []int{1, 2, 3}, []string{"0-0", "1", "2", "3"}},
		"twice":                  {3, []int{0, 1, 1, 2}, []string{"0", "1", "again 1", "2"}},
		"twice while held":       {4, []int{2, 2, 0, 1}, []string{"0", "1", "2", "again 2"}},
		"too late":               {1, []int{1, 0, 2}, []string{"0-0", "1", "again 0", "2"}},
		"before the first":       {2, []int{-1, 0, 1}, []string{"again -1", "0", "1"}},
		"far out":                {3, []int{1 << 30, 0, 1, 2}, []string{"0", "1", "2", "3-1073741823", "1073741824"}},
		"nothing":                {3, nil, nil},
	} {
		if got := told(t, ordered.Resequence(stage.FromSlice(c.in), itself[int], c.window)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestP1ResequenceEmitsOfEqualNumbersTheOneThatCameFirst(t *testing.T) {
	in := stage.Of(25, 21, 19, 23, 11, 2) // the tens are the number
	var got []int
	again := 0
	_, err := stage.Count(t.Context(), seen(ordered.Resequence(in, func(v int) int { return v / 10 }, 9), func(a stage.Try[int]) error {
		if errors.Is(a.Error, ordered.ErrDuplicate) {
			again++
		} else {
			got = append(got, a.Value)
		}
		return nil
	}))
	if want := []int{2, 19, 25}; err != nil || !slices.Equal(got, want) || again != 3 {
		t.Errorf("%v and %d duplicates, %v, want %v and 3", got, again, err, want)
	}
}

func TestResequenceBeginsWithFirstAndEndsWithTheLargestNumber(t *testing.T) {
	in := stage.Of[uint8](254, 253, 255, 0, 255)
	if got, want := told(t, ordered.Resequence(in, itself[uint8], 2, 253)), []string{"253", "254", "255", "again 0", "again 255"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	low := stage.Of[int64](math.MinInt64+1, math.MinInt64, 5)
	if got, want := told(t, ordered.Resequence(low, itself[int64], 2, math.MinInt64)), []string{"-9223372036854775808", "-9223372036854775807", "-9223372036854775806-4", "5"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Against a model: whatever the window, items come in the order of their numbers,
// each number is accounted for once, and every item that came is told of.
func TestP1P4ResequenceAccountsForEveryNumberAndHoldsAtMostTheWindow(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	gaps, dups, full := 0, 0, 0
	for range 400 {
		seed++
		rng := rand.New(rand.NewPCG(seed, 0))
		size, reach, window := rng.IntN(300), 1+rng.IntN(12), 1+rng.IntN(12)
		var nums []int
		for v := range size {
			if rng.IntN(10) > 0 {
				nums = append(nums, v)
			}
			if rng.IntN(20) == 0 {
				nums = append(nums, v)
			}
		}
		for i := range nums { // an item comes up to reach-1 places from its own
			j := min(len(nums)-1, i+rng.IntN(reach))
			nums[i], nums[j] = nums[j], nums[i]
		}
		took, gave, most := 0, 0, 0
		src := edited(stage.FromSlice(nums), func(*stage.Try[int]) {
			took++
			most = max(most, took-gave)
		})
		next, items, again := 0, 0, 0
		for _, err := range seen(ordered.Resequence(src, itself[int], window), func(a stage.Try[int]) error {
			var gap *ordered.GapError[int]
			var dup *ordered.DuplicateError[int]
			switch {
			case errors.As(a.Error, &gap):
				gaps++
				if gap.First != next || gap.Last < gap.First {
					return fmt.Errorf("gap %d to %d, next is %d", gap.First, gap.Last, next)
				}
				next = gap.Last + 1
			case errors.As(a.Error, &dup):
				gave++
				again++
				dups++
				if dup.Number >= next {
					return fmt.Errorf("%d again, next is %d", dup.Number, next)
				}
			case a.Value != next:
				return fmt.Errorf("%d, next is %d", a.Value, next)
			default:
				gave++
				items++
				next++
			}
			return nil
		}).Seq(t.Context()) {
			if err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		}
		if items+again != len(nums) || most > window {
			t.Errorf("seed %d: %d items and %d again of %d, %d held in a window of %d", seed, items, again, len(nums), most, window)
		}
		if most == window {
			full++
		}
		if over := overtaken(nums); over < window && items != distinct(nums) {
			t.Errorf("seed %d: %d items of %d numbers, none overtaken by more than %d, in a window of %d", seed, items, distinct(nums), over, window)
		}
	}
	if gaps < 100 || dups < 100 || full < 100 {
		t.Errorf("only %d gaps, %d duplicates, %d full windows", gaps, dups, full)
	}
}

// seen shows each item to look, whose error ends the stream.
func seen(in stage.Stream[int], look func(stage.Try[int]) error) stage.Stream[int] {
	return edited(in, func(a *stage.Try[int]) { *a = stage.Try[int]{Error: look(*a)} })
}

// overtaken returns by how many others a number is overtaken at most.
func overtaken(nums []int) (most int) {
	for i, v := range nums {
		k := 0
		for _, u := range nums[:i] {
			if u > v {
				k++
			}
		}
		most = max(most, k)
	}
	return most
}

func distinct(s []int) int {
	s = slices.Clone(s)
	slices.Sort(s)
	return len(slices.Compact(s))
}

// What comes next is emitted at once, without a look at what is behind it.
func TestP13ResequenceEmitsWhatIsNextAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := make(chan int)
		var got []int
		go func() {
			defer close(feed)
			for _, v := range []int{0, 2, 1, 4, 5} {
				feed <- v
				synctest.Wait()
				want := map[int]int{0: 1, 2: 1, 1: 3, 4: 3, 5: 3}[v]
				if len(got) != want {
					t.Errorf("after %d: %v, want %d", v, got, want)
				}
			}
		}()
		in := ordered.Resequence(stage.FromChan(feed), itself[int], 3)
		err := stage.ForEach(t.Context(), in, 1, func(_ context.Context, v int) error { got = append(got, v); return nil })
		if gap := new(ordered.GapError[int]); !errors.As(err, &gap) || gap.First != 3 || gap.Last != 3 {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// P6, P8: a cancellation makes no gaps, calls seq no more, and an error that is
// there comes out.
func TestP6P8ResequenceTakesACancelledInputForWhatItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		src := stage.Generate(func(ctx context.Context, yield func(int) bool) error {
			yield(5)
			<-ctx.Done()
			return ctx.Err()
		})
		time.AfterFunc(time.Hour, func() { cancel(errStop) })
		if err := stage.Discard(ctx, ordered.Resequence(src, itself[int], 9)); err != errStop {
			t.Error(err)
		}
	})
	// What has been taken from upstream by then is not asked for its number.
	for at := 1; at < 20; at++ {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			calls := 0
			in := ordered.Resequence(stage.FromSlice(upTo(100)), func(v int) int {
				if calls++; calls == at {
					cancel(errStop)
				}
				return v
			}, 8)
			if err := stage.Discard(ctx, askedForMany(in)); err != errStop || calls != at {
				t.Errorf("cancelled in call %d: %v after %d calls", at, err, calls)
			}
		})
	}
	failing := edited(stage.Of(0, 3, -7, 1, 2), func(a *stage.Try[int]) {
		if a.Value < 0 {
			*a = stage.Try[int]{Error: oops(7)}
		}
	})
	if got, want := told(t, ordered.Resequence(failing, itself[int], 9)), []string{"0", "oops 7", "1", "2", "3"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// P9, P11.
func TestP9P11ResequenceNamesWhatGoesWrong(t *testing.T) {
	in := ordered.Resequence(stage.Of(1), func(int) int { thrower(errStop); return 0 }, 1)
	p, ok := raised(func() { stage.Discard(t.Context(), in) }).(*stage.Panic)
	if !ok || p.Value != errStop || p.Stage != "resequence#1" {
		t.Errorf("raised %v", p)
	}
	for want, f := range map[string]func(){
		"ordered.Resequence: seq is nil":                   func() { ordered.Resequence[int, int](stage.Of(1), nil, 1) },
		"ordered.Resequence: window is 0, want at least 1": func() { ordered.Resequence(stage.Of(1), itself[int], 0) },
		"ordered.Resequence: 2 firsts, want at most 1":     func() { ordered.Resequence(stage.Of(1), itself[int], 1, 1, 2) },
		"ordered.By: there is no Strategy(4)":              func() { ordered.By(4) },
		"ordered.By: there is no Strategy(-1)":             func() { ordered.By(-1) },
	} {
		if got := fmt.Sprint(raised(f)); got != want {
			t.Errorf("panics with %q, want %q", got, want)
		}
	}
}
