package keyed_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/keyed"
	"github.com/seed95b73fdc/sluice/stage"
)

// machine is the state of a key that sees the numbers of its items.
type machine struct {
	key  int
	next int
}

func (m *machine) step(v, keys int) error {
	if v%keys != m.key || v/keys != m.next {
		return fmt.Errorf("item %d came to key %d at %d", v, m.key, m.next)
	}
	m.next++
	return nil
}

func TestProcessGivesEachKeyItsOwnStateInOrderP2(t *testing.T) {
	const keys, items = 97, 60_000 / raceScale
	for _, n := range share.Rows(t, []int{stage.Inline, 1, 2, 5}) {
		for name, opts := range map[string][]stage.Option{
			"hashed": nil, "per key": {keyed.PerKey()}, "pinned": {keyed.Pinned()}, "window 5": {stage.Window(5)},
		} {
			ended := map[int]int{}
			var mu sync.Mutex
			opts = append(opts, keyed.OnEvict(func(k int, m *machine) {
				mu.Lock()
				defer mu.Unlock()
				if _, twice := ended[k]; twice {
					t.Errorf("n=%d, %s: key %d was evicted twice", n, name, k)
				}
				ended[k] = m.next
			}))
			out := keyed.Process(stage.FromSlice(numbers(items)), n, func(v int) int { return v % keys },
				func(k int) machine { return machine{key: k} },
				func(_ context.Context, m *machine, v int) (int, error) { return v, m.step(v, keys) }, opts...)
			seen := make([]int, keys)
			err := stage.ForEach(context.Background(), out, 1, func(_ context.Context, v int) error {
				if seen[v%keys] != v/keys {
					return fmt.Errorf("result %d of key %d came as number %d", v, v%keys, seen[v%keys])
				}
				seen[v%keys]++
				return nil
			})
			if err != nil {
				t.Errorf("n=%d, %s: %v", n, name, err)
			}
			for k := range keys {
				if want := (items - k + keys - 1) / keys; seen[k] != want || ended[k] != want {
					t.Errorf("n=%d, %s: key %d: %d results, state at %d at the end, want %d", n, name, k, seen[k], ended[k], want)
				}
			}
		}
	}
}

// What is evicted depends on the input alone, so the answer is that of a loop.
func TestProcessEvictsTheKeyThatHasNotComeForLongestWhateverN(t *testing.T) {
	const keys, most = 40, 7
	var input []int
	x := uint64(1)
	for range 20_000 / raceScale {
		x = x*6364136223846793005 + 1442695040888963407
		input = append(input, int(min(x>>33%keys, x>>45%keys)))
	}
	run := func(n int, opts ...stage.Option) (evicted map[int][]int, made int) {
		evicted = map[int][]int{}
		var mu sync.Mutex
		opts = append(opts, keyed.MaxKeys(most), keyed.OnEvict(func(k int, s *int) {
			mu.Lock()
			evicted[k] = append(evicted[k], *s)
			mu.Unlock()
		}))
		out := keyed.Process(stage.FromSlice(input), n, func(v int) int { return v }, func() int {
			mu.Lock()
			made++
			mu.Unlock()
			return 0
		}, func(_ context.Context, s *int, v int) (int, error) { *s++; return *s, nil }, opts...)
		if k, err := stage.Count(context.Background(), out); k != len(input) || err != nil {
			t.Fatalf("n=%d: %d results, %v", n, k, err)
		}
		return evicted, made
	}
	want, wantMade := run(stage.Inline)
	if wantMade < 1000/raceScale {
		t.Fatalf("only %d states were made: nothing is shown", wantMade)
	}
	for _, n := range []int{1, 2, 4} {
		for name, opt := range map[string]stage.Option{"hashed": stage.Name("x"), "per key": keyed.PerKey(), "pinned": keyed.Pinned()} {
			if got, made := run(n, opt); !reflect.DeepEqual(got, want) || made != wantMade {
				t.Errorf("n=%d, %s: %d states made, want %d; evictions differ: %v", n, name, made, wantMade, !reflect.DeepEqual(got, want))
			}
		}
	}
}

func TestProcessPartsWithIdleStatesWhileNothingComesP13(t *testing.T) {
	for _, opt := range []stage.Option{stage.Name("hashed"), keyed.PerKey(), keyed.Pinned()} {
		synctest.Test(t, func(t *testing.T) {
			const idle = time.Minute
			in := make(chan int)
			evicted := make(chan int, 10)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			out := keyed.Process(stage.FromChan(in), 2, func(v int) int { return v % 10 }, func() int { return 0 },
				func(_ context.Context, s *int, v int) (int, error) { *s += v; return *s, nil },
				opt, keyed.IdleAfter(idle), keyed.OnEvict(func(k int, s *int) { evicted <- *s }))
			done := make(chan error)
			var results []int
			go func() {
				done <- stage.ForEach(ctx, out, 1, func(_ context.Context, v int) error {
					results = append(results, v)
					return nil
				})
			}()
			in <- 1
			time.Sleep(idle / 2)
			in <- 2
			in <- 11
			time.Sleep(2*idle - 1)
			synctest.Wait()
			if len(evicted) != 2 {
				t.Fatalf("%d states were parted with, want 2", len(evicted))
			}
			if sum := <-evicted + <-evicted; sum != 14 {
				t.Errorf("the states add up to %d, want 14", sum)
			}
			in <- 21
			synctest.Wait()
			if got := results[len(results)-1]; got != 21 {
				t.Errorf("a key that came again began at %d, want 21", got)
			}
			close(in)
			if err := <-done; err != nil {
				t.Error(err)
			}
			if len(evicted) != 1 {
				t.Errorf("%d states were parted with at the end, want 1", len(evicted))
			}
		})
	}
}

func TestProcessMakesAStateAgainAfterAnError(t *testing.T) {
	errDown := errors.New("store is down")
	for _, n := range []int{stage.Inline, 2} {
		tries := 0
		out := keyed.Process(stage.Of(1, 2, 3), n, func(int) string { return "k" },
			func(context.Context, string) (int, error) {
				if tries++; tries == 1 {
					return 0, errDown
				}
				return 100, nil
			}, func(_ context.Context, s *int, v int) (int, error) { *s += v; return *s, nil })
		var got []string
		out = stage.Catch(out, stage.Inline, func(_ context.Context, err error) error {
			got = append(got, err.Error())
			return nil
		})
		sums, err := stage.Collect(context.Background(), out)
		if !reflect.DeepEqual(sums, []int{102, 105}) || err != nil || !reflect.DeepEqual(got, []string{errDown.Error()}) {
			t.Errorf("n=%d: %v, %v, errors %v", n, sums, err, got)
		}
	}
}

func TestReduceReturnsTheStateOfEachKey(t *testing.T) {
	for _, n := range []int{stage.Inline, 1, 3} {
		sums, err := keyed.Reduce(context.Background(), stage.FromSlice(numbers(10_000)), n, func(v int) int { return v % 7 },
			func() int { return 0 }, func(_ context.Context, s *int, v int) error { *s += v; return nil })
		want := map[int]int{}
		for v := range 10_000 {
			want[v%7] += v
		}
		if err != nil || !reflect.DeepEqual(sums, want) {
			t.Errorf("n=%d: %v, %v", n, sums, err)
		}
		failed := errors.New("failed")
		sums, err = keyed.Reduce(context.Background(), stage.Of(1, 2), n, func(v int) int { return v },
			func() int { return 0 }, func(context.Context, *int, int) error { return failed })
		if sums != nil || err != failed {
			t.Errorf("n=%d: %v, %v with an error", n, sums, err)
		}
	}
}

func TestProcessEndsOnlyWhenAllStatesHaveBeenPartedWith(t *testing.T) {
	for _, opt := range []stage.Option{stage.Name("hashed"), keyed.PerKey(), keyed.Pinned()} {
		synctest.Test(t, func(t *testing.T) {
			const keys = 50
			var mu sync.Mutex
			parted := 0
			out := keyed.Process(stage.FromSlice(numbers(keys)), 3, identity, func() int { return 0 },
				func(_ context.Context, _ *int, v int) (int, error) { return v, nil }, opt,
				keyed.OnEvict(func(int, *int) {
					time.Sleep(time.Second)
					mu.Lock()
					parted++
					mu.Unlock()
				}))
			if err := stage.Discard(t.Context(), out); err != nil || parted != keys {
				t.Errorf("the run ended after %d of %d states, %v", parted, keys, err)
			}
		})
	}
}
