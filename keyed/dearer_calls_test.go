package keyed_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/stage"
)

// Calls that take time, which is that of a bubble: what the promises say of cheap calls
// holds for dearer ones, that are handled otherwise.

// One key is stuck, and the calls of the others are so slow that items are taken one by
// one: a stage looks past what waits for the stuck key, to 64·n items, and no further.
func TestAHotKeyAmongSlowCallsFillsTheDefaultWindowAndNoMoreP4(t *testing.T) {
	hotKeyFillsTheWindow(t, time.Millisecond)
}

// Calls of a microsecond are worth a lane each, and cheap enough to be pulled many at a
// time. So a worker may block in upstream while lanes lie with another one, whose call
// blocks too.
func TestASlowSourceKeepsNoLaneOfDearerCallsFromRunningP3(t *testing.T) {
	const dear = 1000
	for _, r := range share.Rows(t, engines) {
		if !r.perKey {
			continue
		}
		for _, n := range []int{2, 3, 4, 8} {
			synctest.Test(t, func(t *testing.T) {
				in := make(chan int)
				burst := stage.Concat(stage.FromSlice(numbers(dear+n)), stage.FromChan(in))
				g := newGate()
				over := make(chan error)
				go func() {
					over <- stage.Discard(t.Context(), r.of(burst, n, identity, func(ctx context.Context, v int) (int, error) {
						if v < dear {
							time.Sleep(time.Microsecond)
							return v, nil
						}
						g.enter()
						return v, g.wait(ctx)
					}))
				}()
				time.Sleep(time.Hour)
				synctest.Wait()
				if got := g.running.Load(); int(got) != n {
					t.Errorf("%s n=%d: %d calls run while upstream has nothing, want %d", r.name, n, got, n)
				}
				close(g.open)
				close(in)
				if err := <-over; err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// The reader stands still: the default window is filled to the last item, although a
// worker waits for more room than one item if it can.
func TestTheDefaultWindowIsUsedUpP4(t *testing.T) {
	for _, r := range share.Rows(t, engines) {
		for _, n := range []int{1, 3, 8} {
			synctest.Test(t, func(t *testing.T) {
				var taken atomic.Int64
				out := r.of(counted(100*n, &taken), n, identity, func(_ context.Context, v int) (int, error) { return v, nil })
				let, over := make(chan struct{}), make(chan error)
				go func() {
					over <- stage.ForEach(t.Context(), out, 1, func(context.Context, int) error { <-let; return nil })
				}()
				synctest.Wait()
				if got, want := int(taken.Load()), 64*n+1; got != want {
					t.Errorf("%s n=%d: %d taken from upstream, with one taken by downstream, want %d", r.name, n, got, want)
				}
				close(let)
				if err := <-over; err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// The first n calls are in progress, so all is at rest with a window of n; then all but
// the first one return at once, as do those after them. Calls are cheap, it turns out, and
// the window is that of cheap calls, although the reader has taken nothing that would say
// so to whoever waits for room.
func TestTheWindowGrowsWhileTheReaderWaitsP4(t *testing.T) {
	for _, r := range share.Rows(t, engines) {
		if !r.ordered {
			continue
		}
		for _, n := range []int{2, 3, 8} {
			synctest.Test(t, func(t *testing.T) {
				var taken atomic.Int64
				some, first := make(chan struct{}), make(chan struct{})
				out := r.of(counted(100*n, &taken), n, identity, func(_ context.Context, v int) (int, error) {
					switch {
					case v == 0:
						<-first
					case v < n:
						<-some
					}
					return v, nil
				})
				over := make(chan error)
				go func() { over <- stage.Discard(t.Context(), out) }()
				synctest.Wait()
				close(some)
				synctest.Wait()
				if got, want := int(taken.Load()), 64*n; got != want {
					t.Errorf("%s n=%d: %d taken from upstream, want %d", r.name, n, got, want)
				}
				close(first)
				if err := <-over; err != nil {
					t.Error(err)
				}
			})
		}
	}
}
