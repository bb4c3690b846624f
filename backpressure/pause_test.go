package backpressure_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/seed95b73fdc/sluice/backpressure"
)

// C63: whatever a waiter waits for comes exactly between two of its steps, for each two of
// them: it returns, without a second event. The bubble ends the test if it does not.
func TestWakeUpBetweenAnyTwoStepsIsNotLost(t *testing.T) {
	if !backpressure.Pausing {
		t.Skip("this build has no place to pause: that is for -race and -tags sluicedebug")
	}
	type event struct {
		name string
		do   func()
		want error
	}
	cause := errors.New("cause")
	// Each waiter is set up so that it has to wait, and released by each of its events.
	waiters := map[string]func(ctx context.Context, cancel func()) (wait func() error, events []event){}
	for name, of := range semaphores {
		waiters[name] = func(ctx context.Context, cancel func()) (func() error, []event) {
			sem := of(2)
			sem.TryAcquire(2)
			return func() error { return sem.Acquire(ctx, 2) }, []event{
				{"Release", func() { sem.Release(2) }, nil},
				{"two Releases", func() { sem.Release(1); sem.Release(1) }, nil},
				{"Resize up", func() { sem.Resize(4) }, nil},
				{"Resize down", func() { sem.Resize(1) }, backpressure.ErrTooMany},
				{"cancel", cancel, cause},
			}
		}
	}
	for _, transport := range []backpressure.Transport{backpressure.Ring, backpressure.Chan} {
		waiters[transport.String()+" Recv"] = func(ctx context.Context, cancel func()) (func() error, []event) {
			c := backpressure.NewConduit[int](transport, 1)
			return func() error { _, err := c.Recv(ctx, make([]int, 2)); return err }, []event{
				{"TrySend", func() { c.TrySend([]int{1}) }, nil},
				{"Send", func() { c.Send(context.Background(), []int{1}) }, nil},
				{"Close", c.Close, backpressure.ErrClosed},
				{"cancel", cancel, cause},
			}
		}
		waiters[transport.String()+" Send"] = func(ctx context.Context, cancel func()) (func() error, []event) {
			c := backpressure.NewConduit[int](transport, 1)
			c.TrySend([]int{1})
			return func() error { _, err := c.Send(ctx, []int{1}); return err }, []event{
				{"TryRecv", func() { c.TryRecv(make([]int, 1)) }, nil},
				{"Recv", func() { c.Recv(context.Background(), make([]int, 1)) }, nil},
				{"Close", c.Close, backpressure.ErrClosed},
				{"cancel", cancel, cause},
			}
		}
	}
	waiters["Account"] = func(ctx context.Context, cancel func()) (func() error, []event) {
		b := backpressure.NewBudget(2)
		h, _ := b.TryAcquire(2)
		a := b.Open()
		return func() error { _, err := a.Acquire(ctx, 2); return err }, []event{
			{"Release", func() { h.Release() }, nil},
			{"Resize up", func() { b.Resize(4) }, nil},
			{"Resize down", func() { b.Resize(1); h.Release() }, nil},
			{"Close", a.Close, backpressure.ErrClosed},
			{"cancel", cancel, cause},
		}
	}
	const most = 60 // more steps than a waiter has
	for name, set := range waiters {
		_, events := set(context.Background(), nil)
		places := 0
		for e := range events {
			for place := range most {
				hit := false
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancelCause(t.Context())
					defer cancel(nil)
					wait, events := set(ctx, func() { cancel(cause) })
					var step atomic.Int64
					var fired atomic.Bool
					backpressure.SetPause(func() {
						if fired.Load() || step.Add(1)-1 != int64(place) {
							return
						}
						fired.Store(true)
						go events[e].do()
						for range 20 {
							runtime.Gosched()
						}
					})
					done := make(chan error, 1)
					go func() { done <- wait() }()
					synctest.Wait()
					backpressure.SetPause(nil)
					if hit = fired.Load(); !hit { // it has fewer steps, and waits
						events[e].do()
					}
					synctest.Wait()
					select {
					case err := <-done:
						if !errors.Is(err, events[e].want) {
							t.Errorf("%s, %s in place %d: %v, want %v", name, events[e].name, place, err, events[e].want)
						}
					default:
						t.Errorf("%s, %s in place %d: it sleeps on", name, events[e].name, place)
						cancel(cause)
						<-done
					}
				})
				if !hit {
					break
				}
				places++
			}
		}
		if name != "NewChan" && name != "Chan Recv" && places < len(events) {
			t.Errorf("%s: %d places for %d events", name, places, len(events))
		}
		t.Logf("%s: %d events, in %d places in all", name, len(events), places)
	}
}
