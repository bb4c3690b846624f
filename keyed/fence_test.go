package keyed_test

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

	"github.com/seed95b73fdc/sluice/keyed"
)

func TestFenceRefusesEveryEpochBelowTheHighest(t *testing.T) {
	var f keyed.Fence
	ctx := t.Context()
	for _, c := range []struct {
		partition string
		epoch     uint64
		ok        bool
	}{{"p", 0, false}, {"p", 3, true}, {"p", 3, true}, {"p", 2, false}, {"q", 1, true}, {"p", 7, true}, {"p", 3, false}, {"p", 7, true}, {"p", 0, false}, {"p", 1<<64 - 1, true}} {
		ran := false
		err := f.Do(ctx, c.partition, c.epoch, func() error { ran = true; return nil })
		check := f.Check(ctx, c.partition, c.epoch)
		if ran != c.ok || (err == nil) != c.ok || errors.Is(err, keyed.ErrFenced) == c.ok || errors.Is(check, keyed.ErrFenced) == c.ok {
			t.Errorf("%v: ran %v, %v, %v", c, ran, err, check)
		}
	}
}

func TestFenceStaysRaisedWhenTheWriteFails(t *testing.T) {
	var f keyed.Fence
	if err := f.Do(t.Context(), "p", 2, func() error { return errBoom }); err != errBoom {
		t.Errorf("got %v", err)
	}
	if err := f.Check(t.Context(), "p", 1); !errors.Is(err, keyed.ErrFenced) {
		t.Errorf("got %v", err)
	}
}

func TestFenceIsFreeAfterAPanicOrGoexit(t *testing.T) {
	var f keyed.Fence
	for _, leave := range []func(){func() { panic(errBoom) }, runtime.Goexit} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() { _ = recover() }()
			f.Do(t.Context(), "p", 1, func() error { leave(); return nil })
		}()
		<-done
	}
	if err := f.Check(t.Context(), "p", 1); err != nil {
		t.Error(err)
	}
}

// Who raises the fence must know that no older write is still on its way.
func TestFenceCheckWaitsForTheWriteThatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f keyed.Fence
		written := false
		go f.Do(t.Context(), "p", 1, func() error {
			time.Sleep(time.Second)
			written = true
			return nil
		})
		synctest.Wait()
		start := time.Now()
		if err := f.Check(t.Context(), "q", 1); err != nil || !time.Now().Equal(start) {
			t.Errorf("another partition: %v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errBoom)
		defer cancel()
		if err := f.Check(ctx, "p", 2); err != errBoom {
			t.Errorf("got %v", err)
		}
		if err := f.Check(t.Context(), "p", 2); err != nil || !written {
			t.Errorf("got %v, written %v", err, written)
		}
		if err := f.Check(ctx, "p", 2); err != errBoom {
			t.Errorf("of a context that has ended: got %v", err)
		}
	})
}

func TestFenceBadArgumentsPanic(t *testing.T) {
	var f keyed.Fence
	mustPanic(t, "keyed.Fence.Do: write is nil", func() { f.Do(t.Context(), "p", 1, nil) })
}

func TestFenceAcceptsEpochsInOrderOnlyUnderLoad(t *testing.T) {
	const goroutines, writes, epochs = 8, 2000, 100
	var f keyed.Fence
	var log []uint64 // written under the fence only
	var fenced atomic.Int64
	seed := uint64(time.Now().UnixNano())
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(g)))
			for i := range writes {
				epoch := 1 + uint64(i*epochs/writes) + rng.Uint64N(3)
				if err := f.Do(t.Context(), "p", epoch, func() error { log = append(log, epoch); return nil }); err != nil {
					fenced.Add(1)
				}
			}
		})
	}
	wg.Wait()
	for i := 1; i < len(log); i++ {
		if log[i] < log[i-1] {
			t.Fatalf("seed %d: epoch %d was accepted after %d", seed, log[i], log[i-1])
		}
	}
	if len(log)+int(fenced.Load()) != goroutines*writes || fenced.Load() == 0 || len(log) == 0 {
		t.Errorf("seed %d: %d accepted, %d fenced", seed, len(log), fenced.Load())
	}
}
