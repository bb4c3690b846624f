package ordered_test

import (
	"context"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// P1: every function of the package emits in input order, errors in their
// place, for any n, window and completion order.

// expect is what list returns for size values of which each third fails.
func expect(size int) []int {
	want := upTo(size)
	for v := 1; v < size; v += 3 {
		want[v] = -v
	}
	return want
}

func TestP1OutputIsInInputOrderWhateverTheCallsTake(t *testing.T) {
	shapes := map[string]func(v int) time.Duration{
		"none":     func(int) time.Duration { return 0 },
		"backward": func(v int) time.Duration { return time.Duration(150-v) * time.Millisecond },
		"mixed":    func(v int) time.Duration { return time.Duration(v*7919%101) * time.Millisecond },
		"micro":    func(v int) time.Duration { return time.Duration(v*7919%101) * time.Microsecond },
		"one":      func(v int) time.Duration { return time.Duration(1/(v+1)) * time.Hour },
		"bursts":   func(v int) time.Duration { return time.Duration(v/70%2) * time.Millisecond },
	}
	for _, o := range ops {
		t.Run(o.name, func(t *testing.T) {
			for shape, takes := range shapes {
				for _, n := range sizes(2, stage.Inline, 1, 32, 8) {
					for _, w := range sizes(0, 1, 100, n+1) {
						synctest.Test(t, func(t *testing.T) {
							in := o.over(stage.FromSlice(upTo(150)), n, func(_ context.Context, v int) error {
								time.Sleep(takes(v))
								if v%3 == 1 {
									return oops(v)
								}
								return nil
							}, windowed(w)...)
							if got := list(t, in); !slices.Equal(got, expect(150)) {
								t.Errorf("%s n=%d window=%d: %v", shape, n, w, got)
							}
						})
					}
				}
			}
		})
	}
}

// The same while the scheduler is made to interleave, on 1, 2, 4 processors.
func TestP1OutputIsInInputOrderWhateverTheScheduler(t *testing.T) {
	share.Once(t)
	for _, procs := range []int{1, 2, 4} {
		old := runtime.GOMAXPROCS(procs)
		for _, o := range all {
			size := 500
			if o.strategy != ordered.Cells {
				size = 200 // they have no cells to fill
			}
			for _, n := range sizes(2, 1, 4, 8) {
				for _, w := range sizes(0, 1, n, 3*n+1) {
					if o.strategy != ordered.Cells && (n == 1 || n == 4 || w == 1 || w == n) {
						continue
					}
					in := o.over(stage.FromSlice(upTo(size)), n, func(_ context.Context, v int) error {
						for range v * 7919 % 5 {
							runtime.Gosched()
						}
						if v%3 == 1 {
							return oops(v)
						}
						return nil
					}, windowed(w)...)
					in = stage.Tap(in, func(v int) {
						if v%5 == 0 {
							runtime.Gosched()
						}
					})
					if got := list(t, in); !slices.Equal(got, expect(size)) {
						t.Errorf("%s on %d, n=%d window=%d: %v", o.name, procs, n, w, got)
					}
				}
			}
		}
		runtime.GOMAXPROCS(old)
	}
}

// What is dropped leaves no gap and no mark.
func TestP1DroppedItemsDoNotDisturbTheOrder(t *testing.T) {
	for _, by := range strategies {
		for _, n := range sizes(2, stage.Inline, 1, 8) {
			for _, w := range sizes(0, 1, 100) {
				for _, keep := range []int{1, 2, 64, 65, 3000} {
					if by != ordered.Cells && (n < 2 || w == 1 || keep == 64 || keep == 1 || n == 2 && w == 0) {
						continue
					}
					dropped(t, by, n, w, keep)
				}
			}
		}
	}
}

func dropped(t *testing.T, by ordered.Strategy, n, w, keep int) {
	size := 1000
	if by != ordered.Cells {
		size = 300
	}
	synctest.Test(t, func(t *testing.T) {
		opts := append(windowed(w), ordered.By(by))
		var want []int
		for v := keep - 1; v < size; v += keep {
			want = append(want, v)
		}
		slow := func(v int) { time.Sleep(time.Duration(v/100%3) * time.Duration(v%7) * time.Millisecond) }
		src := stage.FromSlice(upTo(size))
		filtered := ordered.Filter(src, n, func(_ context.Context, v int) (bool, error) { slow(v); return v%keep == keep-1, nil }, opts...)
		mapped := ordered.FilterMap(src, n, func(_ context.Context, v int) (int, bool, error) { slow(v); return v, v%keep == keep-1, nil }, opts...)
		flat := ordered.FlatMap(src, n, func(_ context.Context, v int) stage.Stream[int] {
			slow(v)
			if v%keep == keep-1 {
				return stage.Of(v)
			}
			return stage.Stream[int]{}
		}, opts...)
		failing := stage.Map(src, stage.Inline, func(_ context.Context, v int) (int, error) {
			if v%keep == keep-1 {
				return v, nil
			}
			return 0, oops(v)
		})
		caught := ordered.Catch(failing, n, func(_ context.Context, err error) error { slow(int(err.(oops))); return nil }, opts...)
		for name, in := range map[string]stage.Stream[int]{"Filter": filtered, "FilterMap": mapped, "FlatMap": flat, "Catch": caught} {
			if got := list(t, in); !slices.Equal(got, want) {
				t.Errorf("%v %s n=%d window=%d keep=%d: %d items", by, name, n, w, keep, len(got))
			}
		}
	})
}

// Streams of any length, one after the other, each in its order.
func TestP1FlatMapEmitsStreamAfterStream(t *testing.T) {
	for _, by := range share.Rows(t, strategies) {
		for _, c := range [][2]int{{stage.Inline, 0}, {1, 0}, {1, 2}, {3, 0}, {3, 1}, {3, 50}, {8, 0}, {8, 2}, {8, 50}} {
			n, w := c[0], c[1]
			synctest.Test(t, func(t *testing.T) {
				var want []int
				for v := range 60 {
					for k := range v * 7 % 23 {
						want = append(want, 1000*v+k)
					}
				}
				in := ordered.FlatMap(stage.FromSlice(upTo(60)), n, func(_ context.Context, v int) stage.Stream[int] {
					return stage.Generate(func(_ context.Context, yield func(int) bool) error {
						for k := range v * 7 % 23 {
							time.Sleep(time.Duration((60-v)*k%5) * time.Millisecond)
							if !yield(1000*v + k) {
								return nil
							}
						}
						return nil
					})
				}, append(windowed(w), ordered.By(by))...)
				if got := list(t, in); !slices.Equal(got, want) {
					t.Errorf("%v n=%d window=%d: %v", by, n, w, got)
				}
			})
		}
	}
}

// An endless first stream is passed on as it comes, whatever waits behind it.
func TestP1FlatMapPassesAnEndlessStreamOn(t *testing.T) {
	for _, by := range strategies {
		for _, n := range []int{stage.Inline, 1, 4} {
			in := ordered.FlatMap(stage.Of(0, 1000), n, func(_ context.Context, v int) stage.Stream[int] {
				return stage.Generate(func(_ context.Context, yield func(int) bool) error {
					for ; yield(v); v++ {
					}
					return nil
				})
			}, ordered.By(by))
			if got := list(t, stage.Take(in, 500)); !slices.Equal(got, upTo(500)) {
				t.Errorf("%v n=%d: %v", by, n, got)
			}
		}
	}
}

// C08: what is collected stands where it was submitted, whoever was done first;
// and what is left when errors are dropped keeps its order.
func TestP1C08CollectedResultsAreInTheOrderOfSubmission(t *testing.T) {
	const size = 1000
	for _, o := range share.Rows(t, all) {
		for _, failing := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				in := o.over(stage.FromSlice(upTo(size)), 16, func(_ context.Context, v int) error {
					time.Sleep(time.Duration(size-v) * time.Microsecond)
					if failing && v%3 == 0 {
						return oops(v)
					}
					return nil
				})
				var want []int
				for v := range size {
					if !failing || v%3 > 0 {
						want = append(want, v)
					}
				}
				in = ordered.Catch(in, stage.Inline, func(context.Context, error) error { return nil })
				if got, err := stage.Collect(t.Context(), in); !slices.Equal(got, want) || err != nil {
					t.Errorf("%s, failing %v: %d items, %v", o.name, failing, len(got), err)
				}
			})
		}
	}
}

// C33: calls end in any order, with nothing behind the last one.
func TestP1C33ReassemblyNeedsNoLaterItem(t *testing.T) {
	rounds := 101
	if raced {
		rounds = 20
	}
	for _, o := range share.Rows(t, all) {
		for round := range rounds {
			synctest.Test(t, func(t *testing.T) {
				const n = 8
				order := rand.New(rand.NewPCG(uint64(round), 0)).Perm(n)
				if round == 0 {
					order = []int{7, 6, 5, 4, 3, 2, 1, 0}
				}
				place := make([]int, n)
				for k, v := range order {
					place[v] = k
				}
				feed := make(chan int, n) // never closed
				for v := range n {
					feed <- v
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				began := time.Now()
				next := 0
				err := stage.ForEach(ctx, o.over(stage.FromChan(feed), n, func(_ context.Context, v int) error {
					time.Sleep(time.Duration(1+place[v]) * time.Second)
					return nil
				}), 1, func(_ context.Context, v int) error {
					last := 0
					for u := range v + 1 {
						last = max(last, place[u])
					}
					if v != next || time.Since(began) != time.Duration(1+last)*time.Second {
						t.Errorf("%s %v: %d came after %v", o.name, order, v, time.Since(began))
					}
					next++
					return nil
				})
				if next != n || err != context.DeadlineExceeded {
					t.Errorf("%s %v: %d came, %v", o.name, order, next, err)
				}
			})
		}
	}
}

// Random chains of the package's functions against a loop. A failure names the
// seed to replay with SLUICE_SEED.
func TestP1RandomChainsDoWhatALoopDoes(t *testing.T) {
	seed, rounds := uint64(time.Now().UnixNano()), 300
	if s := os.Getenv("SLUICE_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
		rounds = 1
	}
	if testing.Short() || raced {
		rounds = share.Times(min(rounds, 100))
	}
	for ; rounds > 0 && !t.Failed(); rounds-- {
		synctest.Test(t, func(t *testing.T) { randomChain(t, seed) })
		if t.Failed() {
			t.Logf("replay with SLUICE_SEED=%d", seed)
		}
		seed++
	}
}

func randomChain(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0))
	want := upTo(rng.IntN(300))
	in := stage.FromSlice(want)
	var most []*meter
	var limit []int
	for range 1 + rng.IntN(4) {
		n, w := rng.IntN(9), 0
		if rng.IntN(2) == 0 {
			w = 1 + rng.IntN(40)
		}
		opts := append(windowed(w), ordered.By(strategies[rng.IntN(len(strategies))]))
		m := &meter{}
		most, limit = append(most, m), append(limit, max(n, 1))
		salt, unit := rng.IntN(1000), time.Duration(rng.IntN(3))*time.Duration(rng.IntN(200))*time.Microsecond
		call := func(v int) (k int) {
			m.enter()
			defer m.leave()
			h := (v*7919 + salt) % 1009
			if d := time.Duration(h%50) * unit; d > 0 && h%3 > 0 {
				time.Sleep(d)
			}
			return h % 10
		}
		var next []int
		kind := rng.IntN(5)
		for _, v := range want {
			h := (v*7919 + salt) % 1009 % 10
			switch {
			case v < 0 && kind != 3, v >= 0 && kind == 3:
				next = append(next, v) // errors pass, and values pass Catch
			case kind == 0 && h == 0, kind == 1 && h == 0, kind == 2 && h == 0:
				next = append(next, -v-1)
			case kind == 0:
				next = append(next, v+1)
			case kind == 1 && h < 5, kind == 3 && (-v*7919+salt)%1009%10 < 5:
				next = append(next, v)
			case kind == 2 && h < 5:
				next = append(next, v+1)
			case kind == 4:
				for k := range h % 4 {
					next = append(next, v+k)
				}
			}
		}
		want = next
		switch kind {
		case 0:
			in = ordered.Map(in, n, func(_ context.Context, v int) (int, error) {
				if call(v) == 0 {
					return 7, oops(v + 1)
				}
				return v + 1, nil
			}, opts...)
		case 1:
			in = ordered.Filter(in, n, func(_ context.Context, v int) (bool, error) {
				k := call(v)
				if k == 0 {
					return true, oops(v + 1)
				}
				return k < 5, nil
			}, opts...)
		case 2:
			in = ordered.FilterMap(in, n, func(_ context.Context, v int) (int, bool, error) {
				k := call(v)
				if k == 0 {
					return 7, false, oops(v + 1)
				}
				return v + 1, k < 5, nil
			}, opts...)
		case 3:
			in = ordered.Catch(in, n, func(_ context.Context, err error) error {
				if call(int(err.(oops))) < 5 {
					return err
				}
				return nil
			}, opts...)
		case 4:
			in = ordered.FlatMap(in, n, func(_ context.Context, v int) stage.Stream[int] {
				k := call(v) % 4
				s := make([]int, k)
				for i := range s {
					s[i] = v + i
				}
				return ordered.Map(stage.FromSlice(s), k%3, func(_ context.Context, v int) (int, error) { return v, nil })
			}, opts...)
		}
	}
	var slow atomic.Int64
	pause := time.Duration(rng.IntN(2)*rng.IntN(100)) * time.Microsecond
	in = stage.Tap(in, func(int) {
		if slow.Add(1)%3 == 0 {
			time.Sleep(pause)
		}
	})
	if got := list(t, in); !slices.Equal(got, want) {
		t.Errorf("%d items, want %d\n%v\n%v", len(got), len(want), got, want)
	}
	for i, m := range most {
		if int(m.most.Load()) > limit[i] {
			t.Errorf("stage %d: %d calls at once of %d", i, m.most.Load(), limit[i])
		}
	}
}
