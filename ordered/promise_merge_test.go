package ordered_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// tagged is a value that knows where it comes from.
type tagged struct{ key, input, place int }

func byKey(a, b tagged) int { return cmp.Compare(a.key, b.key) }

// P1: random sorted inputs, with many equal keys, against a stable sort.
func TestP1MergeIsAStableSortOfItsInputs(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	ties := 0
	for range 300 {
		seed++
		rng := rand.New(rand.NewPCG(seed, 0))
		var ins []stage.Stream[tagged]
		var want []tagged
		for input := range rng.IntN(9) {
			var s []tagged
			for key := 0; len(s) < rng.IntN(200); key += rng.IntN(3) {
				s = append(s, tagged{key, input, len(s)})
			}
			want = append(want, s...)
			in := stage.FromSlice(s)
			if rng.IntN(2) == 0 {
				in = ordered.Map(in, 2, func(_ context.Context, v tagged) (tagged, error) { return v, nil })
			}
			ins = append(ins, in)
		}
		slices.SortStableFunc(want, byKey) // they stand there input by input
		for i := 1; i < len(want); i++ {
			if want[i].key == want[i-1].key && want[i].input != want[i-1].input {
				ties++
			}
		}
		if got, err := stage.Collect(t.Context(), ordered.Merge(byKey, ins...)); !slices.Equal(got, want) || err != nil {
			t.Fatalf("seed %d: %d items, %v, want %d", seed, len(got), err, len(want))
		}
	}
	if ties < 1000 {
		t.Errorf("only %d ties between inputs", ties)
	}
}

// P8: an error comes when it is the first of its input, whatever the chunks are.
func TestP8MergeHasErrorsInTheirPlaceInEveryRun(t *testing.T) {
	failing := func(vs ...int) stage.Stream[int] { // negative: an error
		return edited(stage.FromSlice(vs), func(a *stage.Try[int]) {
			if a.Value < 0 {
				*a = stage.Try[int]{Error: oops(-a.Value)}
			}
		})
	}
	in := ordered.Merge(cmp.Compare[int], failing(1, 4, -40, -41, 7), failing(-20, 2, 5, -50), failing(), failing(3, 6, 8))
	want := []int{-20, 1, 2, 3, 4, -40, -41, 5, -50, 6, 7, 8}
	for range 20 {
		if got := list(t, in); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	// One item at a time, from a reader that is slow.
	synctest.Test(t, func(t *testing.T) {
		if got := list(t, stage.Tap(in, func(int) { time.Sleep(time.Second) })); !slices.Equal(got, want) {
			t.Errorf("slowly: %v, want %v", got, want)
		}
	})
	if err := stage.Discard(t.Context(), in); err != oops(20) {
		t.Errorf("the first error is %v", err)
	}
}

// P4: what has been taken of each input and not yet by the reader.
func TestP4MergeHoldsAChunkOfEachInput(t *testing.T) {
	for _, slow := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			const k, size = 5, 1000
			var held [k]int
			most, ahead := 0, 0
			var ins []stage.Stream[int]
			for i := range k {
				s := make([]int, size)
				for j := range s {
					s[j] = k*j + i
				}
				ins = append(ins, stage.New(func(s2 *stage.Scope) stage.Reader[int] {
					return &reader{Reader: stage.Open(s2, stage.FromSlice(s)), seen: func(items []stage.Try[int]) {
						held[i] += len(items)
						most = max(most, held[i])
					}}
				}))
			}
			next := 0
			err := stage.ForEach(t.Context(), ordered.Merge(cmp.Compare[int], ins...), 1, func(_ context.Context, v int) error {
				if v != next {
					return fmt.Errorf("got %d, want %d", v, next)
				}
				next++
				ahead = max(ahead, held[v%k])
				held[v%k]--
				if slow {
					time.Sleep(time.Second)
				}
				return nil
			})
			limit := 1
			if !slow {
				limit = 2 * 64 // and as many are in the hands of the reader
			}
			if err != nil || next != k*size || most > limit || ahead == 0 {
				t.Errorf("slow %v: %d items, %v, %d of one input at most", slow, next, err, most)
			}
		})
	}
}

// It waits for the input that has nothing, and for no other.
func TestP13MergeEmitsAsSoonAsEveryInputHasAnItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		slow := stage.Map(stage.Of(10, 20), stage.Inline, func(_ context.Context, v int) (int, error) {
			time.Sleep(time.Hour)
			return v, nil
		})
		for v, err := range askedForMany(ordered.Merge(cmp.Compare[int], stage.Of(1, 2, 30), slow)).Seq(t.Context()) {
			want := map[int]time.Duration{1: 1, 2: 1, 10: 1, 20: 2, 30: 2}[v] * time.Hour
			if at := time.Since(start); err != nil || at != want {
				t.Errorf("%d, %v came after %v, want %v", v, err, at, want)
			}
		}
	})
}

// countsCloses is a reader that says when it is closed.
type countsCloses struct {
	stage.Reader[int]
	times *atomic.Int64
}

func (r countsCloses) Close() {
	r.times.Add(1)
	r.Reader.Close()
}

// askedForMany asks for eight items at once, and hands on what is there.
func askedForMany(in stage.Stream[int]) stage.Stream[int] {
	return stage.New(func(s *stage.Scope) stage.Reader[int] { return &asksForMany{up: stage.Open(s, in)} })
}

type asksForMany struct {
	up   stage.Reader[int]
	buf  [8]stage.Try[int]
	left []stage.Try[int]
}

func (r *asksForMany) Next(dst []stage.Try[int]) int {
	if len(r.left) == 0 {
		r.left = r.buf[:r.up.Next(r.buf[:])]
	}
	k := copy(dst, r.left)
	r.left = r.left[k:]
	return k
}

func (r *asksForMany) Close() { r.up.Close() }

// P5, P6, P7: each input is closed when it has ended, and all are at an early end.
func TestP5P6P7MergeClosesItsInputs(t *testing.T) {
	closed := map[string]*atomic.Int64{"short": {}, "long": {}, "a": {}, "b": {}} // by the sources, each in its goroutine
	src := func(name string, size int) stage.Stream[int] {
		return stage.Generate(func(_ context.Context, yield func(int) bool) error {
			defer closed[name].Add(1)
			for v := 0; v < size && yield(v); v++ {
			}
			return nil
		})
	}
	short := stage.New(func(s *stage.Scope) stage.Reader[int] {
		return countsCloses{stage.Open(s, stage.Of(0)), closed["short"]}
	})
	in := ordered.Merge(cmp.Compare[int], short, stage.Stream[int]{}, src("long", 1<<30))
	var got []int
	for v, err := range in.Seq(t.Context()) {
		if err != nil {
			t.Error(err)
		}
		if got = append(got, v); len(got) == 3 {
			if closed["short"].Load() == 0 {
				t.Error("the input that has ended is open")
			}
			break
		}
	}
	if k := closed["long"].Load(); k != 1 || !slices.Equal(got, []int{0, 0, 1}) {
		t.Errorf("%v, the long input was closed %d times", got, k)
	}
	if v, err := stage.Collect(t.Context(), ordered.Merge(cmp.Compare[int])); v != nil || err != nil {
		t.Errorf("of nothing: %v, %v", v, err)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	calls := 0
	err := stage.ForEach(ctx, ordered.Merge(func(a, b int) int { calls++; return cmp.Compare(a, b) }, src("a", 1<<30), src("b", 1<<30)), 1, func(_ context.Context, v int) error {
		if v == 100 {
			cancel(errStop)
			calls = 0
		}
		return nil
	})
	if err != errStop || calls > 0 || closed["a"].Load() != 1 || closed["b"].Load() != 1 {
		t.Errorf("cancelled: %v, %d more calls, closed %d, %d", err, calls, closed["a"].Load(), closed["b"].Load())
	}
}

// P9, P11.
func TestP9P11MergeNamesWhatGoesWrong(t *testing.T) {
	in := ordered.Merge(func(a, b int) int { thrower(errStop); return 0 }, stage.Of(1), stage.Of(2))
	p, ok := raised(func() { stage.Discard(t.Context(), in) }).(*stage.Panic)
	if !ok || p.Value != errStop || p.Stage != "merge#1" {
		t.Errorf("raised %v", p)
	}
	if got := fmt.Sprint(raised(func() { ordered.Merge(nil, stage.Of(1)) })); got != "ordered.Merge: cmp is nil" {
		t.Error(got)
	}
}

// A branch that is full holds up the other one, which has nothing: no order can
// be had then, and that is said.
func TestMergeOfBranchesThatCannotBeMergedStalls(t *testing.T) {
	yes, no := stage.Split(stage.FromSlice(upTo(100)), func(v int) bool { return v == 99 }, stage.Window(4))
	if _, err := stage.Collect(t.Context(), ordered.Merge(cmp.Compare[int], yes, no)); err == nil {
		t.Error("no error")
	}
	yes, no = stage.Split(stage.FromSlice(upTo(100)), func(v int) bool { return v%3 == 0 })
	if got, err := stage.Collect(t.Context(), ordered.Merge(cmp.Compare[int], yes, no)); !slices.Equal(got, upTo(100)) || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// P6: once the run is cancelled, the item that is being looked for is the last one for
// which cmp is called, however many have been asked for.
func TestP6MergeComparesNoMoreAfterACancellation(t *testing.T) {
	for at := 10; at < 26; at++ {
		ctx, cancel := context.WithCancelCause(t.Context())
		calls, after := 0, 0
		in := ordered.Merge(func(a, b int) int {
			if calls++; calls == at {
				cancel(errStop)
			} else if calls > at {
				after++
			}
			return cmp.Compare(a, b)
		}, stage.FromSlice(upTo(1000)), stage.FromSlice(upTo(1000)))
		if err := stage.Discard(ctx, askedForMany(in)); err != errStop || after > 1 {
			t.Errorf("cancelled in call %d: %v, %d more calls", at, err, after)
		}
	}
}
