package batch_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed95b73fdc/sluice/batch"
	"github.com/seed95b73fdc/sluice/stage"
)

const ms = time.Millisecond

func every(n int, d time.Duration) (at []time.Duration) {
	for i := range n {
		at = append(at, time.Duration(i)*d)
	}
	return at
}

func wantStamped[T any](t *testing.T, in stage.Stream[T], want ...string) {
	t.Helper()
	if got := stamped(t, in); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWithinEmitsWhenTheFirstItemIsOldEnoughExactlyP13(t *testing.T) {
	bubble(t, func(t *testing.T) {
		wantStamped(t, batch.Chunk(timed(0, 40*ms, 99*ms, 120*ms, 300*ms, 301*ms, 302*ms, 500*ms), 3, batch.Within(100*ms)),
			"99ms [0 1 2]", "220ms [3]", "302ms [4 5 6]", "500ms [7]")
	})
}

// Who wants no bound says so with the longest age there is: it is added to the time
// when the first item came, and must not come out before it.
func TestTheLongestAgeIsNoneP13(t *testing.T) {
	const longest = time.Duration(math.MaxInt64)
	bubble(t, func(t *testing.T) {
		in := timed(ms, 2*ms, 3*ms, 4*ms)
		wantStamped(t, batch.Chunk(in, 3, batch.Within(longest)), "3ms [0 1 2]", "4ms [3]")
		one := func(int) int { return 1 }
		wantStamped(t, batch.ByKey(in, one, 3, batch.Within(longest)), "3ms [0 1 2]", "4ms [3]")
		r := &recorder{}
		c := batch.NewCoalescer(r.flush, 3, batch.Within(longest))
		defer closeNow(t, c)
		if got := ask(c, ms, 2*ms, 3*ms); got[0].at != 3*ms || !slices.Equal(r.got, []string{"[0 1 2]"}) {
			t.Errorf("got %v, %v", got, r.got)
		}
	})
}

// C30
func TestALaterItemDoesNotPutTheAgeOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		start := time.Now()
		var first, count int
		err := stage.ForEach(context.Background(), batch.Chunk(timed(every(41, 125*ms)...), 100, batch.Within(250*ms)), 1,
			func(_ context.Context, b []int) error {
				if b[0] != first {
					t.Errorf("%v begins with %d", b, first)
				}
				came := time.Duration(b[0]) * 125 * ms
				if waited := time.Since(start) - came; waited > 250*ms {
					t.Errorf("%v waited for %v", b, waited)
				}
				first += len(b)
				count++
				return nil
			})
		if err != nil || first != 41 || count < 41/3 {
			t.Errorf("%d items in %d batches, %v", first, count, err)
		}
	})
}

// C29
func TestFullBatchesDoNotKeepAPartialOneWaiting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const interval, call = 100 * ms, 5 * ms
		type event struct {
			key string
			at  time.Time
		}
		source := stage.Generate(func(ctx context.Context, yield func(event) bool) error {
			for i := range 5000 {
				if i > 0 && !sleep(ctx, ms) || !yield(event{"busy", time.Now()}) {
					return nil
				}
				if i%1000 == 0 && !yield(event{"rare", time.Now()}) {
					return nil
				}
			}
			return nil
		})
		seen := map[string]int{}
		err := stage.ForEach(context.Background(), batch.ByKey(source, func(e event) string { return e.key }, 10, batch.Within(interval)), 1,
			func(ctx context.Context, b []event) error {
				if waited := time.Since(b[0].at); waited > interval+call {
					t.Errorf("an item of %s waited for %v", b[0].key, waited)
				}
				seen[b[0].key] += len(b)
				sleep(ctx, call)
				return nil
			})
		if err != nil || seen["busy"] != 5000 || seen["rare"] != 5 {
			t.Errorf("%v, %v", seen, err)
		}
	})
}

// C25: the age is no inactivity; a busy session is cut by it and by nothing else.
func TestTheTimerOfOneBatchNeverEndsTheNext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		// The first batch is full just before its time; the next one begins at that
		// very moment and must have all of its own.
		wantStamped(t, batch.Chunk(timed(0, 50*ms-1, 50*ms, 99*ms, 200*ms), 2, batch.Within(50*ms)),
			"49.999999ms [0 1]", "99ms [2 3]", "200ms [4]")
	})
}

// C24
func TestNothingIsLostHoweverTheEndAndTheClockMeet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for k := 1; k <= 50; k++ {
			for _, end := range []time.Duration{0, ms - 1, ms, ms + 1, 2 * ms} {
				source := stage.Generate(func(ctx context.Context, yield func(int) bool) error {
					for i := range k {
						if !yield(i) {
							return nil
						}
					}
					sleep(ctx, end)
					return nil
				})
				batches, err := stage.Collect(context.Background(), batch.Chunk(source, 1000, batch.Within(ms)))
				if got := slices.Concat(batches...); err != nil || !slices.Equal(got, upTo(k)) {
					t.Fatalf("k = %d, end at %v: %v, %v", k, end, got, err)
				}
			}
		}
	})
}

func TestAPartialBatchIsFlushedAtOnceWhenTheInputEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		wantStamped(t, batch.Chunk(timed(0, ms), 10, batch.Within(time.Hour)), "1ms [0 1]")
	})
}

func TestUntilFlushesAPartialBatchAtOnce(t *testing.T) {
	for name, opts := range ways {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				stop := make(chan struct{})
				time.AfterFunc(25*ms, func() { close(stop) })
				in := stage.Until(timed(every(1000, 10*ms)...), stop)
				wantStamped(t, batch.Chunk(in, 100, opts...), "25ms [0 1 2]")
			})
		})
	}
}

func TestErrorsFlushAtOnceP8(t *testing.T) {
	bubble(t, func(t *testing.T) {
		in := stage.Map(timed(every(5, 10*ms)...), stage.Inline, func(_ context.Context, v int) (int, error) {
			if v == 2 {
				return 0, errE
			}
			return v, nil
		})
		wantStamped(t, batch.Chunk(in, 100, batch.Within(time.Hour)), "20ms [0 1]", "20ms E", "40ms [3 4]")
	})
}

func TestABusyReadersBatchGrowsAndIsTakenWhenItComesP13(t *testing.T) {
	bubble(t, func(t *testing.T) {
		start := time.Now()
		var got []string
		err := stage.ForEach(context.Background(), batch.Chunk(timed(every(10, 10*ms)...), 100, batch.Within(15*ms)), 1,
			func(ctx context.Context, b []int) error {
				got = append(got, fmt.Sprint(time.Since(start), b))
				sleep(ctx, 50*ms)
				return nil
			})
		want := []string{"15ms [0 1]", "65ms [2 3 4 5 6]", "115ms [7 8 9]"}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %q, want %q, %v", got, want, err)
		}
	})
}

func TestWithinFillsTheNextBatchWhileOneIsBusyAndNoMoreP4(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var asked atomic.Int64
		most := 0
		in := stage.Tap(stage.FromSlice(upTo(100)), func(int) { asked.Add(1) })
		done := 0
		err := stage.ForEach(context.Background(), batch.Chunk(in, 5, batch.Within(time.Hour)), 1,
			func(ctx context.Context, b []int) error {
				sleep(ctx, time.Second)
				most = max(most, int(asked.Load())-done)
				done += len(b)
				return nil
			})
		// One batch is in the reader's hands, one waits for it, one is full behind that.
		if err != nil || done != 100 || most != 15 {
			t.Errorf("%d items, at most %d at once, %v", done, most, err)
		}
	})
}

// A wait that the clock will end is no stall: here the one branch waits for a
// batch, the other for the first one's reader, until the age is reached.
func TestAWaitForTheClockIsNoStall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		even, odd := stage.Split(stage.FromSlice(upTo(20)), func(v int) bool { return v%2 == 0 }, stage.Window(1))
		pairs := stage.Zip(batch.Chunk(even, 10, batch.Within(ms)), batch.Chunk(odd, 1))
		n, err := stage.Count(context.Background(), pairs)
		if err != nil || n == 0 {
			t.Errorf("%d pairs, %v", n, err)
		}
	})
}

func TestARunThatCanNeverMoveIsStillSeenP12(t *testing.T) {
	even, odd := stage.Split(stage.FromSlice(upTo(20)), func(v int) bool { return v%2 == 0 }, stage.Window(1))
	_, err := stage.Count(context.Background(), stage.Concat(
		batch.Chunk(even, 1, batch.Within(time.Hour)), batch.Chunk(odd, 1, batch.Within(time.Hour))))
	if err == nil || err.Error() == "" {
		t.Fatal("no stall")
	}
	t.Log(err)
}

// While a batch is in the reader's hands, the next ones are filled elsewhere.
func TestReuseLeavesABatchAloneUntilTheNextIsAskedFor(t *testing.T) {
	for name, opts := range ways {
		bubble(t, func(t *testing.T) {
			next := 0
			in := batch.Chunk(stage.FromSlice(upTo(100)), 3, append(opts, batch.Reuse())...)
			err := stage.ForEach(context.Background(), in, 1, func(ctx context.Context, b []int) error {
				sleep(ctx, ms) // whoever can fill a batch does so now
				for _, v := range b {
					if v != next {
						return fmt.Errorf("got %d, want %d", v, next)
					}
					next++
				}
				return nil
			})
			if err != nil || next != 100 {
				t.Errorf("%s: %d items, %v", name, next, err)
			}
		})
	}
}
