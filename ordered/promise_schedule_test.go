package ordered_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// The conformance table: all strategies × functions × n × window × completion
// order. When every call takes a known time, a few lines of arithmetic say at which
// instant each call begins and each result comes out, if n calls run whenever the
// window allows it and never more (P3), if the window is exact (P4), and if a
// result waits for nothing but those before it (P1, P13). In a bubble the real
// thing has to keep that schedule to the nanosecond.

// shapes are the completion orders: how long the call for v of size values takes.
var shapes = []struct {
	name  string
	takes func(v, size int, rng *rand.Rand) time.Duration
}{
	{"all alike", func(v, size int, _ *rand.Rand) time.Duration { return time.Second }},
	{"reversed", func(v, size int, _ *rand.Rand) time.Duration { return time.Duration(size-v) * time.Second }},
	{"random", func(_, size int, rng *rand.Rand) time.Duration {
		return time.Duration(1+rng.IntN(size)) * 700 * time.Millisecond
	}},
	{"one slow", func(v, size int, _ *rand.Rand) time.Duration {
		if v == size/4 {
			return time.Hour
		}
		return time.Duration(3+v%3) * time.Millisecond
	}},
	{"first is last", func(v, size int, _ *rand.Rand) time.Duration {
		if v == 0 {
			return time.Hour
		}
		return 2 * time.Millisecond
	}},
	{"last is first", func(v, size int, _ *rand.Rand) time.Duration {
		if v == size-1 {
			return time.Millisecond
		}
		return time.Duration(size-v%5) * time.Second
	}},
}

// schedule says when each of the calls begins and when its result comes out. With
// stays set a worker stays with its item until that has come out.
func schedule(takes []time.Duration, n, window int, stays bool) (begins, comes []time.Duration) {
	begins = make([]time.Duration, len(takes))
	comes = make([]time.Duration, len(takes))
	ends := make([]time.Duration, len(takes))
	later := func(s []time.Duration, t time.Duration) (k int) {
		for _, e := range s {
			if e > t {
				k++
			}
		}
		return k
	}
	for i := range takes {
		t := time.Duration(0)
		if i > 0 {
			t = begins[i-1]
		}
		busy := ends[:i]
		if stays {
			busy = comes[:i]
		}
		// Nothing changes but at the instants at which a call or an item ends.
		instants := append(slices.Concat(ends[:i], comes[:i]), t)
		slices.Sort(instants)
		for _, at := range instants {
			if at >= t && later(busy, at) < n && later(comes[:i], at) < window {
				t = at
				break
			}
		}
		begins[i], ends[i] = t, t+takes[i]
		comes[i] = ends[i]
		if i > 0 {
			comes[i] = max(comes[i], comes[i-1])
		}
	}
	return begins, comes
}

func TestP1P3P4P13EveryStrategyKeepsTheScheduleOfItsWindowExactly(t *testing.T) {
	const size = 24
	seed := uint64(time.Now().UnixNano())
	cases, early := 0, 0
	for _, s := range strategies {
		for _, o := range ops {
			t.Run(s.String()+o.name, func(t *testing.T) {
				for _, n := range sizes(1, 2, 3, 8) {
					for _, w := range sizes(0, 1, 2, n, 2*n+1, 100) {
						for _, shape := range shapes {
							seed++
							rng := rand.New(rand.NewPCG(seed, 0))
							takes := make([]time.Duration, size)
							for v := range takes {
								takes[v] = shape.takes(v, size, rng)
							}
							window := w
							if w == 0 {
								window = n
							}
							stays := o.flat && (s == ordered.PermissionPassing || s == ordered.Cond)
							begins, comes := schedule(takes, n, window, stays)
							cases++
							if waits(begins, comes, takes) {
								early++
							}
							var diff string
							synctest.Test(t, func(t *testing.T) {
								opts := append(windowed(w), ordered.By(s))
								diff = follow(t, o, n, opts, takes, begins, comes)
							})
							if diff != "" {
								t.Fatalf("n=%d window=%d %s, seed %d: %s", n, w, shape.name, seed, diff)
							}
						}
					}
				}
			})
		}
	}
	if early < cases/3 && !raced { // under the race detector not all sizes are there
		t.Errorf("in %d of %d cases only was there a result that had to wait", early, cases)
	}
}

// waits reports whether some result is done before one in front of it.
func waits(begins, comes, takes []time.Duration) bool {
	for i := range takes {
		if begins[i]+takes[i] < comes[i] {
			return true
		}
	}
	return false
}

// follow runs o and returns where it leaves the schedule, or "".
func follow(t *testing.T, o op, n int, opts []stage.Option, takes, begins, comes []time.Duration) (diff string) {
	var mu sync.Mutex
	note := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		if diff == "" {
			diff = fmt.Sprintf(format, args...)
		}
	}
	start := time.Now()
	in := o.over(stage.FromSlice(upTo(len(takes))), n, func(_ context.Context, v int) error {
		if at := time.Since(start); at != begins[v] {
			note("call %d began at %v, want %v", v, at, begins[v])
		}
		time.Sleep(takes[v])
		if v%3 == 1 {
			return oops(v)
		}
		return nil
	}, opts...)
	next := 0
	in = edited(in, func(a *stage.Try[int]) {
		if at := time.Since(start); next < len(comes) && at != comes[next] {
			note("item %d came at %v, want %v", next, at, comes[next])
		}
		next++
	})
	if got := list(t, in); !slices.Equal(got, expect(len(takes))) {
		note("%v", got)
	}
	return diff
}

// A window of results behind a stuck one, with nobody to take them: then all
// strategies stand still, and go on where they were.
func TestP4P7EveryStrategyStartsExactlyAWindowForAReaderThatIsStuck(t *testing.T) {
	for _, o := range all {
		if o.flat {
			continue
		}
		for _, n := range sizes(1, 2, 8) {
			for _, w := range sizes(0, 1, 3*n+1) {
				synctest.Test(t, func(t *testing.T) {
					var m meter
					var taken atomic.Int64 // by downstream, which takes several at a time
					window, next := w, 0
					if w == 0 {
						window = n
					}
					in := counted(o.over(stage.FromSlice(upTo(500)), n, func(_ context.Context, v int) error {
						m.enter()
						defer m.leave()
						time.Sleep(time.Duration(1+v%3) * time.Millisecond) // slow: the window is n without the option
						return nil
					}, windowed(w)...), &taken)
					for v, err := range in.Seq(t.Context()) {
						if v != next || err != nil {
							t.Fatalf("%s n=%d window=%d: %d, %v, want %d", o.name, n, w, v, err, next)
						}
						if next++; v == 3 || v == 200 || v == 300 {
							time.Sleep(time.Hour)
							if calls := m.calls.Load(); calls != taken.Load()+int64(window) {
								t.Errorf("%s n=%d window=%d: %d calls, %d taken, while the reader has %d", o.name, n, w, calls, taken.Load(), v)
							}
						}
						if v == 300 {
							break
						}
					}
					if most := int(m.most.Load()); most != min(n, window) || m.running.Load() != 0 {
						t.Errorf("%s n=%d window=%d: %d calls at once", o.name, n, w, most)
					}
				})
			}
		}
	}
}
