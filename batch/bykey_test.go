package batch_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/seed95b73fdc/sluice/batch"
	"github.com/seed95b73fdc/sluice/stage"
)

func initial(s string) byte { return s[0] }

func TestByKeyMakesABatchPerKeyInTheOrderOfFirstValuesAtTheEnd(t *testing.T) {
	eachWay(t, func(t *testing.T, opts []batch.Option) {
		in := stage.Of("a1", "b1", "a2", "c1", "b2", "a3", "a4", "c2", "b3")
		wantShown(t, batch.ByKey(in, initial, 2, opts...), "[a1 a2]", "[b1 b2]", "[a3 a4]", "[c1 c2]", "[b3]")
		wantShown(t, batch.ByKey(in, initial, 3, opts...), "[a1 a2 a3]", "[b1 b2 b3]", "[c1 c2]", "[a4]")
		wantShown(t, batch.ByKey(in, initial, math.MaxInt, opts...), "[a1 a2 a3 a4]", "[b1 b2 b3]", "[c1 c2]")
		wantShown(t, batch.ByKey(stage.Stream[string]{}, initial, 3, opts...))
	})
}

func TestByKeyEmitsTheLongestOpenBatchWhenOneKeyMoreComes(t *testing.T) {
	eachWay(t, func(t *testing.T, opts []batch.Option) {
		in := stage.Of("a1", "b1", "a2", "c1", "a3", "b2", "c2")
		wantShown(t, batch.ByKey(in, initial, 10, append(opts, batch.OpenKeys(2))...),
			"[a1 a2]", "[b1]", "[c1]", "[a3]", "[b2]", "[c2]")
		wantShown(t, batch.ByKey(in, initial, 10, append(opts, batch.OpenKeys(1))...),
			"[a1]", "[b1]", "[a2]", "[c1]", "[a3]", "[b2]", "[c2]")
	})
}

// C04
func TestByKeyKeepsErrorsInTheirPlaceForEveryKey(t *testing.T) {
	eachWay(t, func(t *testing.T, opts []batch.Option) {
		odd := func(v int) bool { return v%2 == 1 }
		wantShown(t, batch.ByKey(mixed(2, 1, 4, 0, 3, 6, 5, 0, 0), odd, 2, opts...),
			"[2 4]", "[1]", "E", "[3 5]", "[6]", "E", "E")
	})
}

func TestByKeyWeighsAndEndsEachBatchByItself(t *testing.T) {
	eachWay(t, func(t *testing.T, opts []batch.Option) {
		in := stage.Of("a1", "bbb", "a22", "bb", "a.", "a3", "b.")
		opts = append(opts, batch.Weigh(5, func(s string) int { return len(s) }),
			batch.Until(func(s string) bool { return s[1] == '.' }))
		wantShown(t, batch.ByKey(in, initial, 10, opts...), "[a1 a22]", "[bbb bb]", "[a.]", "[b.]", "[a3]")
	})
}

func TestAKeyThatIsNotEqualToItselfIsAnErrorInTheValuesPlace(t *testing.T) {
	eachWay(t, func(t *testing.T, opts []batch.Option) {
		self := func(f float64) float64 { return f }
		wantShown(t, batch.ByKey(stage.Of(1, math.NaN(), 1), self, 10, opts...),
			"[1]", "batch.ByKey: key of an item is NaN, which is not equal to itself", "[1]")
	})
}

func TestByKeyKeepsTheOrderOfEachKeyP2(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 3))
	evicted := 0
	for round := range 100 {
		n, keys, size, open := rng.IntN(2000), 1+rng.IntN(50), 1+rng.IntN(20), 1+rng.IntN(30)
		values := make([]int, n)
		for i := range values {
			values[i] = i*64 + rng.IntN(keys)
		}
		for name, opts := range ways {
			next := map[int][]int{}
			for _, v := range values {
				next[v%64] = append(next[v%64], v)
			}
			in := batch.ByKey(stage.FromSlice(values), func(v int) int { return v % 64 }, size, append(opts, batch.OpenKeys(open))...)
			err := stage.ForEach(context.Background(), in, 1, func(_ context.Context, b []int) error {
				k := b[0] % 64
				if len(b) > size || len(b) > len(next[k]) || !slices.Equal(b, next[k][:len(b)]) {
					return fmt.Errorf("batch %v", b)
				}
				next[k] = next[k][len(b):]
				if len(b) < size && len(next[k]) > 0 {
					evicted++
				}
				return nil
			})
			for k, rest := range next {
				if len(rest) > 0 {
					t.Errorf("key %d: %v is missing", k, rest)
				}
			}
			if err != nil || t.Failed() {
				t.Fatalf("seed %d, round %d, %s: %v", seed, round, name, err)
			}
		}
	}
	if evicted == 0 {
		t.Error("vacuous: no batch was emitted for another key")
	}
}

func TestTheAgeOfEachKeysBatchCountsFromItsOwnFirstValueP13(t *testing.T) {
	bubble(t, func(t *testing.T) {
		odd := func(v int) bool { return v%2 == 1 }
		// 0 at 0, 1 at 10, 2 at 20, … : keys take turns.
		wantStamped(t, batch.ByKey(timed(every(8, 10*ms)...), odd, 10, batch.Within(35*ms)),
			"35ms [0 2]", "45ms [1 3]", "70ms [4 6]", "70ms [5 7]")
	})
}

// How many keys there have been makes no difference: what is kept is what is open.
func TestByKeyHoldsNoMoreThanItsOpenKeysP4(t *testing.T) {
	eachWay(t, func(t *testing.T, opts []batch.Option) {
		const open, n = 8, 20_000
		asked, most, emitted := 0, 0, 0
		in := stage.Tap(stage.FromSlice(upTo(n)), func(int) { asked++ })
		if len(opts) > 0 {
			in = stage.FromSlice(upTo(n)) // the pump runs beside the reader: see the window instead
		}
		ctx, stats := stage.WithStats(context.Background())
		err := stage.ForEach(ctx, batch.ByKey(in, func(v int) int { return v }, 3, append(opts, batch.OpenKeys(open))...), 1,
			func(_ context.Context, b []int) error {
				emitted += len(b)
				most = max(most, asked-emitted)
				if s := stats.Stages()[0]; len(opts) > 0 && emitted%1000 == 0 && (s.InFlight > s.Window || s.InFlight < 0) {
					return fmt.Errorf("%d in flight, window %d", s.InFlight, s.Window)
				}
				return nil
			})
		if err != nil || emitted != n || most > open+2*64 {
			t.Errorf("%d emitted, at most %d held, %v", emitted, most, err)
		}
	})
}

func TestAKeyMayComeBackAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		same := func(int) int { return 0 }
		wantStamped(t, batch.ByKey(timed(0, 0, 0, 9*ms), same, 2, batch.Within(10*ms), batch.OpenKeys(1)), "0s [0 1]", "9ms [2 3]")
	})
}
