package keyed_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/keyed"
	"github.com/seed95b73fdc/sluice/stage"
)

// big is a result of some size, with a pointer.
type big struct {
	v   int
	p   *int
	sum int
	_   [1000]byte
}

// numbered is an error that knows its item.
type numbered struct{ v int }

func (e *numbered) Error() string { return fmt.Sprint("error ", e.v) }

// Any number of workers, windows, keys; calls that take a while, fail, panic, end their
// goroutine; errors of the input and panics of key: what comes, in which order, with
// which states, and what a Load has counted, is what a loop would have done.
func TestLanesDoWhatALoopWouldDoP2P3(t *testing.T) {
	var steals, panics uint64
	for seed := uint64(1); seed <= 60/raceScale+5; seed++ {
		rng := rand.New(rand.NewPCG(seed, 7))
		n := 1 + rng.IntN(8)
		window := []int{0, 0, 0, 1, 3, 10 * n, 100}[rng.IntN(7)]
		keys := 1 + rng.IntN(60)
		items := 3000
		stall := []int{0, 50, 500}[rng.IntN(3)]
		kind := rng.IntN(5) // Map, PerKey, Ordered, Process, Process PerKey
		measure := rng.IntN(2) == 0
		sleepy := rng.IntN(2) == 0
		what := fmt.Sprintf("seed=%d n=%d w=%d keys=%d stall=%d kind=%d m=%t sleepy=%t", seed, n, window, keys, stall, kind, measure, sleepy)
		act := make([]int, items) // 0 fine, 1 stall, 2 panic, 3 goexit, 4 error, 5 input error, 6 key panics
		for i := range act {
			if stall > 0 && rng.IntN(stall) == 0 {
				act[i] = 1
			} else if rng.IntN(300) == 0 {
				act[i] = 2 + rng.IntN(5)
			}
		}
		synctest.Test(t, func(t *testing.T) {
			opts := []stage.Option{stage.RecoverPanics()}
			if window > 0 {
				opts = append(opts, stage.Window(window))
			}
			load := keyed.NewLoad[string]()
			if measure {
				opts = append(opts, keyed.Measure(load))
			}
			if kind == 1 || kind == 4 {
				opts = append(opts, keyed.PerKey())
			}
			in := stage.Map(stage.FromSlice(numbers(items)), stage.Inline, func(_ context.Context, v int) (int, error) {
				if act[v] == 5 {
					return 0, &numbered{v}
				}
				return v, nil
			})
			var running atomic.Int64
			key := func(v int) string {
				if act[v] == 6 {
					panic(&numbered{v})
				}
				return strconv.Itoa(v % keys)
			}
			f := func(_ context.Context, s *int, v int) (*big, error) {
				if int(running.Add(1)) > n {
					t.Errorf("%s: more than n calls", what)
				}
				defer running.Add(-1)
				*s += v // plain: a race if two calls of one key overlap
				r := &big{v: v, p: new(int), sum: *s}
				switch act[v] {
				case 1:
					if sleepy {
						time.Sleep(time.Duration(v%7+1) * time.Millisecond)
					} else {
						for range 30 {
							runtime.Gosched()
						}
					}
				case 2:
					panic(&numbered{v})
				case 3:
					runtime.Goexit()
				case 4:
					return r, &numbered{v}
				}
				return r, nil
			}
			var out stage.Stream[*big]
			plain := make([]int, keys)
			switch kind {
			case 0, 1:
				out = keyed.Map(in, n, key, func(c context.Context, v int) (*big, error) { return f(c, &plain[v%keys], v) }, opts...)
			case 2:
				out = keyed.OrderedMap(in, n, key, func(c context.Context, v int) (*big, error) { return f(c, &plain[v%keys], v) }, opts...)
			default:
				out = keyed.Process(in, n, key, func() int { return 0 }, f, opts...)
			}
			// The loop.
			sums := make([]int, keys)
			want := make([]int, items)
			errsWant := 0
			for v := range items {
				if act[v] == 5 || act[v] == 6 {
					errsWant++
					continue
				}
				sums[v%keys] += v
				want[v] = sums[v%keys]
				if act[v] >= 2 {
					errsWant++
				}
			}
			seen := make([]bool, items)
			last := make([]int, keys)
			for i := range last {
				last[i] = -1
			}
			lastAny := -1
			errsGot, got := 0, 0
			slow := rng.IntN(3)
			check := func(r *stage.Try[*big]) {
				v := -1
				if err := r.Error; err != nil {
					errsGot++
					var z *numbered
					var p *stage.Panic
					switch {
					case errors.As(err, &p):
						z, _ = p.Value.(*numbered)
						panics++
					case errors.As(err, &z):
					case errors.Is(err, stage.ErrGoexit):
						return
					}
					if z == nil || seen[z.v] || act[z.v] < 2 {
						t.Errorf("%s: error %v", what, err)
						return
					}
					v = z.v
				} else {
					got++
					if v = r.Value.v; seen[v] || act[v] >= 2 || r.Value.sum != want[v] || r.Value.p == nil {
						t.Errorf("%s: item %d: seen %t act %d sum %d want %d", what, v, seen[v], act[v], r.Value.sum, want[v])
					}
				}
				seen[v] = true
				if act[v] < 5 {
					if v < last[v%keys] {
						t.Errorf("%s: %d after %d", what, v, last[v%keys])
					}
					last[v%keys] = v
				}
				if kind == 2 {
					if v < lastAny {
						t.Errorf("%s: %d out of input order", what, v)
					}
					lastAny = v
				}
				if slow == 1 && v%100 == 0 {
					time.Sleep(time.Millisecond)
				}
				if slow == 2 && v%10 == 0 {
					runtime.Gosched()
				}
			}
			err := stage.Discard(t.Context(), stage.New(func(s *stage.Scope) stage.Reader[*big] {
				return &checker{stage.Open(s, out), check}
			}))
			if err != nil || errsGot != errsWant || got != items-errsWant {
				t.Errorf("%s: %d errors of %d, %d results of %d, %v", what, errsGot, errsWant, got, items-errsWant, err)
			}
			if measure {
				st := load.Stats()
				steals += st.Steals
				if kind != 1 && kind != 4 {
					var done uint64
					for _, l := range st.Lanes {
						done += l.Done
						if l.Depth != 0 {
							t.Errorf("%s: depth %d at the end", what, l.Depth)
						}
					}
					w := 0
					for v := range items {
						if act[v] < 5 {
							w++
						}
					}
					if int(done) != w {
						t.Errorf("%s: %d counted, want %d", what, done, w)
					}
				}
			}
		})
	}
	if steals == 0 || panics == 0 {
		t.Errorf("%d lanes were taken over, %d calls panicked", steals, panics)
	}
}

type checker struct {
	up stage.Reader[*big]
	f  func(*stage.Try[*big])
}

func (o *checker) Next(dst []stage.Try[*big]) int {
	k := o.up.Next(dst)
	for i := range dst[:k] {
		o.f(&dst[i])
		dst[i] = stage.Try[*big]{}
	}
	return k
}
func (o *checker) Close() { o.up.Close() }
