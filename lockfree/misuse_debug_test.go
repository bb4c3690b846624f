//go:build sluicedebug

package lockfree_test

import (
	"testing"

	"github.com/seed95b73fdc/sluice/lockfree"
)

// A call that begins while another one of the same side is in its middle panics.
func TestMisuseOverlappingCallsPanic(t *testing.T) {
	d := lockfree.NewDeque[int](4)
	for name, c := range map[string]struct {
		want string
		call func(q *lockfree.SPSC[int])
	}{
		"Deque.Push": {"lockfree.Deque: two owners at once", func(*lockfree.SPSC[int]) { d.Push(1) }},
		"Deque.Pop":  {"lockfree.Deque: two owners at once", func(*lockfree.SPSC[int]) { d.Push(1); d.Pop() }},
		"TryPush":    {"lockfree.SPSC: two producers at once", func(q *lockfree.SPSC[int]) { q.TryPush(1) }},
		"Push":       {"lockfree.SPSC: two producers at once", func(q *lockfree.SPSC[int]) { q.Push([]int{1}) }},
		"TryPop":     {"lockfree.SPSC: two consumers at once", func(q *lockfree.SPSC[int]) { q.TryPop() }},
		"Pop":        {"lockfree.SPSC: two consumers at once", func(q *lockfree.SPSC[int]) { q.Pop(make([]int, 1)) }},
	} {
		t.Run(name, func(t *testing.T) {
			q := lockfree.NewSPSC[int](4)
			q.Push([]int{1, 2})
			in, out, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
			first := true
			lockfree.SetPause(func() {
				if first {
					first = false
					close(in)
					<-out
				}
			})
			defer lockfree.SetPause(nil)
			go func() {
				defer close(done)
				c.call(q)
			}()
			<-in
			wantPanic(t, c.want, func() { c.call(q) })
			close(out)
			<-done
			c.call(q) // and afterwards it is as good as before
		})
	}
}
