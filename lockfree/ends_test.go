package lockfree_test

import (
	"testing"

	"github.com/seed95b73fdc/sluice/lockfree"
)

// An end that has seen few lets the other one get ahead before it looks again, for longer
// while that shows more, and not at all where it shows nothing new: so two that take
// turns do not wait for nothing.
func TestSPSCLingersOnlyWhereThatShowsMore(t *testing.T) {
	const first, most = 64, 1024
	// consumer has k values put in, takes out all, and tells how long it would linger.
	consumer := func(q *lockfree.SPSC[int], k int) int {
		for range k {
			q.TryPush(0)
		}
		for range k {
			q.TryPop()
		}
		if k == 0 {
			q.TryPop()
		}
		_, n := q.Lingers()
		return n
	}
	// producer has k slots cleared in a full ring, fills all, and tells likewise.
	producer := func(q *lockfree.SPSC[int], k int) int {
		for range k {
			q.TryPop()
		}
		for range k {
			q.TryPush(0)
		}
		if k == 0 {
			q.TryPush(0)
		}
		n, _ := q.Lingers()
		return n
	}
	type look struct{ shows, want int }
	for name, c := range map[string]struct {
		capacity int
		looks    []look
	}{
		"a stream that gets going": {1024, []look{{1, first}, {2, 2 * first}, {8, 4 * first}, {32, 8 * first}, {40, most}, {50, most}, {64, most}, {500, most}}},
		"two that take turns":      {1024, []look{{1, first}, {1, 0}, {1, first}, {1, 0}}},
		"nothing there":            {1024, []look{{3, first}, {3, 2 * first}, {0, 0}, {0, 0}, {3, first}}},
		"always many":              {1024, []look{{64, 0}, {100, 0}, {1024, 0}}},
		"half of a small ring":     {8, []look{{4, 0}, {3, 4 * 8}, {3, 4 * 8}, {4, 4 * 8}}},
		"two slots":                {2, []look{{1, 0}, {2, 0}, {1, 0}}},
		"one slot":                 {1, []look{{1, 0}, {1, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			in, out := lockfree.NewSPSC[int](c.capacity), lockfree.NewSPSC[int](c.capacity)
			for in.TryPush(0) {
			}
			for i, l := range c.looks {
				if got := consumer(out, l.shows); got != l.want {
					t.Errorf("look %d shows %d values: the consumer would linger for %d steps, want %d", i, l.shows, got, l.want)
				}
				if got := producer(in, l.shows); got != l.want {
					t.Errorf("look %d shows room for %d: the producer would linger for %d steps, want %d", i, l.shows, got, l.want)
				}
			}
		})
	}
}

// What the producer writes shares no line with what the consumer writes, nor either with
// what both only read, nor any of it with what lies before or behind the ring.
func TestSPSCEndsShareNoLine(t *testing.T) {
	producer, consumer, neither, size := lockfree.NewSPSC[int](8).Lines()
	at := uintptr(0)
	for _, part := range [][2]uintptr{producer, consumer, neither, {size, size}} {
		if part[0] < at+lockfree.CacheLine {
			t.Errorf("what begins at %d is closer than a line to what ends at %d", part[0], at)
		}
		at = part[1]
	}
}
