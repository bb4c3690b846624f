package backpressure_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/seed95b73fdc/sluice/backpressure"
)

// One arm leads to at most one wake-up, and none is left for the next wait. C75.
func TestWaiterLeavesNoWakeUpBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := backpressure.NewWaiter()
		done, cancel := context.WithCancel(t.Context())
		cancel()

		w.Wake() // nobody has armed
		w.Arm()
		if w.Left() != 0 || w.Park(done) {
			t.Error("a wake-up from before arm counts")
		}
		w.Arm()
		w.Wake()
		w.Wake()
		if !w.Park(t.Context()) || w.Left() != 0 {
			t.Error("two wake-ups for one arm")
		}
		w.Arm()
		w.Wake()
		w.Disarm()
		if w.Left() != 0 {
			t.Error("disarm leaves a wake-up")
		}
		w.Arm()
		w.Disarm()
		w.Wake()
		if w.Left() != 0 {
			t.Error("a wake-up after disarm counts")
		}
		for range 100 { // both at once, so that park may choose either
			w.Arm()
			w.Wake()
			w.Park(done)
			if w.Left() != 0 {
				t.Fatal("a wake-up is left after a cancelled park")
			}
		}
		w.Arm()
		go w.Wake()
		if !w.Park(t.Context()) {
			t.Error("not woken")
		}
	})
}

// The context ends, and before park has said so a wake-up comes: it is not lost.
func TestWaiterWokenWhileItGivesUpIsWoken(t *testing.T) {
	if !backpressure.Pausing {
		t.Skip("calls cannot be paused in their middle: that is for -race and -tags sluicedebug")
	}
	w := backpressure.NewWaiter()
	done, cancel := context.WithCancel(t.Context())
	cancel()
	backpressure.SetPause(func() {
		backpressure.SetPause(nil)
		w.Wake()
	})
	defer backpressure.SetPause(nil)
	w.Arm()
	if !w.Park(done) || w.Left() != 0 {
		t.Error("the wake-up was lost, or left behind")
	}
}
