package backpressure

import "context"

// Waiter is the waiter of this package, for its tests.
type Waiter struct{ w *waiter }

func NewWaiter() Waiter { return Waiter{newWaiter()} }

func (w Waiter) Arm()                          { w.w.arm() }
func (w Waiter) Disarm()                       { w.w.disarm() }
func (w Waiter) Wake()                         { w.w.wake() }
func (w Waiter) Park(ctx context.Context) bool { return w.w.park(ctx) }

// Left is how many wake-ups lie about.
func (w Waiter) Left() int { return len(w.w.ch) }
