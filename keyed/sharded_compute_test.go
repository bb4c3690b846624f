package keyed_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/keyed"
)

func give(v int) func(context.Context) (int, error) {
	return func(context.Context) (int, error) { return v, nil }
}

// answer is what a call of LoadOrCompute returned.
type answer struct {
	v      int
	loaded bool
	err    error
}

func TestLoadOrComputeCallsFOncePerKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := keyed.NewSharded[int, int](1)
		var calls atomic.Int64
		var fresh atomic.Int64
		for range 50 {
			go func() {
				v, loaded, err := m.LoadOrCompute(t.Context(), 7, func(context.Context) (int, error) {
					calls.Add(1)
					time.Sleep(time.Second)
					return 42, nil
				})
				if v != 42 || err != nil {
					t.Errorf("got %d, %v", v, err)
				}
				if !loaded {
					fresh.Add(1)
				}
			}()
		}
		start := time.Now()
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		if calls.Load() != 1 || fresh.Load() != 1 || time.Since(start) != time.Second {
			t.Errorf("%d calls, %d fresh after %v", calls.Load(), fresh.Load(), time.Since(start))
		}
		if v, loaded, err := m.LoadOrCompute(t.Context(), 7, nil2(t)); v != 42 || !loaded || err != nil {
			t.Errorf("later: got %d, %v, %v", v, loaded, err)
		}
	})
}

// nil2 is a function that must not be called.
func nil2(t *testing.T) func(context.Context) (int, error) {
	return func(context.Context) (int, error) {
		t.Error("called")
		return 0, nil
	}
}

func TestLoadOrComputeHoldsUpNoOtherUseOfTheShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := keyed.NewSharded[int, int](1)
		go m.LoadOrCompute(t.Context(), 1, func(context.Context) (int, error) {
			time.Sleep(time.Hour)
			return 1, nil
		})
		synctest.Wait()
		start := time.Now()
		m.Store(2, 2)
		if v, loaded, err := m.LoadOrCompute(t.Context(), 3, give(3)); v != 3 || loaded || err != nil {
			t.Errorf("got %d, %v, %v", v, loaded, err)
		}
		if _, ok := m.Load(1); ok || m.Len() != 2 {
			t.Error("a value that is being computed is there")
		}
		if !time.Now().Equal(start) {
			t.Errorf("took %v", time.Since(start))
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if v, _ := m.Load(1); v != 1 {
			t.Errorf("got %d", v)
		}
	})
}

// compute starts a LoadOrCompute of key whose f waits for release and returns what
// leave does; when it returns, f is running.
func compute(ctx context.Context, m *keyed.Sharded[int, int], key int, release <-chan struct{}, leave func() (int, error)) <-chan answer {
	out, begun := make(chan answer, 1), make(chan struct{})
	go func() {
		var a answer
		defer func() {
			if recover() != nil {
				a.err = errPanicked
			}
			out <- a
		}()
		a.err = errGone
		a.v, a.loaded, a.err = m.LoadOrCompute(ctx, key, func(context.Context) (int, error) {
			close(begun)
			<-release
			return leave()
		})
	}()
	<-begun
	return out
}

var (
	errPanicked = errors.New("panicked")
	errGone     = errors.New("goexit")
	errBoom     = errors.New("boom")
)

func TestLoadOrComputeFailuresOfFReachWhoTheyConcern(t *testing.T) {
	for name, c := range map[string]struct {
		leave         func() (int, error)
		cancel        bool // the context of f's caller, before f returns
		caller, other answer
	}{
		"an error is shared":                  {func() (int, error) { return 5, errBoom }, false, answer{err: errBoom}, answer{err: errBoom}},
		"a panic is not":                      {func() (int, error) { panic(1) }, false, answer{err: errPanicked}, answer{v: 8}},
		"Goexit is not":                       {func() (int, error) { runtime.Goexit(); return 0, nil }, false, answer{err: errGone}, answer{v: 8}},
		"an error after a cancellation: C32":  {func() (int, error) { return 5, errBoom }, true, answer{err: errBoom}, answer{v: 8}},
		"a value after a cancellation counts": {func() (int, error) { return 5, nil }, true, answer{v: 5}, answer{v: 5, loaded: true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := keyed.NewSharded[int, int](1)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				release := make(chan struct{})
				caller := compute(ctx, m, 1, release, c.leave)
				other := make(chan answer, 1)
				go func() {
					v, loaded, err := m.LoadOrCompute(t.Context(), 1, give(8))
					other <- answer{v, loaded, err}
				}()
				synctest.Wait()
				if c.cancel {
					cancel()
				}
				close(release)
				if got := <-caller; got != c.caller {
					t.Errorf("caller: got %v, want %v", got, c.caller)
				}
				if got := <-other; got != c.other {
					t.Errorf("other: got %v, want %v", got, c.other)
				}
				if _, ok := m.Load(1); ok != (c.other.err == nil) {
					t.Errorf("stored: %v", ok)
				}
			})
		})
	}
}

func TestLoadOrComputeWaiterLeavesWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := keyed.NewSharded[int, int](1)
		release := make(chan struct{})
		caller := compute(t.Context(), m, 1, release, func() (int, error) { return 5, nil })
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errBoom)
		defer cancel()
		if _, _, err := m.LoadOrCompute(ctx, 1, nil2(t)); err != errBoom {
			t.Errorf("waiter: got %v", err)
		}
		if _, _, err := m.LoadOrCompute(ctx, 2, nil2(t)); err != errBoom {
			t.Errorf("f of a context that has ended: got %v", err)
		}
		close(release)
		if got := <-caller; got != (answer{v: 5}) {
			t.Errorf("caller: got %v", got)
		}
		if v, loaded, err := m.LoadOrCompute(ctx, 1, nil2(t)); v != 5 || !loaded || err != nil {
			t.Errorf("a hit needs no waiting: got %d, %v, %v", v, loaded, err)
		}
	})
}

func TestLoadOrComputeGivesWayToWhatIsStoredOrDeletedMeanwhile(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(m *keyed.Sharded[int, int])
		want      answer
		stored    int // 0 for nothing
	}{
		"nothing":        {func(m *keyed.Sharded[int, int]) {}, answer{v: 5}, 5},
		"stored":         {func(m *keyed.Sharded[int, int]) { m.Store(1, 9) }, answer{9, true, nil}, 9},
		"updated":        {func(m *keyed.Sharded[int, int]) { m.Update(1, increment) }, answer{1, true, nil}, 1},
		"deleted":        {func(m *keyed.Sharded[int, int]) { m.Delete(1) }, answer{v: 5}, 0},
		"stored, gone":   {func(m *keyed.Sharded[int, int]) { m.Store(1, 9); m.Delete(1) }, answer{v: 5}, 0},
		"gone, stored":   {func(m *keyed.Sharded[int, int]) { m.Delete(1); m.Store(1, 9) }, answer{9, true, nil}, 9},
		"gone, computed": {func(m *keyed.Sharded[int, int]) { m.Delete(1); m.LoadOrCompute(context.Background(), 1, give(7)) }, answer{7, true, nil}, 7},
		"deleted by UpdateMany": {func(m *keyed.Sharded[int, int]) {
			m.UpdateMany([]int{1}, func([]*keyed.Entry[int, int]) error { return nil })
		}, answer{v: 5}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := keyed.NewSharded[int, int](1)
				release := make(chan struct{})
				caller := compute(t.Context(), m, 1, release, func() (int, error) { return 5, nil })
				c.meanwhile(m)
				close(release)
				if got := <-caller; got != c.want {
					t.Errorf("got %v, want %v", got, c.want)
				}
				if v, ok := m.Load(1); v != c.stored || ok != (c.stored != 0) {
					t.Errorf("stored: %d, %v", v, ok)
				}
			})
		})
	}
}

func TestLoadOrComputeThatWaitsForItselfGetsErrCycle(t *testing.T) {
	type compute = func(context.Context) (int, error)
	m, other := keyed.NewSharded[int, int](1), keyed.NewSharded[int, int](1)
	ask := func(m *keyed.Sharded[int, int], key int, f compute) compute {
		return func(ctx context.Context) (int, error) {
			v, _, err := m.LoadOrCompute(ctx, key, f)
			return v + 1, err
		}
	}
	for name, f := range map[string]compute{
		"directly":            ask(m, 1, ask(m, 1, give(0))),
		"over another":        ask(m, 1, ask(m, 2, ask(m, 1, give(0)))),
		"over another map":    ask(m, 1, ask(other, 1, ask(m, 1, give(0)))),
		"two that never meet": ask(m, 1, ask(m, 2, give(0))),
	} {
		_, err := f(t.Context())
		if want := name != "two that never meet"; errors.Is(err, keyed.ErrCycle) != want {
			t.Errorf("%s: got %v", name, err)
		}
		m.Delete(1)
		m.Delete(2)
	}
}

func TestLoadOrComputeTwoCallersThatWaitForEachOtherGetErrCycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := keyed.NewSharded[int, int](1)
		errs := make(chan error, 2)
		for key := range 2 {
			go func() {
				_, _, err := m.LoadOrCompute(t.Context(), key, func(ctx context.Context) (int, error) {
					time.Sleep(time.Second) // until both compute
					v, _, err := m.LoadOrCompute(ctx, 1-key, give(0))
					return v, err
				})
				errs <- err
			}()
		}
		for range 2 {
			if err := <-errs; !errors.Is(err, keyed.ErrCycle) {
				t.Errorf("got %v", err)
			}
		}
	})
}

func TestLoadOrComputeAsksForOneKeyFromSeveralGoroutinesOfOneComputation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := keyed.NewSharded[int, int](1)
		release := make(chan struct{})
		slow := compute(t.Context(), m, 1, release, func() (int, error) { return 5, nil })
		sum := make(chan answer, 1)
		go func() {
			v, loaded, err := m.LoadOrCompute(t.Context(), 2, func(ctx context.Context) (int, error) {
				var total atomic.Int64
				var wg sync.WaitGroup
				for range 3 {
					wg.Go(func() {
						v, _, _ := m.LoadOrCompute(ctx, 1, nil2(t))
						total.Add(int64(v))
					})
				}
				wg.Wait()
				return int(total.Load()), nil
			})
			sum <- answer{v, loaded, err}
		}()
		synctest.Wait()
		close(release)
		<-slow
		if got := <-sum; got != (answer{v: 15}) {
			t.Errorf("got %v", got)
		}
	})
}
