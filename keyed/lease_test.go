package keyed_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/keyed"
)

const ttl = 10 * time.Second

// acquire gets a lease that has to be free.
func acquire(t *testing.T, store keyed.LeaseStore, partition, owner string) keyed.Lease {
	t.Helper()
	l, err := store.Acquire(t.Context(), partition, owner, ttl)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLeaseIsHeldByOneUntilItExpiresOrIsReleased(t *testing.T) { // C120
	synctest.Test(t, func(t *testing.T) {
		store, ctx := keyed.NewMemoryLeases(), t.Context()
		a := acquire(t, store, "p", "a")
		if want := (keyed.Lease{Partition: "p", Owner: "a", Epoch: 1, Expires: time.Now().Add(ttl)}); a != want {
			t.Errorf("got %v, want %v", a, want)
		}
		for _, owner := range []string{"b", "a"} {
			_, err := store.Acquire(ctx, "p", owner, ttl)
			var held *keyed.HeldError
			if !errors.As(err, &held) || !errors.Is(err, keyed.ErrHeld) || held.Lease != a {
				t.Errorf("%s: got %v", owner, err)
			}
		}
		acquire(t, store, "q", "b") // another partition

		time.Sleep(ttl - 1)
		if l, ok := store.Lookup("p"); !ok || l != a {
			t.Errorf("a nanosecond before the end: got %v, %v", l, ok)
		}
		time.Sleep(time.Nanosecond)
		if _, ok := store.Lookup("p"); ok {
			t.Error("a lease is valid at its end")
		}
		if _, err := store.Renew(ctx, a, ttl); !errors.Is(err, keyed.ErrLeaseLost) {
			t.Errorf("renewed after the end: %v", err)
		}
		b := acquire(t, store, "p", "b")
		if b.Epoch != 2 {
			t.Errorf("epoch %d", b.Epoch)
		}
		for name, err := range map[string]error{
			"renew":   func() error { _, err := store.Renew(ctx, a, ttl); return err }(),
			"release": store.Release(ctx, a),
			"forged":  store.Release(ctx, keyed.Lease{Partition: "p", Owner: "a", Epoch: 2}),
			"unheard": store.Release(ctx, keyed.Lease{Partition: "?", Owner: "a", Epoch: 1}),
		} {
			if !errors.Is(err, keyed.ErrLeaseLost) {
				t.Errorf("%s: got %v", name, err)
			}
		}
		time.Sleep(ttl / 2)
		renewed, err := store.Renew(ctx, b, ttl)
		if err != nil || renewed.Epoch != 2 || !renewed.Expires.Equal(time.Now().Add(ttl)) {
			t.Errorf("renewed: got %v, %v", renewed, err)
		}
		if err := store.Release(ctx, renewed); err != nil {
			t.Error(err)
		}
		if err := store.Release(ctx, renewed); !errors.Is(err, keyed.ErrLeaseLost) {
			t.Errorf("released twice: %v", err)
		}
	})
}

func TestEpochsRiseAcrossEveryKindOfLoss(t *testing.T) { // C112
	synctest.Test(t, func(t *testing.T) {
		store := keyed.NewMemoryLeases()
		var last uint64
		for i := range 12 {
			l := acquire(t, store, "p", fmt.Sprint("owner-", i%2))
			if l.Epoch != last+1 {
				t.Fatalf("epoch %d after %d", l.Epoch, last)
			}
			last = l.Epoch
			if free, ok := store.Lookup("p"); !ok || free.Epoch != last {
				t.Fatalf("got %v, %v", free, ok)
			}
			if i%3 == 0 {
				time.Sleep(2 * ttl)
			} else if err := store.Release(t.Context(), l); err != nil {
				t.Fatal(err)
			}
			if free, ok := store.Lookup("p"); ok || free.Epoch != last {
				t.Fatalf("got %v, %v", free, ok)
			}
		}
	})
}

func TestOneOfManyWinsEveryEpoch(t *testing.T) { // C121
	const members, epochs = 10, 200
	store := keyed.NewMemoryLeases()
	var wins [epochs + 1]atomic.Int64
	var conflicts atomic.Int64
	var wg sync.WaitGroup
	for m := range members {
		wg.Go(func() {
			for {
				l, err := store.Acquire(t.Context(), "p", fmt.Sprint(m), time.Hour)
				if errors.Is(err, keyed.ErrHeld) {
					conflicts.Add(1)
					if l, _ := store.Lookup("p"); l.Epoch >= epochs {
						return
					}
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if l.Epoch > epochs {
					return
				}
				wins[l.Epoch].Add(1)
				if l.Epoch == epochs {
					return // and keep it
				}
				for c := conflicts.Load(); l.Epoch == 1 && c == conflicts.Load(); {
					runtime.Gosched() // until somebody has met a conflict
				}
				if err := store.Release(t.Context(), l); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for e := 1; e <= epochs; e++ {
		if n := wins[e].Load(); n != 1 {
			t.Errorf("epoch %d has %d winners", e, n)
		}
	}
	if conflicts.Load() == 0 {
		t.Error("vacuous: no conflict")
	}
}

func TestMemoryLeasesBadArguments(t *testing.T) {
	store := keyed.NewMemoryLeases()
	mustPanic(t, "keyed.LeaseClock: now is nil", func() { keyed.LeaseClock(nil) })
	mustPanic(t, "keyed.NewMemoryLeases: option 0 is nil", func() { keyed.NewMemoryLeases(nil) })
	if _, err := store.Acquire(t.Context(), "p", "", ttl); err == nil {
		t.Error("an empty owner has a lease")
	}
	if _, err := store.Acquire(t.Context(), "p", "a", 0); err == nil {
		t.Error("a lease of no time")
	}
	l := acquire(t, store, "p", "a")
	if _, err := store.Renew(t.Context(), l, -1); err == nil {
		t.Error("a lease of negative time")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errBoom)
	_, acquired := store.Acquire(ctx, "q", "a", ttl)
	_, renewed := store.Renew(ctx, l, ttl)
	if released := store.Release(ctx, l); acquired != errBoom || renewed != errBoom || released != errBoom {
		t.Errorf("got %v, %v, %v", acquired, renewed, released)
	}
}
