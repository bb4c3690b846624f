package keyed_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/keyed"
	"github.com/seed95b73fdc/sluice/stage"
)

var background = context.Background()

func newCounters(n int, opts ...stage.Option) *keyed.Owners[int, int] {
	return keyed.NewOwners[int, int](n, func() int { return 0 }, opts...)
}

func add(k int) func(*int) error { return func(s *int) error { *s += k; return nil } }

// value reads a state through the owners.
func value(t *testing.T, o *keyed.Owners[int, int], key int) (v int) {
	t.Helper()
	if err := o.Do(background, key, func(s *int) error { v = *s; return nil }); err != nil {
		t.Error(err)
	}
	return v
}

func closeNow(t *testing.T, o *keyed.Owners[int, int]) {
	t.Helper()
	if err := o.Close(background); err != nil {
		t.Error(err)
	}
}

// hold occupies the lane of key until release is called.
func hold(t *testing.T, o *keyed.Owners[int, int], key int) (release func()) {
	t.Helper()
	began, let := make(chan struct{}), make(chan struct{})
	if err := o.Post(background, key, func(*int) error { close(began); <-let; return nil }); err != nil {
		t.Fatal(err)
	}
	<-began
	return sync.OnceFunc(func() { close(let) })
}

func TestOwnersRunEachAdmittedFunctionOnceAndOneAtATimeForAKeyP2(t *testing.T) {
	const callers, calls, keys = 8, 4000 / raceScale, 5
	for _, n := range []int{1, 2, 4} {
		o := newCounters(n, stage.Window(16))
		var posted [keys]atomic.Int64
		var now, most atomic.Int64
		ctx, cancel := context.WithCancel(background)
		var wg sync.WaitGroup
		for c := range callers {
			wg.Go(func() {
				for i := range calls {
					k := (c + i) % keys
					f := func(s *int) error {
						if r := now.Add(1); r > most.Load() {
							most.Store(r)
						}
						*s++ // plain: the race detector looks on
						now.Add(-1)
						return nil
					}
					var err error
					switch i % 3 {
					case 0:
						err = o.Post(background, k, f)
					case 1:
						err = o.Do(background, k, f)
					case 2:
						err = o.Do(ctx, k, f)
					}
					if err != nil {
						t.Error(err)
					}
					posted[k].Add(1)
				}
			})
		}
		wg.Wait()
		cancel()
		for k := range keys {
			if got := value(t, o, k); int64(got) != posted[k].Load() {
				t.Errorf("n=%d: key %d is at %d, want %d", n, k, got, posted[k].Load())
			}
		}
		if m := most.Load(); m > int64(n) {
			t.Errorf("n=%d: %d functions at once", n, m)
		}
		closeNow(t, o)
	}
}

// Callers who run their functions themselves, callers who can be cancelled, and posts.
func TestOwnersRunOneFunctionOfAKeyAtATimeWhoeverRunsItP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rounds = 4
		o := newCounters(8)
		ctx, cancel := context.WithCancel(background)
		defer cancel()
		var now, most atomic.Int64
		f := func(*int) error {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			return nil
		}
		start := time.Now()
		var wg sync.WaitGroup
		for range rounds {
			for _, call := range []func() error{
				func() error { return o.Do(background, 7, f) },
				func() error { return o.Do(ctx, 7, f) },
				func() error { return o.Post(background, 7, f) },
			} {
				wg.Go(func() {
					if err := call(); err != nil {
						t.Error(err)
					}
				})
			}
		}
		wg.Wait()
		closeNow(t, o)
		if d := time.Since(start); most.Load() != 1 || d != 3*rounds*time.Second {
			t.Errorf("%d at once, in %v", most.Load(), d)
		}
	})
}

func TestOwnersAdmitAsSoonAsACallerWhoRanItsOwnFunctionLeavesP4(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newCounters(1, stage.Window(1))
		var order []int
		var wg sync.WaitGroup
		for k := range 3 {
			wg.Go(func() {
				if err := o.Do(background, k, func(*int) error { order = append(order, k); time.Sleep(time.Second); return nil }); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		if !slices.Equal(order, []int{0, 1, 2}) {
			t.Errorf("admitted in the order %v", order)
		}
		closeNow(t, o)
	})
}

func TestOwnersRunNFunctionsOfDifferentKeysAtOnceP3(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 3
		o := newCounters(n)
		let := make(chan struct{})
		var running atomic.Int64
		for k := range 200 {
			o.Post(background, k, func(*int) error { running.Add(1); <-let; running.Add(-1); return nil })
		}
		synctest.Wait()
		if got := running.Load(); got != n {
			t.Errorf("%d functions run, want %d", got, n)
		}
		close(let)
		closeNow(t, o)
	})
}

// C32: a worker is nobody's; the context of one caller ends the waiting of that one.
func TestOwnersOutliveTheContextOfTheirFirstCallerC32(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newCounters(1)
		first, cancel := context.WithCancel(background)
		if err := o.Do(first, 1, add(1)); err != nil {
			t.Fatal(err)
		}
		release := hold(t, o, 1)
		waits := make(chan error)
		go func() { waits <- o.Do(first, 1, add(100)) }()
		synctest.Wait()
		cancel()
		if err := <-waits; err != context.Canceled {
			t.Errorf("the first caller got %v", err)
		}
		second := make(chan error)
		go func() { second <- o.Do(t.Context(), 1, add(10)) }()
		release()
		if err := <-second; err != nil {
			t.Error(err)
		}
		if got := value(t, o, 1); got != 11 {
			t.Errorf("state is %d, want 11: what was taken back must not run", got)
		}
		closeNow(t, o)
	})
}

func TestOwnersTellTheOutcomeOfAFunctionThatOutrunsItsContext(t *testing.T) {
	for _, failure := range []error{nil, errors.New("disk full")} {
		synctest.Test(t, func(t *testing.T) {
			o := newCounters(2)
			ctx, cancel := context.WithTimeout(background, time.Second)
			defer cancel()
			err := o.Do(ctx, 1, func(s *int) error { time.Sleep(time.Minute); *s = 7; return failure })
			var running *keyed.RunningError
			if !errors.As(err, &running) || !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("got %v", err)
			}
			select {
			case <-running.Done():
				t.Error("done while the function runs")
			default:
			}
			short, cancel2 := context.WithTimeout(background, time.Second)
			defer cancel2()
			if err := running.Wait(short); err != running {
				t.Errorf("Wait with a short context: %v", err)
			}
			if err := running.Wait(background); err != failure {
				t.Errorf("the outcome is %v, want %v", err, failure)
			}
			if got := value(t, o, 1); got != 7 {
				t.Errorf("state is %d", got)
			}
			closeNow(t, o)
		})
	}
}

// C13: nil means run exactly once, ErrClosed never run, whenever Close comes.
func TestOwnersCloseWhileOthersCallC13(t *testing.T) {
	const callers = 32
	rounds, yields := 300/raceScale, 50
	if runtime.GOMAXPROCS(0) == 1 {
		rounds, yields = 30, 5 // each yield lets the callers have a whole slice of the scheduler's
	}
	for round := range rounds {
		o := newCounters(2, stage.Window(4))
		var ran, told atomic.Int64
		f := func(*int) error { ran.Add(1); return nil }
		var wg sync.WaitGroup
		for c := range callers {
			wg.Go(func() {
				for i := 0; ; i++ {
					var err error
					switch (c + i) % 3 {
					case 0:
						err = o.Post(background, c, f)
					case 1:
						err = o.Do(background, c, f)
					case 2:
						err = o.Atomically(background, []int{c, c + 1}, func([]*int) error { ran.Add(1); return nil })
					}
					if err == keyed.ErrClosed {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					told.Add(1)
				}
			})
		}
		for range round % yields {
			runtime.Gosched()
		}
		closeNow(t, o)
		atClose := ran.Load()
		wg.Wait()
		if ran.Load() != told.Load() || ran.Load() != atClose {
			t.Fatalf("round %d: %d ran, %d at the return of Close, %d were told so", round, ran.Load(), atClose, told.Load())
		}
	}
}

func TestOwnersAfterCloseSayErrClosedC23(t *testing.T) {
	o := newCounters(2)
	closeNow(t, o)
	closeNow(t, o)
	never := func(*int) error { t.Error("ran after Close"); return nil }
	for name, err := range map[string]error{
		"Do":         o.Do(background, 1, never),
		"Post":       o.Post(background, 1, never),
		"Atomically": o.Atomically(background, []int{1, 2}, func([]*int) error { return never(nil) }),
		"Resize":     o.Resize(background, 3),
	} {
		if err != keyed.ErrClosed {
			t.Errorf("%s: %v", name, err)
		}
	}
	if o.Stats().N != 2 || o.Epoch() != 1 || o.Len() != 0 {
		t.Error("Stats, Epoch or Len after Close")
	}
}

// Callers that wait for room are told, when Owners close, that their functions will
// not run; those that have been accepted do.
func TestOwnersCloseReleasesCallersThatWaitForRoomC17(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newCounters(1, stage.Window(1))
		var ran, refused atomic.Int64
		var callers sync.WaitGroup
		for range 2 {
			callers.Go(func() {
				for range 30 {
					switch err := o.Do(background, 1, func(*int) error { time.Sleep(time.Second); ran.Add(1); return nil }); err {
					case nil:
					case keyed.ErrClosed:
						refused.Add(1)
					default:
						t.Error(err)
					}
				}
			})
		}
		time.Sleep(100 * time.Millisecond)
		start := time.Now()
		closeNow(t, o)
		callers.Wait()
		if ran.Load() != 1 || refused.Load() != 59 || time.Since(start) != 900*time.Millisecond {
			t.Errorf("%d ran, %d were refused, after %v", ran.Load(), refused.Load(), time.Since(start))
		}
	})
}

// C48: all of several Closes return when everything has ended.
func TestOwnersCloseFinishesWhatWasAcceptedC48(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newCounters(1)
		var ran atomic.Int64
		for k := range 20 {
			o.Post(background, k, func(*int) error { time.Sleep(time.Second); ran.Add(1); return nil })
		}
		short, cancel := context.WithTimeout(background, 5500*time.Millisecond)
		defer cancel()
		if err := o.Close(short); err != context.DeadlineExceeded || ran.Load() != 5 {
			t.Errorf("Close with a short context: %v, %d have run", err, ran.Load())
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				closeNow(t, o)
				if ran.Load() != 20 {
					t.Errorf("Close returned after %d", ran.Load())
				}
			})
		}
		wg.Wait()
	})
}

func TestOwnersFullWindowMakesCallersWaitP4(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window = 3
		o := newCounters(1, stage.Window(window))
		release := hold(t, o, 0)
		var admitted atomic.Int64
		var order []int
		for i := range 6 {
			go func() {
				if err := o.Post(background, 0, func(*int) error { order = append(order, i); return nil }); err != nil {
					t.Error(err)
				}
				admitted.Add(1)
			}()
			synctest.Wait()
		}
		if got := admitted.Load(); got != window-1 {
			t.Errorf("%d more were admitted, want %d", got, window-1)
		}
		if s := o.Stats(); s.Admitted != window || s.Queued != 4 {
			t.Errorf("Stats: %d admitted, %d queued", s.Admitted, s.Queued)
		}
		gone, cancel := context.WithCancel(background)
		late := make(chan error)
		go func() { late <- o.Do(gone, 0, func(*int) error { t.Error("ran"); return nil }) }()
		synctest.Wait()
		cancel()
		if err := <-late; err != context.Canceled {
			t.Error(err)
		}
		release()
		closeNowWhenIdle(t, o)
		if !slices.Equal(order[:2], []int{0, 1}) {
			t.Errorf("ran in the order %v", order)
		}
		if len(order) != 6 {
			t.Errorf("%d ran", len(order))
		}
	})
}

// closeNowWhenIdle closes once nobody queues.
func closeNowWhenIdle(t *testing.T, o *keyed.Owners[int, int]) {
	synctest.Wait()
	closeNow(t, o)
}

func TestOwnersForgetWhatIsTakenBackWhileALaneIsHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newCounters(1, stage.Window(2))
		release := hold(t, o, 0)
		for range 100 {
			ctx, cancel := context.WithTimeout(background, time.Second)
			if err := o.Do(ctx, 0, add(1)); err != context.DeadlineExceeded {
				t.Error(err)
			}
			cancel()
		}
		s := o.Stats()
		depth := 0
		for _, l := range s.Lanes {
			depth += l.Depth
		}
		if depth != 0 || s.Admitted != 1 || s.Withdrawn != 100 {
			t.Errorf("%d seats left, %d admitted, %d withdrawn", depth, s.Admitted, s.Withdrawn)
		}
		release()
		closeNow(t, o)
	})
}

func TestOwnersPanicsReachTheirCallersP9(t *testing.T) {
	o := newCounters(1, stage.Name("ledger"))
	boom := func(*int) error { panic("boom") }
	waiting, cancel := context.WithCancel(background)
	defer cancel()
	for name, call := range map[string]func(){
		"inline":     func() { o.Do(background, 1, boom) },
		"queued":     func() { o.Do(waiting, 1, boom) },
		"atomically": func() { o.Atomically(background, []int{1, 2}, func([]*int) error { panic("boom") }) },
	} {
		func() {
			defer func() {
				p, ok := recover().(*stage.Panic)
				if !ok || p.Value != "boom" || p.Stage != "ledger" || len(p.Stack) == 0 {
					t.Errorf("%s: raised %v", name, p)
				}
			}()
			call()
			t.Errorf("%s: returned", name)
		}()
	}
	if err := o.Do(background, 1, add(1)); err != nil {
		t.Error(err)
	}
	o.Post(background, 1, boom)
	var p *stage.Panic
	if err := o.Close(background); !errors.As(err, &p) || p.Value != "boom" {
		t.Errorf("Close: %v", err)
	}
	if s := o.Stats(); s.Failed != 1 {
		t.Errorf("%d failed", s.Failed)
	}
}

// C10: the caller is told, the lane goes on, and no worker is lost.
func TestOwnersSurviveGoexitC10(t *testing.T) {
	o := newCounters(2)
	waiting, cancel := context.WithCancel(background)
	defer cancel()
	exit := func(*int) error { runtime.Goexit(); return nil }
	for i := range 50 {
		if err := o.Do(waiting, i, exit); !errors.Is(err, stage.ErrGoexit) {
			t.Fatalf("Do: %v", err)
		}
		if err := o.Atomically(background, []int{i, i + 1}, func([]*int) error { runtime.Goexit(); return nil }); !errors.Is(err, stage.ErrGoexit) {
			t.Fatalf("Atomically: %v", err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			o.Do(background, i, exit) // may well be this goroutine that ends
		}()
		<-done
	}
	for i := range 100 {
		if err := o.Do(waiting, i, add(1)); err != nil {
			t.Fatal(err)
		}
	}
	closeNow(t, o)
}
