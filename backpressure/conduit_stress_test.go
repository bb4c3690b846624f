package backpressure_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/seed95b73fdc/sluice/backpressure"
	"github.com/seed95b73fdc/sluice/internal/share"
)

// C59, C63: everything arrives once and in order, though both sides wait for each
// other all the time. A lost wake-up would hang it.
func TestConduitKeepsFullOrder(t *testing.T) {
	share.Once(t)
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
					defer c.Close() // so that the sender ends where the receiver fails
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
	share.Once(t)
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

// C72: several senders put chunks of 1 to 16 into one Chan, and several receivers take
// them out: each item comes out once, and those of one sender in the order in which it
// sent them, for whoever receives them.
func TestConduitOfManySendersKeepsTheOrderOfEachC72(t *testing.T) {
	share.Once(t)
	perturb(t)
	type item struct{ sender, seq int }
	changes := 0
	for _, senders := range []int{2, 8} {
		for _, receivers := range []int{1, 3} {
			for _, capacity := range []int{1, 16, 100} {
				t.Run(fmt.Sprintf("%d to %d/capacity=%d", senders, receivers, capacity), func(t *testing.T) {
					defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
					each := scaled(t, 4_000) / senders
					c := backpressure.NewConduit[item](backpressure.Chan, capacity)
					var sending, receiving sync.WaitGroup
					for s := range senders {
						sending.Go(func() {
							for next := 0; next < each; {
								chunk := make([]item, min(1+(next+s)%16, each-next))
								for i := range chunk {
									chunk[i] = item{s, next + i}
								}
								for len(chunk) > 0 { // by turns in one way and the other
									n, err := 0, error(nil)
									if next%2 == 0 {
										n, err = c.Send(context.Background(), chunk)
									} else if n, err = c.TrySend(chunk); n == 0 {
										runtime.Gosched()
									}
									if err != nil {
										t.Error(err)
										return
									}
									chunk, next = chunk[n:], next+n
								}
							}
						})
					}
					got := make([][]item, receivers)
					for r := range receivers {
						receiving.Go(func() {
							for dst := make([]item, 1+5*r); ; {
								n, err := c.Recv(context.Background(), dst)
								if err != nil {
									return
								}
								got[r] = append(got[r], dst[:n]...)
							}
						})
					}
					sending.Wait()
					c.Close()
					receiving.Wait()
					seen := make([][]int, senders)
					for s := range seen {
						seen[s] = make([]int, each)
					}
					for r := range got {
						last := make([]int, senders)
						for i, v := range got[r] {
							if v.seq+1 <= last[v.sender] {
								t.Fatalf("receiver %d got item %d of sender %d after item %d", r, v.seq, v.sender, last[v.sender]-1)
							}
							last[v.sender] = v.seq + 1
							seen[v.sender][v.seq]++
							if i > 0 && got[r][i-1].sender != v.sender {
								changes++
							}
						}
					}
					for s := range seen {
						for seq, n := range seen[s] {
							if n != 1 {
								t.Fatalf("item %d of sender %d came %d times", seq, s, n)
							}
						}
					}
				})
			}
		}
	}
	if changes < 100 { // of one run alone there may be next to none
		t.Errorf("in all runs the senders changed %d times: none sent while another one did", changes)
	}
	t.Logf("the senders changed %d times", changes)
}
