package backpressure_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed95b73fdc/sluice/backpressure"
	"github.com/seed95b73fdc/sluice/internal/share"
)

// scaled returns n, or many times n where SLUICE_LONG asks for a soak.
func scaled(t testing.TB, n int) int {
	const soak = 100
	if os.Getenv("SLUICE_LONG") != "" {
		return soak * n
	}
	t.Logf("%d operations; SLUICE_LONG=1 makes it %d", n, soak*n)
	return n
}

// C62: weights of all sizes, contexts that end at any moment, a limit that
// changes. A lost wake-up would leave somebody waiting for ever; a permit lost or
// made would show in the sum.
func TestSemaphoreNeverGivesOutMoreThanThereIsAndLosesNothing(t *testing.T) {
	share.Once(t)
	perturb(t)
	const limit, goroutines = 10, 16
	for name, of := range semaphores {
		for _, procs := range []int{1, 2, 4, 8} {
			t.Run(fmt.Sprintf("%s/GOMAXPROCS=%d", name, procs), func(t *testing.T) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				each := scaled(t, 12_000) / goroutines
				seed := uint64(time.Now().UnixNano())
				t.Logf("seed %d", seed)
				sem := of(limit)
				var held, most, got, given, missed atomic.Int64
				var wg sync.WaitGroup
				for g := range goroutines {
					wg.Go(func() {
						rnd := rand.New(rand.NewPCG(seed, uint64(g)))
						for range each {
							n := 1 + rnd.IntN(limit)
							if rnd.IntN(3) == 0 {
								n = 1
							}
							switch rnd.IntN(4) {
							case 0:
								if !sem.TryAcquire(n) {
									missed.Add(1)
									continue
								}
							case 1:
								ctx, cancel := context.WithCancel(context.Background())
								go func() {
									runtime.Gosched()
									cancel()
								}()
								if err := sem.Acquire(ctx, n); err != nil {
									if !errors.Is(err, context.Canceled) {
										t.Error(err)
									}
									given.Add(1)
									continue
								}
							default:
								if err := sem.Acquire(context.Background(), n); err != nil {
									t.Error(err)
									continue
								}
							}
							now := held.Add(int64(n))
							for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
							}
							got.Add(1)
							if rnd.IntN(2) == 0 {
								runtime.Gosched()
							}
							held.Add(-int64(n))
							sem.Release(n)
						}
					})
				}
				wg.Wait()
				if most.Load() > limit {
					t.Errorf("%d permits were out, of %d", most.Load(), limit)
				}
				if n := sem.InUse(); n != 0 {
					t.Errorf("%d in use at the end", n)
				}
				if !sem.TryAcquire(limit) || sem.TryAcquire(1) {
					t.Errorf("there are not %d permits at the end", limit)
				}
				t.Logf("acquired %d times, given up %d, missed %d, most at once %d", got.Load(), given.Load(), missed.Load(), most.Load())
				if got.Load() == 0 || given.Load() == 0 || missed.Load() == 0 || most.Load() != limit {
					t.Error("not everything that was to be tested has happened")
				}
			})
		}
	}
}

// The limit goes up and down while all are at work; nobody waits for more than the
// smallest limit, so all of them are served in the end.
func TestSemaphoreResizeUnderLoadLosesNothing(t *testing.T) {
	share.Once(t)
	perturb(t)
	const least, most, goroutines = 3, 9, 8
	for name, of := range semaphores {
		t.Run(name, func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
			each := scaled(t, 16_000) / goroutines
			sem := of(least)
			var wg sync.WaitGroup
			for g := range goroutines {
				wg.Go(func() {
					for i := range each {
						n := 1 + (g+i)%least
						if err := sem.Acquire(context.Background(), n); err != nil {
							t.Error(err)
							return
						}
						if i%8 == 0 {
							runtime.Gosched()
						}
						sem.Release(n)
					}
				})
			}
			done := make(chan struct{})
			go func() { wg.Wait(); close(done) }()
			resized := 0
			for run := true; run; resized++ {
				select {
				case <-done:
					run = false
				default:
					sem.Resize(least + resized%(most-least+1))
					runtime.Gosched()
				}
			}
			sem.Resize(most)
			if n := sem.InUse(); n != 0 || !sem.TryAcquire(most) || sem.TryAcquire(1) {
				t.Errorf("%d in use at the end, or not %d permits", n, most)
			}
			if resized < 10 {
				t.Errorf("resized only %d times", resized)
			}
		})
	}
}

// C12: submitters that wait for one slot, freed at the moment when another one comes.
func TestSemaphoreWakesEveryoneWhenRoomAppears(t *testing.T) {
	perturb(t)
	for name, of := range semaphores {
		t.Run(name, func(t *testing.T) {
			for range scaled(t, 2_000) {
				sem := of(2)
				sem.TryAcquire(2) // tasks 1 and 2
				var wg sync.WaitGroup
				submit := func() {
					if err := sem.Acquire(context.Background(), 1); err != nil {
						t.Error(err)
					}
					sem.Release(1)
				}
				wg.Go(submit) // 3
				wg.Go(submit) // 4
				wg.Go(func() { sem.Release(1) })
				wg.Go(func() { sem.Release(1) })
				wg.Go(submit) // 5
				wg.Wait()
				if n := sem.InUse(); n != 0 {
					t.Fatalf("%d in use", n)
				}
			}
		})
	}
}

// C69: semaphores made under one number of processors, used under others that come while
// they are held and waited for. Nothing may have kept an index into what was larger then.
func TestSemaphoreMadeUnderAnotherGOMAXPROCSC69(t *testing.T) {
	share.Once(t)
	perturb(t)
	const goroutines = 64
	for name, of := range semaphores {
		t.Run(name, func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(32))
			each := scaled(t, 12_800) / goroutines
			sems := []backpressure.Semaphore{of(3), of(40)}
			var held [3]atomic.Int64
			var over, changed atomic.Int64
			use := func(k, i int) {
				n := 1 + i%3
				if err := sems[k].Acquire(context.Background(), n); err != nil {
					t.Error(err)
					return
				}
				if held[k].Add(int64(n)) > int64(sems[k].Limit()) {
					over.Add(1)
				}
				if i%4 == 0 {
					runtime.Gosched()
				}
				held[k].Add(-int64(n))
				sems[k].Release(n)
			}
			run := func() {
				var wg sync.WaitGroup
				for g := range goroutines {
					wg.Go(func() {
						for i := range each {
							if g == 0 && i%(each/4) == 0 {
								runtime.GOMAXPROCS([]int{2, 8, 1, 32}[changed.Add(1)%4])
							}
							use((g+i)%len(sems), i)
						}
					})
				}
				wg.Wait()
			}
			run()
			runtime.GOMAXPROCS(2)
			sems = append(sems, of(3))
			run()
			for k, sem := range sems {
				if n := sem.InUse(); n != 0 || !sem.TryAcquire(sem.Limit()) || sem.TryAcquire(1) {
					t.Errorf("semaphore %d: %d in use at the end, or not %d permits", k, n, sem.Limit())
				}
			}
			if over.Load() > 0 || changed.Load() < 8 {
				t.Errorf("too many permits were out %d times; %d changes", over.Load(), changed.Load())
			}
		})
	}
}
