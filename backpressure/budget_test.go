package backpressure_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/backpressure"
)

func TestBudgetBoundsTheWeightInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := backpressure.NewBudget(100)
		var flying, most atomic.Int64
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				weight := 10 + i%40
				h, err := b.Acquire(t.Context(), weight)
				if err != nil {
					t.Error(err)
				}
				now := flying.Add(int64(weight))
				for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
				}
				time.Sleep(time.Second)
				flying.Add(-int64(weight))
				h.Release()
			})
		}
		wg.Wait()
		if most.Load() > 100 || most.Load() < 80 {
			t.Errorf("%d in flight at most, want 80 to 100", most.Load())
		}
		if b.InUse() != 0 {
			t.Errorf("%d in use at the end", b.InUse())
		}
	})
}

func TestBudgetItemHeavierThanTheWholePassesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := backpressure.NewBudget(10)
		small, _ := b.Acquire(t.Context(), 1)
		passed := make(chan backpressure.Held, 2)
		for _, weight := range []int{1000, 1} {
			go func() {
				h, err := b.Acquire(t.Context(), weight)
				if err != nil {
					t.Error(err)
				}
				passed <- h
			}()
			synctest.Wait()
		}
		if len(passed) > 0 {
			t.Fatal("somebody did not wait")
		}
		small.Release()
		synctest.Wait()
		if len(passed) != 1 || b.InUse() != 10 {
			t.Fatalf("%d passed, %d in use, want the heavy one alone", len(passed), b.InUse())
		}
		heavy := <-passed
		heavy.Release()
		synctest.Wait()
		if len(passed) != 1 || b.InUse() != 1 {
			t.Errorf("%d passed, %d in use, want the light one", len(passed), b.InUse())
		}
		if h := <-passed; !h.Release() || b.InUse() != 0 {
			t.Errorf("%d in use at the end", b.InUse())
		}
	})
}

// However many copies of a Held there are and whoever releases them, its weight is given
// back once; also when its place has been used again meanwhile.
func TestBudgetHeldIsReleasedOnce(t *testing.T) {
	b := backpressure.NewBudget(10)
	h, ok := b.TryAcquire(4)
	if !ok {
		t.Fatal("not acquired")
	}
	releases := make(chan bool, 8)
	var wg sync.WaitGroup
	for range cap(releases) {
		wg.Go(func() { releases <- h.Release() })
	}
	wg.Wait()
	close(releases)
	first := 0
	for did := range releases {
		if did {
			first++
		}
	}
	if first != 1 || b.InUse() != 0 {
		t.Errorf("%d releases counted, %d in use", first, b.InUse())
	}
	next, _ := b.TryAcquire(7)
	if h.Release() || b.InUse() != 7 {
		t.Errorf("an old copy released what came after it: %d in use", b.InUse())
	}
	if !next.Release() || (backpressure.Held{}).Release() {
		t.Error("Release reports the wrong thing")
	}
}

func TestBudgetAllocatesNothingPerItemP10(t *testing.T) {
	b := backpressure.NewBudget(100)
	ctx := t.Context()
	if allocs := testing.AllocsPerRun(1000, func() {
		x, _ := b.Acquire(ctx, 60)
		y, _ := b.TryAcquire(40)
		x.Release()
		y.Release()
	}); allocs != 0 {
		t.Errorf("%v allocations for two items", allocs)
	}
}

func TestBudgetCancelledWaiterTakesNothingP6(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := backpressure.NewBudget(10)
		h, _ := b.Acquire(t.Context(), 8)
		ctx, cancel := context.WithCancelCause(t.Context())
		errs := make(chan error, 2)
		go func() {
			_, err := b.Acquire(ctx, 9)
			errs <- err
		}()
		synctest.Wait()
		go func() {
			h, err := b.Acquire(t.Context(), 2)
			h.Release()
			errs <- err
		}()
		synctest.Wait()
		cause := errors.New("cause")
		cancel(cause)
		synctest.Wait()
		if first, second := <-errs, <-errs; first != cause && second != cause || first != nil && second != nil {
			t.Errorf("%v and %v, want the cause and nil", first, second)
		}
		h.Release()
		if b.InUse() != 0 {
			t.Errorf("%d in use at the end", b.InUse())
		}
	})
}

// What ends with a run: items that lie somewhere, and those who wait.
func TestBudgetAccountGivesBackAllWhenItIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := backpressure.NewBudget(10)
		other, _ := b.Acquire(t.Context(), 3)
		a := b.Open()
		var held []backpressure.Held
		for range 3 {
			h, err := a.Acquire(t.Context(), 2)
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, h)
		}
		held[1].Release()
		errs := make(chan error, 1)
		go func() {
			_, err := a.Acquire(t.Context(), 9)
			errs <- err
		}()
		synctest.Wait()
		a.Close()
		a.Close()
		if err := <-errs; err != backpressure.ErrClosed {
			t.Errorf("the one who waited got %v", err)
		}
		if b.InUse() != 3 {
			t.Errorf("%d in use, want the 3 of another account", b.InUse())
		}
		if held[0].Release() || held[1].Release() || b.InUse() != 3 {
			t.Errorf("released again: %d in use", b.InUse())
		}
		if _, err := a.Acquire(t.Context(), 1); err != backpressure.ErrClosed {
			t.Errorf("Acquire after Close: %v", err)
		}
		if _, ok := a.TryAcquire(1); ok {
			t.Error("TryAcquire after Close")
		}
		if _, err := a.Ask(1, func() {}); err != backpressure.ErrClosed {
			t.Errorf("Ask after Close: %v", err)
		}
		other.Release()
		if h, ok := b.TryAcquire(10); !ok || !h.Release() {
			t.Error("the budget is not whole again")
		}
	})
}

func TestBudgetAccountTellsOnceWhenAllHasBeenReturned(t *testing.T) {
	b := backpressure.NewBudget(9)
	a := b.Open()
	told := 0
	tell := func() {
		if told++; b.InUse() != 0 {
			t.Errorf("told with %d in use", b.InUse())
		}
	}
	if a.WhenReturned(tell) {
		t.Error("nothing has been acquired yet")
	}
	x, _ := a.TryAcquire(3)
	y, _ := a.TryAcquire(0)
	if !a.WhenReturned(tell) {
		t.Error("two are held")
	}
	x.Release()
	x.Release()
	if told != 0 {
		t.Error("told while one is held, of no weight")
	}
	if y.Release(); told != 1 {
		t.Errorf("told %d times", told)
	}
	z, _ := a.TryAcquire(9) // as one that nobody has asked about
	if z.Release(); told != 1 || a.WhenReturned(tell) {
		t.Errorf("told %d times", told)
	}
	z, _ = a.TryAcquire(9)
	if !a.WhenReturned(tell) {
		t.Error("one is held")
	}
	if a.Close(); told != 2 {
		t.Errorf("told %d times after Close", told)
	}
	if z.Release(); told != 2 || a.WhenReturned(tell) {
		t.Errorf("told %d times, or held by a closed account", told)
	}
	wantPanic(t, "backpressure.Account.WhenReturned: notify is nil", func() { a.WhenReturned(nil) })
}

func TestBudgetClaimWaitsInTheQueueOfTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := backpressure.NewBudget(10)
		a := b.Open()
		h, _ := b.TryAcquire(10)
		told := 0
		c, err := a.Ask(6, func() { told++ })
		if err != nil {
			t.Fatal(err)
		}
		if _, ok, err := c.Granted(); ok || err != nil || told != 0 {
			t.Errorf("granted at once: %v, %v, told %d times", ok, err, told)
		}
		if _, ok := b.TryAcquire(0); ok {
			t.Error("somebody overtook a claim")
		}
		h.Release()
		if got, ok, err := c.Granted(); !ok || err != nil || told != 1 || !got.Release() {
			t.Errorf("granted: %v, %v, told %d times", ok, err, told)
		}
		c.Cancel()
		h, _ = b.TryAcquire(10)
		c, _ = a.Ask(6, func() {})
		d, _ := a.Ask(6, func() {})
		c.Cancel()
		h.Release()
		if _, ok, _ := c.Granted(); ok {
			t.Error("a cancelled claim is granted")
		}
		d.Cancel() // granted, and not yet taken
		d.Cancel()
		if b.InUse() != 0 {
			t.Errorf("%d in use at the end", b.InUse())
		}
	})
}

// A budget that becomes smaller than what somebody waits for lets it pass alone.
func TestBudgetResizeBelowWhatIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := backpressure.NewBudget(10)
		h, _ := b.TryAcquire(4)
		got := make(chan backpressure.Held, 1)
		go func() {
			h, err := b.Acquire(t.Context(), 8)
			if err != nil {
				t.Error(err)
			}
			got <- h
		}()
		synctest.Wait()
		b.Resize(5)
		synctest.Wait()
		if len(got) > 0 || b.Limit() != 5 {
			t.Fatal("it did not wait")
		}
		h.Release()
		h = <-got
		if b.InUse() != 5 {
			t.Errorf("%d in use, want the whole budget", b.InUse())
		}
		h.Release()
	})
}

func TestBudgetBadArgumentsP11(t *testing.T) {
	wantPanic(t, "backpressure.NewBudget: limit is 0, want 1 to ", func() { backpressure.NewBudget(0) })
	b := backpressure.NewBudget(1)
	wantPanic(t, "backpressure.Budget.Resize: limit is -1, want 1 to ", func() { b.Resize(-1) })
	wantPanic(t, "backpressure.Account.Ask: notify is nil", func() { b.Open().Ask(1, nil) })
	if _, err := b.Acquire(t.Context(), -3); !errors.Is(err, backpressure.ErrWeight) || err.Error() != "backpressure: negative weight: -3" {
		t.Errorf("%v", err)
	}
	if _, ok := b.TryAcquire(-1); ok {
		t.Error("a negative weight was acquired")
	}
}

// Items that are released on one of several roads, or left to the account; a sum that
// does not come out at 0 would show what was lost or given twice.
func TestBudgetUnderLoadIsWholeInTheEnd(t *testing.T) {
	perturb(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	b := backpressure.NewBudget(50)
	each := scaled(t, 8_000) / 8
	var wg sync.WaitGroup
	var waited, left atomic.Int64
	for g := range 8 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(g)))
			a := b.Open()
			defer a.Close()
			for range each {
				weight := rnd.IntN(60)
				h, ok := a.TryAcquire(weight)
				if !ok {
					waited.Add(1)
					var err error
					if h, err = a.Acquire(context.Background(), weight); err != nil {
						t.Error(err)
						return
					}
				}
				if n := b.InUse(); n > 50 || n < min(weight, 50) {
					t.Errorf("%d in use while %d is held", n, weight)
				}
				if rnd.IntN(4) == 0 {
					runtime.Gosched() // with something held
				}
				switch rnd.IntN(3) {
				case 0:
					h.Release()
				case 1:
					wg.Go(func() { h.Release() })
					h.Release()
				default:
					left.Add(1)
					a.Close()
					a = b.Open()
				}
			}
		})
	}
	wg.Wait()
	if b.InUse() != 0 {
		t.Errorf("%d in use at the end", b.InUse())
	}
	if waited.Load() == 0 || left.Load() == 0 {
		t.Errorf("%d waited, %d left to their accounts", waited.Load(), left.Load())
	}
}
