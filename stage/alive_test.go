package stage_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"golang.org/x/time/rate"

	"github.com/seed95b73fdc/sluice/backpressure"
	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

type kept struct{ p *int }

// What f has returned from keeps nothing alive, also while f is in another item
// of the same chunk.
func TestValuesThatHaveBeenHandedOverAreNotKeptAliveP10(t *testing.T) {
	var seen []weak.Pointer[kept]
	look := func(b *kept) error {
		seen = append(seen, weak.Make(b))
		if len(seen)%97 == 0 {
			runtime.GC()
			alive := 0
			for _, p := range seen {
				if p.Value() != nil {
					alive++
				}
			}
			if alive > 2 { // this one, and perhaps one that a register still holds
				t.Errorf("%d of %d are alive", alive, len(seen))
			}
			runtime.KeepAlive(b)
		}
		return nil
	}
	pass := func(_ context.Context, b *kept) (*kept, error) { return b, nil }
	in := func(n int) stage.Stream[*kept] {
		src := stage.Generate(func(_ context.Context, yield func(*kept) bool) error {
			for k := range 2000 {
				if !yield(&kept{&k}) {
					break
				}
			}
			return nil
		})
		return ordered.Map(src, n, pass)
	}
	visit := func(_ context.Context, b *kept) error { return look(b) }
	for name, end := range map[string]func() error{
		"ForEach": func() error { return stage.ForEach(t.Context(), in(4), 1, visit) },
		"To":      func() error { return stage.Run(t.Context(), stage.To(in(4), 1, visit)) },
		"Inline":  func() error { return stage.ForEach(t.Context(), in(stage.Inline), stage.Inline, visit) },
		"Seq": func() error {
			for b := range in(4).Seq(t.Context()) {
				if err := look(b); err != nil {
					return err
				}
			}
			return nil
		},
		"Map inline": func() error {
			return stage.Discard(t.Context(), stage.Map(in(4), stage.Inline, func(_ context.Context, b *kept) (int, error) { return 0, look(b) }))
		},
		"Map of one": func() error {
			return stage.Discard(t.Context(), stage.Map(in(4), 1, func(_ context.Context, b *kept) (int, error) { return 0, look(b) }))
		},
	} {
		if seen = nil; end() != nil || len(seen) != 2000 {
			t.Errorf("%s: %d seen", name, len(seen))
		}
	}
}

// C50: nor does what has come through the buffers of the steps that hold items for a
// while, however they end.
func TestP10C50BuffersKeepNothingAliveThatHasLeft(t *testing.T) {
	type stream = stage.Stream[*big]
	buffer := func(o backpressure.Overflow) func(stream) []stream {
		return func(in stream) []stream { return []stream{stage.Buffer(in, 8, o)} }
	}
	id := func(_ context.Context, v *big) (*big, error) { return v, nil }
	for name, over := range map[string]func(stream) []stream{
		"Buffer Block":      buffer(backpressure.Block),
		"Buffer DropOldest": buffer(backpressure.DropOldest),
		"Buffer DropNewest": buffer(backpressure.DropNewest),
		"Buffer Latest":     buffer(backpressure.Latest),
		"Buffer Fail":       buffer(backpressure.Fail),
		"Debounce":          func(in stream) []stream { return []stream{stage.Debounce(in, time.Second)} },
		"Sample":            func(in stream) []stream { return []stream{stage.Sample(in, time.Second)} },
		"Throttle":          func(in stream) []stream { return []stream{stage.Throttle(in, rate.NewLimiter(1000, 1))} },
		"Tee":               func(in stream) []stream { return stage.Tee(in, 3, stage.Window(8)) },
		"Tee and Zip": func(in stream) []stream {
			both := stage.Tee(in, 2)
			pairs := stage.Zip(both[0], both[1])
			return []stream{stage.Map(pairs, stage.Inline, func(_ context.Context, p stage.Pair[*big, *big]) (*big, error) { return p.First, nil })}
		},
		"Split": func(in stream) []stream {
			turn := 0
			yes, no := stage.Split(in, func(*big) bool { turn++; return turn%2 == 0 })
			return []stream{yes, no}
		},
		"Balance":   func(in stream) []stream { return stage.Balance(in, 2, stage.Window(8)) },
		"Merge":     func(in stream) []stream { return []stream{stage.Merge(stage.Balance(in, 2)...)} },
		"Over Ring": func(in stream) []stream { return []stream{stage.Map(in, 2, id, stage.Over(backpressure.Ring))} },
		"Over Chan": func(in stream) []stream {
			return []stream{stage.Buffer(in, 8, backpressure.Block, stage.Over(backpressure.Chan))}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				feed := make(chan *big)
				ctx, cancel := context.WithCancel(t.Context())
				var ends []stage.Sink
				came := new(atomic.Int64)
				for _, s := range over(stage.FromChan(feed)) {
					ends = append(ends, stage.To(s, 1, func(context.Context, *big) error {
						came.Add(1)
						time.Sleep(time.Millisecond) // so that something is held for it
						return nil
					}))
				}
				over := make(chan error, 1)
				go func() { over <- stage.Run(ctx, ends...) }()
				var sent []weak.Pointer[big]
				for range 40 {
					v := new(big)
					sent = append(sent, weak.Make(v))
					feed <- v
					if len(sent)%5 == 0 {
						time.Sleep(20 * time.Millisecond)
					}
				}
				time.Sleep(time.Minute) // all that is to come has come
				runtime.GC()
				runtime.GC()
				kept := 0
				for _, w := range sent {
					if w.Value() != nil {
						kept++
					}
				}
				if kept > 0 || came.Load() == 0 {
					t.Errorf("%d of %d values are kept alive, %d came", kept, len(sent), came.Load())
				}
				cancel()
				<-over
			})
		})
	}
}
