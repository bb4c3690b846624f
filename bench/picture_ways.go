package main

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// overheadWays are compared in the first picture.
var overheadWays = []entry{
	{"stage.Map", sluiceWith(stage.Map[int, int]), anyOrder},
	byStrategy(ordered.Cells),
	byStrategy(ordered.PermissionPassing),
	byStrategy(ordered.ReplyTo),
	byStrategy(ordered.Cond),
	rillOrderedMap,
	concStream,
}

// skewWays are compared in the second picture. Rill and conc have no window: theirs
// is what it is, at each point.
func skewWays(window int) []entry {
	return []entry{
		{"stage.Map", sluiceWithOptions(stage.Map[int, int], stage.Window(window)), anyOrder},
		byStrategy(ordered.Cells, stage.Window(window)),
		byStrategy(ordered.PermissionPassing, stage.Window(window)),
		byStrategy(ordered.ReplyTo, stage.Window(window)),
		byStrategy(ordered.Cond, stage.Window(window)),
		rillOrderedMap,
		concStream,
	}
}

func byStrategy(s ordered.Strategy, opts ...stage.Option) entry {
	opts = append(opts, ordered.By(s))
	return entry{s.String(), sluiceWithOptions(ordered.Map[int, int], opts...), inOrder}
}

func sluiceWithOptions(transform sluiceTransform, opts ...stage.Option) way {
	return sluiceWith(func(in stage.Stream[int], n int, f func(context.Context, int) (int, error), _ ...stage.Option) stage.Stream[int] {
		return transform(in, n, f, opts...)
	})
}

// pictureCall is the f of a turn. It adds up how long its calls took, because a
// wait is longer than asked for, and by how much depends on how busy the machine is.
type pictureCall struct {
	f    func(context.Context, int) (int, error)
	took atomic.Int64
}

// waitCall waits for d.
func waitCall(d time.Duration) *pictureCall {
	if d == 0 {
		return &pictureCall{f: noop}
	}
	return timedCall(func(int) time.Duration { return d })
}

// skewCall waits for 200 µs, and one time in 50 a hundred times as long.
func skewCall() *pictureCall {
	const usual, slow, every = 200 * time.Microsecond, 20 * time.Millisecond, 50
	return timedCall(func(v int) time.Duration {
		if v%every == 0 {
			return slow
		}
		return usual
	})
}

func timedCall(takes func(v int) time.Duration) *pictureCall {
	c := &pictureCall{}
	c.f = func(_ context.Context, v int) (int, error) {
		c.took.Add(int64(wait(takes(v))))
		return v, nil
	}
	return c
}

// shortest is the shortest wait for which time.Sleep is used. On many machines it
// sleeps a millisecond also for less, so what is shorter is waited for by looking
// at the clock, and letting others run between two looks.
const shortest = time.Millisecond

func wait(d time.Duration) time.Duration {
	start := time.Now()
	if d >= shortest {
		time.Sleep(d)
		return time.Since(start)
	}
	for {
		if waited := time.Since(start); waited >= d {
			return waited
		}
		runtime.Gosched()
	}
}
