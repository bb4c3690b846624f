package keyed_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/keyed"
)

// scripted is a lease store whose requests can be made to do something else.
type scripted struct {
	*keyed.MemoryLeases
	acquire  func(real func() (keyed.Lease, error)) (keyed.Lease, error)
	renew    func(ctx context.Context, real func() (keyed.Lease, error)) (keyed.Lease, error)
	release  func(real func() error) error
	renewals atomic.Int64
}

func newScripted() *scripted { return &scripted{MemoryLeases: keyed.NewMemoryLeases()} }

func (s *scripted) Acquire(ctx context.Context, partition, owner string, ttl time.Duration) (keyed.Lease, error) {
	real := func() (keyed.Lease, error) { return s.MemoryLeases.Acquire(ctx, partition, owner, ttl) }
	if s.acquire == nil {
		return real()
	}
	return s.acquire(real)
}

func (s *scripted) Renew(ctx context.Context, l keyed.Lease, ttl time.Duration) (keyed.Lease, error) {
	s.renewals.Add(1)
	real := func() (keyed.Lease, error) { return s.MemoryLeases.Renew(context.WithoutCancel(ctx), l, ttl) }
	if s.renew == nil {
		return real()
	}
	return s.renew(ctx, real)
}

func (s *scripted) Release(ctx context.Context, l keyed.Lease) error {
	real := func() error { return s.MemoryLeases.Release(ctx, l) }
	if s.release == nil {
		return real()
	}
	return s.release(real)
}

// holderTest is a bubble with a holder of ttl 10 s: it renews after 3⅓ s, retries
// after 2½ s, and is sure for 9 s.
func holderTest(t *testing.T, name string, test func(t *testing.T, store *scripted, h *keyed.Holder)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := newScripted()
			test(t, store, keyed.NewHolder(store, "a", ttl))
		})
	})
}

// untilDone is a work that stops when it is told to.
func untilDone(ctx context.Context, _ *keyed.Term) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestHolderKeepsTheLeaseForAsLongAsTheWorkTakes(t *testing.T) {
	holderTest(t, "", func(t *testing.T, store *scripted, h *keyed.Holder) {
		start := time.Now()
		err := h.Hold(t.Context(), "p", func(ctx context.Context, term *keyed.Term) error {
			for time.Since(start) < time.Hour {
				time.Sleep(time.Second)
				l, held := store.Lookup("p")
				if !held || l.Owner != "a" || l.Epoch != 1 || ctx.Err() != nil || term.Sure() != nil {
					t.Fatalf("after %v: %v, %v, %v, %v", time.Since(start), l, held, ctx.Err(), term.Sure())
				}
				if left := time.Until(l.Expires); left < ttl-ttl/3 {
					t.Fatalf("after %v: the lease has only %v left", time.Since(start), left)
				}
			}
			if term.Epoch() != 1 || term.Lease().Partition != "p" || !term.Lease().Expires.After(time.Now()) {
				t.Errorf("got %v", term.Lease())
			}
			return errBoom
		})
		if err != errBoom {
			t.Errorf("got %v", err)
		}
		if _, held := store.Lookup("p"); held {
			t.Error("not released")
		}
		if want := int64(time.Hour / (ttl / 3)); store.renewals.Load() != want {
			t.Errorf("%d renewals, want %d", store.renewals.Load(), want)
		}
	})
}

func TestHolderWaitsForAPartitionThatIsHeld(t *testing.T) {
	holderTest(t, "expires", func(t *testing.T, store *scripted, h *keyed.Holder) {
		acquire(t, store, "p", "b")
		start := time.Now()
		if err := h.Hold(t.Context(), "p", func(_ context.Context, term *keyed.Term) error {
			if term.Epoch() != 2 || time.Since(start) != ttl { // a multiple of the retries
				t.Errorf("epoch %d after %v", term.Epoch(), time.Since(start))
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
	holderTest(t, "its context ends", func(t *testing.T, store *scripted, h *keyed.Holder) {
		acquire(t, store, "p", "b")
		start := time.Now()
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errBoom)
		defer cancel()
		if err := h.Hold(ctx, "p", untilDone); err != errBoom || time.Since(start) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
	holderTest(t, "is closed", func(t *testing.T, store *scripted, h *keyed.Holder) {
		acquire(t, store, "p", "b")
		start := time.Now()
		done := make(chan error, 1)
		go func() { done <- h.Hold(t.Context(), "p", untilDone) }()
		synctest.Wait()
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-done; err != keyed.ErrHolderClosed || !time.Now().Equal(start) {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		if err := h.Hold(t.Context(), "p", untilDone); err != keyed.ErrHolderClosed {
			t.Errorf("got %v", err)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	holderTest(t, "the store fails", func(t *testing.T, store *scripted, h *keyed.Holder) {
		store.acquire = func(func() (keyed.Lease, error)) (keyed.Lease, error) { return keyed.Lease{}, errBoom }
		if err := h.Hold(t.Context(), "p", untilDone); !errors.Is(err, errBoom) || !strings.Contains(err.Error(), `"p"`) {
			t.Errorf("got %v", err)
		}
	})
}

func TestHolderStopsTheWorkWhenItCannotBeSureAnyLonger(t *testing.T) {
	for name, c := range map[string]struct {
		renew func(ctx context.Context, real func() (keyed.Lease, error)) (keyed.Lease, error)
		want  time.Duration // from the beginning
	}{
		"errors": {func(context.Context, func() (keyed.Lease, error)) (keyed.Lease, error) {
			return keyed.Lease{}, errBoom
		}, ttl - ttl/10},
		"no answer": {func(ctx context.Context, real func() (keyed.Lease, error)) (keyed.Lease, error) {
			<-ctx.Done()
			return keyed.Lease{}, ctx.Err()
		}, ttl - ttl/10},
		"granted, but no answer": {func(ctx context.Context, real func() (keyed.Lease, error)) (keyed.Lease, error) {
			real()
			<-ctx.Done()
			return keyed.Lease{}, ctx.Err()
		}, ttl - ttl/10},
		"answered too late": {func(ctx context.Context, real func() (keyed.Lease, error)) (keyed.Lease, error) {
			time.Sleep(ttl)
			return real()
		}, ttl - ttl/10},
		"granted, answered too late": {func(ctx context.Context, real func() (keyed.Lease, error)) (keyed.Lease, error) {
			l, err := real()
			time.Sleep(ttl)
			return l, err
		}, ttl - ttl/10},
		"refused": {func(context.Context, func() (keyed.Lease, error)) (keyed.Lease, error) {
			return keyed.Lease{}, keyed.ErrLeaseLost
		}, ttl / 3},
		"ended by Goexit": {func(context.Context, func() (keyed.Lease, error)) (keyed.Lease, error) {
			runtime.Goexit()
			return keyed.Lease{}, nil
		}, ttl / 3},
	} {
		holderTest(t, name, func(t *testing.T, store *scripted, h *keyed.Holder) {
			store.renew = c.renew
			start := time.Now()
			err := h.Hold(t.Context(), "p", func(ctx context.Context, term *keyed.Term) error {
				<-ctx.Done()
				if after := time.Since(start); after != c.want || !errors.Is(context.Cause(ctx), keyed.ErrLeaseLost) || !errors.Is(term.Sure(), keyed.ErrLeaseLost) {
					t.Errorf("stopped after %v, want %v: %v, %v", after, c.want, context.Cause(ctx), term.Sure())
				}
				return ctx.Err()
			})
			if !errors.Is(err, keyed.ErrLeaseLost) || errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestHolderIsSureFromTheSendOfARequestNotFromItsAnswer(t *testing.T) {
	holderTest(t, "renewed slowly", func(t *testing.T, store *scripted, h *keyed.Holder) {
		const slow = 5 * time.Second
		store.renew = func(_ context.Context, real func() (keyed.Lease, error)) (keyed.Lease, error) {
			if store.renewals.Load() > 1 {
				return keyed.Lease{}, errBoom
			}
			l, err := real()
			time.Sleep(slow)
			return l, err
		}
		start := time.Now()
		h.Hold(t.Context(), "p", untilDone)
		if after, want := time.Since(start), ttl/3+ttl-ttl/10; after != want {
			t.Errorf("sure for %v, want %v", after, want)
		}
	})
	holderTest(t, "acquired slowly", func(t *testing.T, store *scripted, h *keyed.Holder) {
		const slow = 4 * time.Second
		store.acquire = func(real func() (keyed.Lease, error)) (keyed.Lease, error) {
			l, err := real()
			time.Sleep(slow)
			return l, err
		}
		store.renew = func(context.Context, func() (keyed.Lease, error)) (keyed.Lease, error) {
			return keyed.Lease{}, errBoom
		}
		start := time.Now()
		h.Hold(t.Context(), "p", untilDone)
		if after, want := time.Since(start), ttl-ttl/10; after != want {
			t.Errorf("sure until %v, want %v", after, want)
		}
	})
	holderTest(t, "acquired too slowly", func(t *testing.T, store *scripted, h *keyed.Holder) {
		times := 0
		store.acquire = func(real func() (keyed.Lease, error)) (keyed.Lease, error) {
			l, err := real()
			if times++; times == 1 {
				time.Sleep(ttl - ttl/10)
			}
			return l, err
		}
		if err := h.Hold(t.Context(), "p", func(_ context.Context, term *keyed.Term) error {
			if term.Epoch() != 2 || term.Sure() != nil {
				t.Errorf("works in epoch %d: %v", term.Epoch(), term.Sure())
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
}

func TestHolderSurvivesErrorsOfTheStoreWhileThereIsTime(t *testing.T) {
	holderTest(t, "", func(t *testing.T, store *scripted, h *keyed.Holder) {
		store.renew = func(_ context.Context, real func() (keyed.Lease, error)) (keyed.Lease, error) {
			if store.renewals.Load()%3 != 0 { // two of three fail
				return keyed.Lease{}, errBoom
			}
			return real()
		}
		if err := h.Hold(t.Context(), "p", func(ctx context.Context, _ *keyed.Term) error {
			time.Sleep(time.Hour)
			return ctx.Err()
		}); err != nil {
			t.Error(err)
		}
	})
}

// Sure must not depend on a timer that may fire late.
func TestTermIsNotSureFromTheMomentOnAtWhichTheLeaseEnds(t *testing.T) {
	holderTest(t, "", func(t *testing.T, store *scripted, h *keyed.Holder) {
		store.renew = func(context.Context, func() (keyed.Lease, error)) (keyed.Lease, error) { return keyed.Lease{}, errBoom }
		h.Hold(t.Context(), "p", func(_ context.Context, term *keyed.Term) error {
			time.Sleep(ttl - ttl/10 - 1)
			if err := term.Sure(); err != nil {
				t.Errorf("a nanosecond before: %v", err)
			}
			time.Sleep(time.Nanosecond)
			if err := term.Sure(); !errors.Is(err, keyed.ErrLeaseLost) {
				t.Errorf("at the end: %v", err)
			}
			return nil
		})
	})
}

// The renewal is granted in time, but the answer comes when the work has been told
// to stop, and would make the holder sure for another while.
func TestTermThatIsLostStaysLost(t *testing.T) {
	holderTest(t, "", func(t *testing.T, store *scripted, h *keyed.Holder) {
		store.renew = func(_ context.Context, real func() (keyed.Lease, error)) (keyed.Lease, error) {
			l, err := real()
			time.Sleep(6 * time.Second) // asked at 3⅓ s, sure until 9 s
			return l, err
		}
		err := h.Hold(t.Context(), "p", func(ctx context.Context, term *keyed.Term) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			if err := term.Sure(); !errors.Is(err, keyed.ErrLeaseLost) {
				t.Errorf("got %v", err)
			}
			return nil
		})
		if !errors.Is(err, keyed.ErrLeaseLost) {
			t.Errorf("got %v", err)
		}
	})
}

func TestHolderErrorsOfHold(t *testing.T) {
	lose := func(context.Context, func() (keyed.Lease, error)) (keyed.Lease, error) {
		return keyed.Lease{}, keyed.ErrLeaseLost
	}
	holderTest(t, "lost, and an error of the work", func(t *testing.T, store *scripted, h *keyed.Holder) {
		store.renew = lose
		err := h.Hold(t.Context(), "p", func(ctx context.Context, _ *keyed.Term) error { <-ctx.Done(); return errBoom })
		if !errors.Is(err, keyed.ErrLeaseLost) || !errors.Is(err, errBoom) {
			t.Errorf("got %v", err)
		}
	})
	holderTest(t, "lost, and the work did not notice", func(t *testing.T, store *scripted, h *keyed.Holder) {
		store.renew = lose
		err := h.Hold(t.Context(), "p", func(context.Context, *keyed.Term) error { time.Sleep(ttl); return nil })
		if !errors.Is(err, keyed.ErrLeaseLost) {
			t.Errorf("got %v", err)
		}
	})
	holderTest(t, "context", func(t *testing.T, store *scripted, h *keyed.Holder) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errBoom)
		defer cancel()
		if err := h.Hold(ctx, "p", untilDone); err != errBoom {
			t.Errorf("got %v", err)
		}
		if _, held := store.Lookup("p"); held {
			t.Error("not released")
		}
	})
	holderTest(t, "context, and work that takes its time", func(t *testing.T, store *scripted, h *keyed.Holder) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := h.Hold(ctx, "p", func(context.Context, *keyed.Term) error {
			time.Sleep(time.Hour)
			if _, held := store.Lookup("p"); !held {
				t.Error("the lease was let go before the work had ended")
			}
			return nil
		}); err != nil {
			t.Errorf("got %v", err)
		}
	})
	holderTest(t, "context that had ended", func(t *testing.T, store *scripted, h *keyed.Holder) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errBoom)
		if err := h.Hold(ctx, "p", untilDone); err != errBoom {
			t.Errorf("got %v", err)
		}
		if l, _ := store.Lookup("p"); l.Epoch != 0 {
			t.Error("acquired")
		}
	})
	holderTest(t, "context that ends while it acquires", func(t *testing.T, store *scripted, h *keyed.Holder) {
		ctx, cancel := context.WithCancelCause(t.Context())
		store.acquire = func(real func() (keyed.Lease, error)) (keyed.Lease, error) {
			l, err := real()
			cancel(errBoom)
			return l, err
		}
		if err := h.Hold(ctx, "p", func(context.Context, *keyed.Term) error { t.Error("works"); return nil }); err != errBoom {
			t.Errorf("got %v", err)
		}
		if _, held := store.Lookup("p"); held {
			t.Error("not released")
		}
	})
	holderTest(t, "release", func(t *testing.T, store *scripted, h *keyed.Holder) {
		store.release = func(func() error) error { return errBoom }
		if err := h.Hold(t.Context(), "p", func(context.Context, *keyed.Term) error { return nil }); !errors.Is(err, errBoom) {
			t.Errorf("got %v", err)
		}
	})
}

func TestHolderPanicsArePassedOnAndTheLeaseIsReleased(t *testing.T) { // P9
	holderTest(t, "of the work", func(t *testing.T, store *scripted, h *keyed.Holder) {
		mustPanic(t, "boom", func() {
			h.Hold(t.Context(), "p", func(context.Context, *keyed.Term) error { panic(errBoom) })
		})
		if _, held := store.Lookup("p"); held {
			t.Error("not released")
		}
	})
	holderTest(t, "of the store", func(t *testing.T, store *scripted, h *keyed.Holder) {
		store.renew = func(context.Context, func() (keyed.Lease, error)) (keyed.Lease, error) { panic(errBoom) }
		mustPanic(t, "boom", func() { h.Hold(t.Context(), "p", untilDone) })
	})
	holderTest(t, "Goexit", func(t *testing.T, store *scripted, h *keyed.Holder) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.Hold(t.Context(), "p", func(context.Context, *keyed.Term) error { runtime.Goexit(); return nil })
		}()
		<-done
		if _, held := store.Lookup("p"); held {
			t.Error("not released")
		}
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestHolderBadArgumentsPanicWithPlaceAndValue(t *testing.T) { // P11
	store := keyed.NewMemoryLeases()
	mustPanic(t, "keyed.NewHolder: store is nil", func() { keyed.NewHolder(nil, "a", ttl) })
	mustPanic(t, "keyed.NewHolder: owner is empty", func() { keyed.NewHolder(store, "", ttl) })
	mustPanic(t, "keyed.NewHolder: ttl is 0s", func() { keyed.NewHolder(store, "a", 0) })
	mustPanic(t, "keyed.NewHolder: ttl is 2ns", func() { keyed.NewHolder(store, "a", 2) })
	mustPanic(t, "keyed.NewHolder: option 0 is nil", func() { keyed.NewHolder(store, "a", ttl, nil) })
	mustPanic(t, "keyed.RenewEvery: d is -1s", func() { keyed.RenewEvery(-time.Second) })
	mustPanic(t, "keyed.RetryEvery: d is 0s", func() { keyed.RetryEvery(0) })
	mustPanic(t, "keyed.SafetyMargin: d is 0s", func() { keyed.SafetyMargin(0) })
	mustPanic(t, "keyed.NewHolder: ttl is 10s, want more than RenewEvery (9s) + SafetyMargin (1s)", func() {
		keyed.NewHolder(store, "a", ttl, keyed.RenewEvery(9*time.Second))
	})
	mustPanic(t, "keyed.NewHolder: ttl is 10s", func() {
		keyed.NewHolder(store, "a", ttl, keyed.RenewEvery(1<<63-1), keyed.SafetyMargin(1<<63-1))
	})
	mustPanic(t, "keyed.Holder.Hold: work is nil", func() { keyed.NewHolder(store, "a", ttl).Hold(t.Context(), "p", nil) })
}
