package batch_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed95b73fdc/sluice/batch"
	"github.com/seed95b73fdc/sluice/stage"
)

// ways are the two makes of a stage that gathers: in the goroutine of whoever
// pulls, and with one of its own.
var ways = map[string][]batch.Option{
	"inline": nil,
	"within": {batch.Within(time.Hour)},
}

func eachWay(t *testing.T, f func(t *testing.T, opts []batch.Option)) {
	for name, opts := range ways {
		t.Run(name, func(t *testing.T) { f(t, opts) })
	}
}

func TestChunkFillsBatchesAndFlushesAtTheEnd(t *testing.T) {
	eachWay(t, func(t *testing.T, opts []batch.Option) {
		wantShown(t, batch.Chunk(stage.Of(1, 2, 3, 4, 5), 2, opts...), "[1 2]", "[3 4]", "[5]")
		wantShown(t, batch.Chunk(stage.Of(1, 2, 3, 4), 2, opts...), "[1 2]", "[3 4]")
		wantShown(t, batch.Chunk(stage.Of(1, 2), 1, opts...), "[1]", "[2]")
		wantShown(t, batch.Chunk(stage.Of(1, 2), math.MaxInt, opts...), "[1 2]")
		wantShown(t, batch.Chunk(stage.Of[int](), 2, opts...))
		wantShown(t, batch.Chunk(stage.Stream[int]{}, 2, opts...))
	})
}

// C04
func TestChunkKeepsErrorsInTheirPlaceAsBoundaries(t *testing.T) {
	eachWay(t, func(t *testing.T, opts []batch.Option) {
		rounds := 1000
		if testing.Short() {
			rounds = 100
		}
		for range rounds {
			wantShown(t, batch.Chunk(mixed(1, 2, 0, 3, 4), 10, opts...), "[1 2]", "E", "[3 4]")
		}
		wantShown(t, batch.Chunk(mixed(0, 0, 1, 2, 0), 2, opts...), "E", "E", "[1 2]", "E")
	})
}

func TestChunkWeighs(t *testing.T) {
	length := func(s string) int { return len(s) }
	eachWay(t, func(t *testing.T, opts []batch.Option) {
		opts = append(opts, batch.Weigh(4, length))
		in := stage.Of("aa", "b", "cc", "dd", "e", "", "", "toolong", "f", "gggg", "hhh", "i", "j")
		wantShown(t, batch.Chunk(in, 3, opts...),
			"[aa b]", "[cc dd]", "[e  ]", "[toolong]", "[f]", "[gggg]", "[hhh i]", "[j]")
	})
}

func TestChunkNeitherOverflowsNorLosesAnItemOfBadWeight(t *testing.T) {
	eachWay(t, func(t *testing.T, opts []batch.Option) {
		opts = append(opts, batch.Weigh(math.MaxInt, func(w int) int { return w }))
		in := stage.Of(1, math.MaxInt, 2, math.MaxInt-2, 1, -3, 4)
		wantShown(t, batch.Chunk(in, 10, opts...),
			"[1]", fmt.Sprint([]int{math.MaxInt}), fmt.Sprint([]int{2, math.MaxInt - 2}), "[1]",
			"batch.Chunk: weight of an item is -3, want at least 0", "[4]")
	})
}

func TestChunkEndsABatchWithTheItemThatUntilNames(t *testing.T) {
	eachWay(t, func(t *testing.T, opts []batch.Option) {
		calls := 0
		end := func(s string) bool { calls++; return strings.HasSuffix(s, ".") }
		opts = append(opts, batch.Until(end))
		wantShown(t, batch.Chunk(stage.Of("a", "b.", "c.", "d", "e", "f.", "g"), 2, opts...),
			"[a b.]", "[c.]", "[d e]", "[f.]", "[g]")
		if calls != 7 {
			t.Errorf("%d calls for 7 items", calls)
		}
	})
}

// FuzzChunk holds Chunk, with all options, against a plain loop.
func FuzzChunk(f *testing.F) {
	f.Add([]byte{1, 2, 0, 3, 200, 7, 7}, uint8(3), uint8(10))
	f.Add([]byte{}, uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, in []byte, size, weight uint8) {
		checkAgainstLoop(t, in, 1+int(size)%70, 1+int(weight))
	})
}

func TestChunkIsThePlainLoopP1(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	rounds := 300
	if raceEnabled {
		rounds = 60 // other ones with other processors
	}
	for round := range rounds {
		in := make([]byte, rng.IntN(500))
		for i := range in {
			if rng.IntN(20) > 0 {
				in[i] = byte(rng.Uint32())
			}
		}
		checkAgainstLoop(t, in, 1+rng.IntN(70), 1+rng.IntN(1000))
		if t.Failed() {
			t.Fatalf("seed %d, round %d", seed, round)
		}
	}
}

// checkAgainstLoop chunks in, where a 0 is an error and what 7 divides is a last one.
func checkAgainstLoop(t *testing.T, in []byte, size, weight int) {
	t.Helper()
	var want []string
	var cur []int
	sum := 0
	flush := func() {
		if len(cur) > 0 {
			want = append(want, fmt.Sprint(cur))
		}
		cur, sum = nil, 0
	}
	values := make([]int, len(in))
	for i, b := range in {
		values[i] = int(b)
		if b == 0 {
			flush()
			want = append(want, "E")
			continue
		}
		if sum+int(b) > weight {
			flush()
		}
		cur = append(cur, int(b))
		sum += int(b)
		if len(cur) == size || sum >= weight || b%7 == 0 {
			flush()
		}
	}
	flush()
	weigh := batch.Weigh(weight, func(v int) int { return v })
	until := batch.Until(func(v int) bool { return v%7 == 0 })
	for name, opts := range ways {
		for n := range 2 {
			source := stage.Map(mixed(values...), n, func(_ context.Context, v int) (int, error) { return v, nil })
			if n == 1 {
				source = mixed(values...)
			}
			if got := show(t, batch.Chunk(source, size, append(opts, weigh, until)...)); !slices.Equal(got, want) {
				t.Errorf("%s: got %v, want %v", name, got, want)
			}
			again := show(t, batch.Flatten(batch.Chunk(mixed(values...), size, append(opts, weigh)...)))
			if want := show(t, mixed(values...)); !slices.Equal(again, want) {
				t.Errorf("%s: Flatten gives %v, want %v", name, again, want)
			}
		}
	}
}

func TestChunkNeverTouchesABatchAgain(t *testing.T) {
	eachWay(t, func(t *testing.T, opts []batch.Option) {
		batches, err := stage.Collect(context.Background(), batch.Chunk(stage.FromSlice(upTo(10_000)), 7, opts...))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range batches { // whoever has a batch may do with it what he likes
			_ = append(b, -1)
		}
		if got := slices.Concat(batches...); !slices.Equal(got, upTo(10_000)) {
			t.Error("values changed")
		}
	})
}

func TestChunkReusesMemoryOnlyWhenAsked(t *testing.T) {
	eachWay(t, func(t *testing.T, opts []batch.Option) {
		distinct := func(opts ...batch.Option) int {
			seen := map[*int]bool{}
			want := 0
			err := stage.ForEach(context.Background(), batch.Chunk(stage.FromSlice(upTo(10_000)), 10, opts...), 1,
				func(_ context.Context, b []int) error {
					for _, v := range b {
						if v != want {
							return fmt.Errorf("got %d, want %d", v, want)
						}
						want++
					}
					seen[&b[0]] = true
					return nil
				})
			if err != nil || want != 10_000 {
				t.Fatal(err, want)
			}
			return len(seen)
		}
		if n := distinct(append(opts, batch.Reuse())...); n > 3*64 {
			t.Errorf("%d pieces of memory", n)
		}
	})
}

func TestFlattenSkipsEmptyBatchesAndChangesNone(t *testing.T) {
	in := [][]int{{}, {1, 2, 3}, nil, {4}, {}}
	wantShown(t, batch.Flatten(stage.FromSlice(in)), "1", "2", "3", "4")
	if !slices.Equal(in[1], []int{1, 2, 3}) {
		t.Errorf("changed to %v", in[1])
	}
	empties := batch.Flatten(stage.FromSlice(make([][]int, 100_000)))
	wantShown(t, empties)
	wantShown(t, batch.Flatten(stage.Stream[[]int]{}))
}

// C05
func TestBadArgumentsPanicAtConstructionP11(t *testing.T) {
	in := stage.Of("a")
	key := func(s string) string { return s }
	var nilKey func(string) string
	for want, f := range map[string]func(){
		"batch.Chunk: size is 0, want at least 1":                                          func() { batch.Chunk(in, 0) },
		"batch.Chunk: size is -1, want at least 1":                                         func() { batch.Chunk(in, -1) },
		"batch.Within: age is 0s, want more than 0":                                        func() { batch.Within(0) },
		"batch.Within: age is -1s, want more than 0":                                       func() { batch.Within(-time.Second) },
		"batch.Weigh: max is 0, want at least 1":                                           func() { batch.Weigh(0, func(string) int { return 1 }) },
		"batch.Weigh: f is nil":                                                            func() { batch.Weigh[string](1, nil) },
		"batch.Until: f is nil":                                                            func() { batch.Until[string](nil) },
		"batch.Chunk: option 1 is nil":                                                     func() { batch.Chunk(in, 1, batch.Reuse(), nil) },
		"batch.Chunk: the function of Weigh is a func(int) int, want a func(string) int":   func() { batch.Chunk(in, 1, batch.Weigh(1, func(int) int { return 1 })) },
		"batch.Chunk: the function of Until is a func(int) bool, want a func(string) bool": func() { batch.Chunk(in, 1, batch.Until(func(int) bool { return true })) },
		"batch.Chunk: option OpenKeys does not apply":                                      func() { batch.Chunk(in, 1, batch.OpenKeys(3)) },
		"batch.OpenKeys: n is 0, want at least 1":                                          func() { batch.OpenKeys(0) },
		"batch.ByKey: key is nil":                                                          func() { batch.ByKey(in, nilKey, 1) },
		"batch.ByKey: size is 0, want at least 1":                                          func() { batch.ByKey(in, key, 0) },
		"batch.ByKey: the function of Until is a func(int) bool, want a func(string) bool": func() { batch.ByKey(in, key, 1, batch.Until(func(int) bool { return true })) },
	} {
		if got := wantPanic(t, f); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestChunkAsksForNoMoreThanABatchWhenOneIsWantedP7(t *testing.T) {
	for name, c := range map[string]struct {
		opts []batch.Option
		want int
	}{
		"size":  {nil, 100},
		"until": {[]batch.Option{batch.Until(func(v int) bool { return v == 9 })}, 10},
		"weigh": {[]batch.Option{batch.Weigh(10, func(int) int { return 1 })}, 10},
	} {
		asked := 0
		in := stage.Tap(stage.FromSlice(upTo(10_000)), func(int) { asked++ })
		b, found, err := stage.First(context.Background(), batch.Chunk(in, 100, c.opts...))
		if len(b) != c.want || !found || err != nil || asked != c.want {
			t.Errorf("%s: %d values, %v, %d asked for; want %d", name, len(b), err, asked, c.want)
		}
	}
}

func TestFunctionsAreNotCalledAfterTheCancellationAndNoErrorIsMaskedP6(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("why")
	calls := 0
	weigh := batch.Weigh(100, func(v int) int {
		if calls++; calls == 3 {
			cancel(why)
		}
		return 1
	})
	_, err := stage.Collect(ctx, batch.Chunk(stage.FromSlice(upTo(10_000)), 50, weigh))
	if err != why || calls != 3 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

func TestAPanicNamesTheStageP9(t *testing.T) {
	eachWay(t, func(t *testing.T, opts []batch.Option) {
		in := stage.FromSlice(upTo(100))
		torn := func(v int) int {
			if v == 13 {
				panic(errE)
			}
			return 1
		}
		for name, b := range map[string]stage.Stream[[]int]{
			"weigh#1": batch.Chunk(in, 10, append(opts, batch.Weigh(100, torn), batch.Name("weigh#1"))...),
			"chunk#1": batch.Chunk(in, 10, append(opts, batch.Until(func(v int) bool { return torn(v) == 0 }))...),
			"bykey#1": batch.ByKey(in, torn, 10, opts...),
		} {
			slow := stage.Map(b, 2, func(_ context.Context, b []int) (int, error) { return len(b), nil })
			v := wantPanic(t, func() { stage.Discard(context.Background(), slow) })
			if p, ok := v.(*stage.Panic); !ok || p.Stage != name || !errors.Is(p, errE) {
				t.Errorf("want %s, got %v", name, v)
			}
		}
	})
}
