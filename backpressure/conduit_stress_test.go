package backpressure_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/seed95b73fdc/sluice/backpressure"
)

// C59, C63: everything arrives once and in order, though both sides wait for each
// other all the time. A lost wake-up would hang it.
func TestConduitKeepsFullOrder(t *testing.T) {
	perturb(t)
	for _, transport := range []backpressure.Transport{backpressure.Ring, backpressure.Chan} {
		for _, procs := range []int{1, 2, 4, 8} {
			for _, capacity := range []int{1, 4, 256} {
				t.Run(fmt.Sprintf("%v/GOMAXPROCS=%d/capacity=%d", transport, procs, capacity), func(t *testing.T) {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
					total := scaled(t, 1_000*min(capacity, 10))
					c := backpressure.NewConduit[int](transport, capacity)
					chunks := 0
					var sender sync.WaitGroup
					defer sender.Wait()
					sender.Go(func() {
						defer c.Close()
						for next := 0; next < total; chunks++ {
							chunk := make([]int, min(1+next%7, total-next))
							for i := range chunk {
								chunk[i] = next + i
							}
							n, err := c.Send(context.Background(), chunk)
							if next += n; err != nil {
								t.Error(err)
								return
							}
						}
					})
					next, parts := 0, 0
					dst := make([]int, 5)
					for {
						n, err := c.Recv(context.Background(), dst)
						if err != nil {
							break
						}
						parts++
						for _, v := range dst[:n] {
							if v != next {
								t.Fatalf("got %d, want %d", v, next)
							}
							next++
						}
					}
					if next != total {
						t.Fatalf("%d of %d arrived", next, total)
					}
					t.Logf("sent as %d chunks, received as %d", chunks, parts)
				})
			}
		}
	}
}

// What Send has counted is received, what it has handed back is not, whoever closes at
// whatever moment.
func TestConduitCloseDrawsOneLine(t *testing.T) {
	perturb(t)
	for _, transport := range []backpressure.Transport{backpressure.Ring, backpressure.Chan} {
		t.Run(transport.String(), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
			cut := 0
			var closers sync.WaitGroup
			defer closers.Wait()
			for round := range scaled(t, 1_000) {
				const total = 40
				c := backpressure.NewConduit[int](transport, 1+round%5)
				counted := make(chan int, 1)
				go func() {
					sent := 0
					for next := 0; next < total; {
						n, err := c.Send(context.Background(), []int{next, next + 1})
						sent += n
						if next += n; err != nil {
							break
						}
					}
					counted <- sent
				}()
				got := 0
				dst := make([]int, 3)
				for {
					if got > round%total {
						closers.Go(c.Close)
					}
					n, err := c.Recv(context.Background(), dst)
					if err != nil {
						break
					}
					for _, v := range dst[:n] {
						if v != got {
							t.Fatalf("got %d, want %d", v, got)
						}
						got++
					}
					if got == total {
						c.Close()
					}
				}
				sent := <-counted
				if sent != got {
					t.Fatalf("%d were counted as sent, %d received", sent, got)
				}
				if sent < total {
					cut++
				}
			}
			if cut == 0 {
				t.Error("Close never came in the middle")
			}
			t.Logf("%d cut off in the middle", cut)
		})
	}
}
