package lockfree_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/lockfree"
)

// C59, C71, C74: everything arrives once, whole and in order, in rings that are
// always full or always empty, with cursors that wrap on the way.
func TestSPSCKeepsFullOrder(t *testing.T) {
	share.Once(t)
	perturb(t)
	type item struct{ id, check int }
	fulls, empties := 0, 0
	for _, procs := range []int{1, 2, 4, 8} {
		for _, capacity := range []int{1, 8, 1024} {
			t.Run(fmt.Sprintf("GOMAXPROCS=%d/capacity=%d", procs, capacity), func(t *testing.T) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				total := scaled(t, 500*min(capacity, 40))
				q := lockfree.NewSPSCFrom[item](capacity, uint(total/2))
				full := 0
				var producer sync.WaitGroup
				defer producer.Wait()
				defer q.Close() // so that the producer ends where the consumer fails
				producer.Go(func() {
					defer q.Close()
					var chunk []item
					for next := 0; next < total; {
						chunk = chunk[:0]
						for range min(1+next%5, total-next) {
							chunk = append(chunk, item{next, ^next})
							next++
						}
						for rest := chunk; len(rest) > 0; {
							n := 0
							if len(rest) > 1 {
								n = q.Push(rest)
							} else if q.TryPush(rest[0]) {
								n = 1
							}
							if rest = rest[n:]; n > 0 {
								continue
							}
							if q.Closed() {
								return
							}
							full++
							runtime.Gosched()
						}
					}
				})
				next, empty := 0, 0
				dst := make([]item, 4)
				for {
					over := q.Closed()
					n := 0
					if next%3 == 0 {
						if v, ok := q.TryPop(); ok {
							dst[0], n = v, 1
						}
					} else {
						n = q.Pop(dst)
					}
					if n == 0 && over {
						break
					}
					if n == 0 {
						empty++
						runtime.Gosched()
					}
					for _, v := range dst[:n] {
						if v.id != next || v.check != ^next {
							t.Fatalf("got %v, want %d", v, next)
						}
						next++
					}
				}
				if next != total {
					t.Fatalf("%d of %d arrived", next, total)
				}
				t.Logf("full %d times, empty %d times", full, empty)
				fulls += full
				empties += empty
			})
		}
	}
	if fulls == 0 || empties == 0 { // of one run alone either may be so
		t.Errorf("in all runs the ring was full %d times and empty %d times: the two sides never met", fulls, empties)
	}
}

// What was pushed before Close is taken out, what was refused is not, whoever calls
// Close in the middle of whatever.
func TestSPSCCloseDrawsOneLine(t *testing.T) {
	share.Once(t)
	perturb(t)
	rounds := scaled(t, 2_000)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	refused := 0
	for round := range rounds {
		q := lockfree.NewSPSC[int](64)
		pushed := make(chan int)
		go func() {
			n := 0
			for n < 48 && q.TryPush(n) {
				n++
				if n%5 == 0 {
					runtime.Gosched()
				}
				if n%8 == 0 && q.Push([]int{n, n + 1}) == 2 {
					n += 2
				}
			}
			pushed <- n
		}()
		for q.Len() < round%40 {
			runtime.Gosched()
		}
		q.Close()
		taken := 0
		for {
			v, ok := q.TryPop()
			if !ok {
				break
			}
			if v != taken {
				t.Fatalf("got %d, want %d", v, taken)
			}
			taken++
		}
		n := <-pushed
		if n != taken {
			t.Fatalf("%d were accepted, %d came out", n, taken)
		}
		if n > 0 && n < 48 {
			refused++
		}
	}
	t.Logf("%d of %d producers were cut off in the middle", refused, rounds)
	if refused == 0 {
		t.Error("Close never came in the middle")
	}
}
