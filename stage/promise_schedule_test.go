package stage_test

import (
	"container/heap"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// schedule is when each call begins and when each result is taken, if n
// workers and a window of w are used as well as can be.
type schedule struct{ starts, takes []time.Duration }

type times []time.Duration

func (h times) Len() int           { return len(h) }
func (h times) Less(i, j int) bool { return h[i] < h[j] }
func (h times) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *times) Push(x any)        { *h = append(*h, x.(time.Duration)) }
func (h *times) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// ideal simulates: f and out are what each call and each take cost.
func ideal(n, w int, order stage.Order, f, out []time.Duration) (s schedule) {
	var now, free time.Duration // free: downstream is, from then on
	running := &times{}
	ends := make([]time.Duration, 0, len(f))
	for len(s.takes) < len(f) {
		for moved := true; moved; {
			moved = false
			there := 0 // results that may be taken by now, all told
			for _, end := range ends {
				if end <= now {
					there++
				} else if order == stage.InOrder {
					break
				}
			}
			if there > len(s.takes) && free <= now {
				free = now + out[len(s.takes)]
				s.takes = append(s.takes, now)
				moved = true
			}
			if running.Len() < n && len(s.starts) < len(f) && len(s.starts)-len(s.takes) < w {
				end := now + f[len(s.starts)]
				s.starts = append(s.starts, now)
				ends = append(ends, end)
				heap.Push(running, end)
				moved = true
			}
		}
		next := time.Duration(-1)
		if running.Len() > 0 {
			next = (*running)[0]
		}
		if free > now && (next < 0 || free < next) {
			next = free
		}
		now = next
		for running.Len() > 0 && (*running)[0] <= now {
			heap.Pop(running)
		}
	}
	return s
}

// P3 and P4 together leave nothing open while f is slow: every call begins,
// and every result is taken, at the instant that the ideal schedule says.
func TestP3P4P13SlowCallsFollowTheIdealScheduleExactly(t *testing.T) {
	seeds(t, 400, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 3))
		op := cellOps[rng.IntN(len(cellOps))]
		n, size := 1+rng.IntN(9), 1+rng.IntN(150)
		w := 0
		if rng.IntN(3) > 0 {
			w = 1 + rng.IntN(40)
		}
		slow := func(k int) []time.Duration {
			d := make([]time.Duration, k)
			for i := range d {
				d[i] = 50*time.Microsecond + time.Duration(rng.Int64N(int64(time.Second)))
			}
			return d
		}
		f, out := slow(size), make([]time.Duration, size)
		if rng.IntN(2) == 0 {
			out = slow(size)
		}
		want := ideal(n, max(w, n*(1-min(w, 1))), op.order, f, out)
		synctest.Test(t, func(t *testing.T) {
			var got schedule
			var mu sync.Mutex
			began := time.Now()
			in := op.over(stage.FromSlice(upTo(size)), n, func(_ context.Context, v int) error {
				mu.Lock()
				got.starts = append(got.starts, time.Since(began))
				mu.Unlock()
				time.Sleep(f[v])
				return nil
			}, windowed(w)...)
			err := stage.ForEach(t.Context(), in, 1, func(context.Context, int) error {
				k := len(got.takes)
				got.takes = append(got.takes, time.Since(began))
				if out[k] > 0 {
					time.Sleep(out[k])
				}
				return nil
			})
			if err != nil || !slices.Equal(got.starts, want.starts) || !slices.Equal(got.takes, want.takes) {
				t.Errorf("%s n=%d window=%d, %d items: %v\n%v\nwant\n%v", op.name, n, w, size, err, got, want)
			}
		})
	})
}
