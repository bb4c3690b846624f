package keyed

import (
	"context"
	"testing"
)

// A caller takes its function back at the very moment at which a worker has taken it
// out of the queue: it is told that the function never runs, and so it is.
func TestOwnersDoNotBeginWhatWasTakenBackOnItsWay(t *testing.T) {
	ctx := context.Background()
	o := NewOwners[int, int](1, func() int { return 0 })
	for _, takenBack := range []bool{true, false} {
		if err := o.admit(ctx); err != nil {
			t.Fatal(err)
		}
		l := o.lane(1)
		f := newTask(1, func(*int) error { t.Error("ran"); return nil })
		l.mu.Lock()
		l.push(&f.seat) // which makes the lane busy: it is ours, as if we were its worker
		l.mu.Unlock()
		s := l.pop()
		if takenBack {
			if !o.withdraw(f) || s.task.begin() {
				t.Error("was taken back, and begins")
			}
		} else {
			if !s.task.begin() || o.withdraw(f) {
				t.Error("has begun, and is taken back")
			}
			o.settle(f)
		}
		o.release(l)
	}
	if s := o.Stats(); s.Admitted != 0 || s.Withdrawn != 1 {
		t.Errorf("%+v", s)
	}
	if err := o.Do(ctx, 1, func(*int) error { return nil }); err != nil {
		t.Error(err)
	}
	if err := o.Close(ctx); err != nil {
		t.Error(err)
	}
}
