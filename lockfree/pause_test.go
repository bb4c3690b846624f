package lockfree_test

import (
	"slices"
	"testing"

	"github.com/seed95b73fdc/sluice/lockfree"
)

// pausing skips tests that put one operation into the middle of another one, where the
// build has no place for that.
func pausing(t *testing.T) {
	t.Helper()
	if !lockfree.Pausing {
		t.Skip("calls cannot be paused in their middle: that is for -race and -tags sluicedebug")
	}
	t.Cleanup(func() { lockfree.SetPause(nil) })
}

// inPause has f called in the given pause of what comes next, counted from 0, and returns
// a function that reports whether it was.
func inPause(place int, f func()) (did func() bool) {
	step, done := 0, false
	lockfree.SetPause(func() {
		step++
		if step-1 == place {
			lockfree.SetPause(nil)
			done = true
			f()
		}
	})
	return func() bool {
		lockfree.SetPause(nil)
		return done
	}
}

// Close in every place of a push: either the values are in and counted, or neither, and
// then nothing is left of them in the slots.
func TestSPSCCloseInTheMiddleOfAPush(t *testing.T) {
	pausing(t)
	pushes := map[string]func(q *lockfree.SPSC[string]) int{
		"TryPush": func(q *lockfree.SPSC[string]) int {
			if q.TryPush("a") {
				return 1
			}
			return 0
		},
		"Push": func(q *lockfree.SPSC[string]) int { return q.Push([]string{"a", "b", "c"}) },
	}
	for name, push := range pushes {
		places := 0
		for ; ; places++ {
			q := lockfree.NewSPSC[string](4)
			q.Push([]string{"x", "y", "z"}) // so that three more wrap
			q.Pop(make([]string, 3))
			did := inPause(places, q.Close)
			n := push(q)
			if !did() {
				break
			}
			got := make([]string, 4)
			if m := q.Pop(got); m != n {
				t.Errorf("%s, place %d: %d counted, %d came out", name, places, n, m)
			}
			if !slices.Equal(q.Slots(), make([]string, 4)) {
				t.Errorf("%s, place %d: the slots hold %q", name, places, q.Slots())
			}
		}
		if places == 0 {
			t.Errorf("%s has no place to pause", name)
		}
	}
}

// Whatever a thief has seen when the deque grows, it gets nothing, or the right thing: and
// what it gets is not kept by either ring. C54.
func TestDequeThiefThatIsOvertakenByTheOwner(t *testing.T) {
	pausing(t)
	events := map[string]func(d *lockfree.Deque[string]){
		"grow":          func(d *lockfree.Deque[string]) { d.Push("c"); d.Push("d") },
		"pop one":       func(d *lockfree.Deque[string]) { d.Pop() },
		"pop all":       func(d *lockfree.Deque[string]) { d.Pop(); d.Pop() },
		"steal":         func(d *lockfree.Deque[string]) { d.Steal() },
		"pop and grow":  func(d *lockfree.Deque[string]) { d.Pop(); d.Push("b"); d.Push("c"); d.Push("d") },
		"pop, push":     func(d *lockfree.Deque[string]) { d.Pop(); d.Pop(); d.Push("c"); d.Push("d") },
		"nothing":       func(*lockfree.Deque[string]) {},
		"grow, pop all": func(d *lockfree.Deque[string]) { d.Push("c"); d.Pop(); d.Pop(); d.Pop() },
	}
	retried := 0
	for name, event := range events {
		places := 0
		for ; ; places++ {
			d := lockfree.NewDeque[string](2)
			d.Push("a")
			d.Push("b")
			did := inPause(places, func() { event(d) })
			v, o := d.Steal()
			if !did() {
				break
			}
			switch o {
			case lockfree.Success:
				if v != "a" && v != "b" {
					t.Errorf("%s in place %d: Steal = %q", name, places, v)
				}
			case lockfree.Retry:
				retried++
			}
			left := d.Len()
			for range left { // in use, and given back, so there is room for all of it again
				d.Steal()
			}
			before := d.Cap()
			for range before {
				d.Push("x")
			}
			if d.Cap() != before {
				t.Errorf("%s in place %d: a slot of the empty deque is lost", name, places)
			}
		}
		if places == 0 {
			t.Error("Steal has no place to pause")
		}
	}
	if retried == 0 {
		t.Error("no thief was ever too late")
	}
}
