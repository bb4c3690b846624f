package backpressure_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/backpressure"
)

// semaphores are what the table of promises is held against.
var semaphores = map[string]func(n int) backpressure.Semaphore{
	"NewPadded": func(n int) backpressure.Semaphore { return backpressure.NewPadded(n) },
	"NewChan":   func(n int) backpressure.Semaphore { return backpressure.NewChan(n) },
}

// eachSemaphore runs f in a bubble for each kind.
func eachSemaphore(t *testing.T, f func(t *testing.T, of func(n int) backpressure.Semaphore)) {
	t.Helper()
	for name, of := range semaphores {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { f(t, of) }) })
	}
}

// queue starts those who acquire, one after the other, each waiting before the next one
// begins, and notes who has been served in which order.
type queue struct {
	t      *testing.T
	sem    backpressure.Semaphore
	mu     sync.Mutex
	served []string
}

func (q *queue) add(ctx context.Context, name string, n int) {
	q.t.Helper()
	go func() {
		err := q.sem.Acquire(ctx, n)
		q.mu.Lock()
		defer q.mu.Unlock()
		if err != nil {
			name += ": " + err.Error()
		}
		q.served = append(q.served, name)
	}()
	synctest.Wait()
}

// expect fails unless exactly these have been served, in this order. Those who are
// served at the same moment note it in any order: so no two are, here.
func (q *queue) expect(want ...string) {
	q.t.Helper()
	synctest.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	if !slices.Equal(q.served, want) {
		q.t.Errorf("served %q, want %q", q.served, want)
	}
}

func TestSemaphoreServesInTheOrderOfArrivalAlsoLargeRequests(t *testing.T) {
	eachSemaphore(t, func(t *testing.T, of func(int) backpressure.Semaphore) {
		q := queue{t: t, sem: of(4)}
		ctx := t.Context()
		q.add(ctx, "a", 3)
		q.add(ctx, "large", 4)
		q.add(ctx, "small", 1)
		q.add(ctx, "last", 4)
		q.expect("a")
		if q.sem.TryAcquire(1) {
			t.Error("TryAcquire overtook those who wait, though one permit is free")
		}
		q.sem.Release(2)
		q.expect("a")
		q.sem.Release(1)
		q.expect("a", "large")
		q.sem.Release(4)
		q.expect("a", "large", "small")
		q.sem.Release(1)
		q.expect("a", "large", "small", "last")
		q.sem.Release(4)
		if n := q.sem.InUse(); n != 0 {
			t.Errorf("%d permits in use at the end", n)
		}
		if !q.sem.TryAcquire(4) || q.sem.TryAcquire(1) {
			t.Error("at the end there are not exactly 4 permits")
		}
	})
}

// C60: whoever stood behind a large request that is cancelled is served at once.
func TestSemaphoreCancelledWaiterDoesNotHoldUpThoseBehindIt(t *testing.T) {
	eachSemaphore(t, func(t *testing.T, of func(int) backpressure.Semaphore) {
		q := queue{t: t, sem: of(2)}
		q.add(t.Context(), "holder", 1)
		ctx, cancel := context.WithCancelCause(t.Context())
		q.add(ctx, "a", 2)
		q.add(t.Context(), "b", 1)
		q.expect("holder")
		start := time.Now()
		cancel(errors.New("no longer wanted"))
		q.expect("holder", "a: no longer wanted", "b")
		if d := time.Since(start); d != 0 {
			t.Errorf("b was served %v later", d)
		}
		q.sem.Release(2)
		if !q.sem.TryAcquire(2) {
			t.Error("the cancelled one has taken a permit with it")
		}
	})
}

// In each place of the queue; and every one of those who stay is served.
func TestSemaphoreCancelInAnyPlaceOfTheQueue(t *testing.T) {
	for place := range 3 {
		eachSemaphore(t, func(t *testing.T, of func(int) backpressure.Semaphore) {
			q := queue{t: t, sem: of(2)}
			q.add(t.Context(), "holder", 2)
			ctx, cancel := context.WithCancel(t.Context())
			var want []string
			for i := range 3 {
				name := fmt.Sprint(i)
				if i == place {
					q.add(ctx, name, 2)
					continue
				}
				q.add(t.Context(), name, 2)
				want = append(want, name)
			}
			cancel()
			q.expect("holder", fmt.Sprintf("%d: context canceled", place))
			for i := range want {
				q.sem.Release(2)
				q.expect(append([]string{"holder", fmt.Sprintf("%d: context canceled", place)}, want[:i+1]...)...)
			}
			q.sem.Release(2)
		})
	}
}

func TestSemaphoreAcquireWithADoneContextTakesNothingP6(t *testing.T) {
	eachSemaphore(t, func(t *testing.T, of func(int) backpressure.Semaphore) {
		sem := of(1)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := sem.Acquire(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("Acquire = %v", err)
		}
		if n := sem.InUse(); n != 0 {
			t.Errorf("%d permits in use", n)
		}
	})
}

func TestSemaphoreResize(t *testing.T) {
	eachSemaphore(t, func(t *testing.T, of func(int) backpressure.Semaphore) {
		q := queue{t: t, sem: of(1)}
		q.add(t.Context(), "a", 1)
		q.add(t.Context(), "b", 1)
		q.add(t.Context(), "c", 1)
		q.expect("a")
		q.sem.Resize(2)
		q.expect("a", "b")
		q.sem.Resize(3)
		q.expect("a", "b", "c")
		q.sem.Resize(1)
		if n, limit := q.sem.InUse(), q.sem.Limit(); n != 3 || limit != 1 {
			t.Errorf("InUse = %d, Limit = %d", n, limit)
		}
		q.add(t.Context(), "d", 1)
		q.sem.Release(2)
		q.expect("a", "b", "c") // one is in use, and one is all there is
		q.sem.Release(1)
		q.expect("a", "b", "c", "d")
		q.sem.Release(1)
		if !q.sem.TryAcquire(1) || q.sem.TryAcquire(1) {
			t.Error("after all there is not exactly one permit")
		}
		q.sem.Release(1)
		q.sem.Resize(5)
		if q.sem.TryAcquire(6) || !q.sem.TryAcquire(5) {
			t.Error("after Resize(5) there are not 5 permits")
		}
		q.sem.Release(5)
	})
}

func TestSemaphoreRefusesWhatCanNeverBeHad(t *testing.T) {
	eachSemaphore(t, func(t *testing.T, of func(int) backpressure.Semaphore) {
		q := queue{t: t, sem: of(3)}
		const text = ": backpressure: more permits asked for than there are: "
		q.add(t.Context(), "a", 4)
		q.expect("a" + text + "4 of 3")
		q.add(t.Context(), "b", 2)
		q.add(t.Context(), "c", 3) // waits
		q.add(t.Context(), "d", 3) // waits behind it
		q.add(t.Context(), "e", 1)
		q.expect("a"+text+"4 of 3", "b")
		q.sem.Resize(2)
		synctest.Wait()
		q.mu.Lock()
		if len(q.served) != 4 || !slices.Contains(q.served, "c"+text+"3 of 2") || !slices.Contains(q.served, "d"+text+"3 of 2") {
			t.Errorf("served %q, want c and d to be refused", q.served)
		}
		q.mu.Unlock()
		q.sem.Release(2)
		synctest.Wait()
		if n := q.sem.InUse(); n != 1 {
			t.Errorf("%d in use, want the 1 of e", n)
		}
		q.sem.Release(1)
	})
}

func TestSemaphoreMisusePanicsWithTheNumbersP11(t *testing.T) {
	eachSemaphore(t, func(t *testing.T, of func(int) backpressure.Semaphore) {
		sem := of(3)
		sem.TryAcquire(2)
		wantPanic(t, "backpressure: Release(3) with 2 permits in use", func() { sem.Release(3) })
		wantPanic(t, fmt.Sprintf("backpressure: Release(%d) with 2 permits in use", int(^uint(0)>>1)), func() { sem.Release(int(^uint(0) >> 1)) })
		wantPanic(t, "backpressure.Release: n is -1, want at least 0", func() { sem.Release(-1) })
		wantPanic(t, "backpressure.Acquire: n is -1, want at least 0", func() { sem.Acquire(t.Context(), -1) })
		wantPanic(t, "backpressure.TryAcquire: n is -1, want at least 0", func() { sem.TryAcquire(-1) })
		wantPanic(t, "Semaphore.Resize: n is 0, want 1 to ", func() { sem.Resize(0) })
		if n := sem.InUse(); n != 2 {
			t.Errorf("%d in use after all that, want 2", n)
		}
		sem.Resize(1)
		wantPanic(t, "backpressure: Release(3) with 2 permits in use", func() { sem.Release(3) })
		sem.Release(2)
		wantPanic(t, "backpressure: Release(1) with 0 permits in use", func() { sem.Release(1) })
		if !sem.TryAcquire(0) || sem.Acquire(t.Context(), 0) != nil {
			t.Error("no permits cannot be had")
		}
		wantPanic(t, ": n is 0, want 1 to ", func() { of(0) })
		wantPanic(t, ": n is -5, want 1 to ", func() { of(-5) })
	})
}

// wantPanic fails unless f panics with a text that contains want.
func wantPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if p := recover(); p == nil {
			t.Errorf("no panic, want %q", want)
		} else if text := fmt.Sprint(p); !strings.Contains(text, want) {
			t.Errorf("panic %q, want %q", text, want)
		}
	}()
	f()
}

// C75: waits that end in vain leave nothing behind.
func TestSemaphoreTimedOutWaitersLeaveNothingBehind(t *testing.T) {
	eachSemaphore(t, func(t *testing.T, of func(int) backpressure.Semaphore) {
		sem := of(1)
		sem.TryAcquire(1)
		for range 1000 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if err := sem.Acquire(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			cancel()
		}
		sem.Release(1)
		if err := sem.Acquire(t.Context(), 1); err != nil || !(sem.InUse() == 1) {
			t.Errorf("Acquire = %v, %d in use", err, sem.InUse())
		}
		sem.Release(1)
		if !sem.TryAcquire(1) { // nobody waits
			t.Error("a waiter who has left still stands in the queue")
		}
	})
}

// C07: all permits are held by tasks that wait for a cancel, and the one who would cause
// it waits for a permit. The caller's own cancel ends all of it, at once, and takes
// nothing along; without one they would wait for ever, as doc.go says.
func TestSemaphoreAllHoldersWaitForACancelC07(t *testing.T) {
	eachSemaphore(t, func(t *testing.T, of func(int) backpressure.Semaphore) {
		const slots, tasks = 10, 90
		sem := of(slots)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		ctx, fail := context.WithCancelCause(ctx)
		defer fail(nil)
		var wg sync.WaitGroup
		started, began := 0, time.Now()
		var err error
		for task := range tasks {
			if err = sem.Acquire(ctx, 1); err != nil {
				break
			}
			started++
			wg.Go(func() {
				defer sem.Release(1)
				if task == slots {
					fail(errors.New("the task that would have ended it"))
				}
				<-ctx.Done()
			})
		}
		wg.Wait()
		if err != context.DeadlineExceeded || started != slots || time.Since(began) != 200*time.Millisecond {
			t.Errorf("%v after %v, %d tasks started", err, time.Since(began), started)
		}
		if !sem.TryAcquire(slots) || sem.TryAcquire(1) {
			t.Errorf("there are not %d permits at the end", slots)
		}
	})
}

// Those who hold the permits are the first to see that the context is done, and release
// them: who waits with the same context gets none of these. In each round the waiter has
// both to choose from.
func TestPermitsThatComeAfterTheContextIsDoneAreNotTakenP6(t *testing.T) {
	cause := errors.New("cause")
	waiters := map[string]func() (acquire func(context.Context) error, resize, release func(), inUse func() int){}
	for name, of := range semaphores {
		waiters[name] = func() (func(context.Context) error, func(), func(), func() int) {
			sem := of(2)
			sem.TryAcquire(2)
			return func(ctx context.Context) error { return sem.Acquire(ctx, 2) },
				func() { sem.Resize(3) }, func() { sem.Release(2) }, sem.InUse
		}
	}
	waiters["Budget"] = func() (func(context.Context) error, func(), func(), func() int) {
		b := backpressure.NewBudget(2)
		h, _ := b.TryAcquire(2)
		return func(ctx context.Context) error { _, err := b.Acquire(ctx, 2); return err },
			func() { b.Resize(3) }, func() { h.Release() }, b.InUse
	}
	for name, set := range waiters {
		t.Run(name, func(t *testing.T) {
			for round := range 100 {
				synctest.Test(t, func(t *testing.T) {
					acquire, resize, release, inUse := set()
					ctx, cancel := context.WithCancelCause(t.Context())
					defer cancel(nil)
					got := make(chan error, 1)
					go func() { got <- acquire(ctx) }()
					synctest.Wait()
					if round%2 == 0 {
						resize() // it looks again, and so finds both at once
					}
					cancel(cause)
					release()
					if err := <-got; err != cause || inUse() != 0 {
						t.Errorf("%v, %d in use", err, inUse())
					}
				})
			}
		})
	}
}

// C53: sizes that are no sizes, also those that 32 bits would take for small ones.
func TestSizesThatCannotBeHadPanicC53(t *testing.T) {
	sizes := []int{-1, 0, math.MinInt, math.MaxInt, math.MaxInt/4 + 1}
	for _, n := range sizes {
		want := fmt.Sprintf(" is %d, want 1 to ", n)
		wantPanic(t, "NewPadded: n"+want, func() { backpressure.NewPadded(n) })
		wantPanic(t, "NewChan: n"+want, func() { backpressure.NewChan(n) })
		wantPanic(t, "NewBudget: limit"+want, func() { backpressure.NewBudget(n) })
		wantPanic(t, "PaddedSemaphore.Resize: n"+want, func() { backpressure.NewPadded(1).Resize(n) })
		wantPanic(t, "ChanSemaphore.Resize: n"+want, func() { backpressure.NewChan(1).Resize(n) })
		wantPanic(t, "Budget.Resize: limit"+want, func() { backpressure.NewBudget(1).Resize(n) })
	}
	for _, n := range []int{1, 2, 3, math.MaxInt32 / 4, math.MaxInt / 4} { // what is had is no less
		if sem := backpressure.NewPadded(n); sem.Limit() != n || !sem.TryAcquire(n) || sem.TryAcquire(1) {
			t.Errorf("NewPadded(%d) has room for %d", n, sem.Limit())
		}
		if b := backpressure.NewBudget(n); b.Limit() != n {
			t.Errorf("NewBudget(%d) has room for %d", n, b.Limit())
		}
	}
}
