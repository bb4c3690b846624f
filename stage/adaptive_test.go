package stage_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/backpressure"
	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// The parallelism of a stage follows a server that slows down beyond a load: the server
// does all it can, and there are few calls with it more than it needs for that; also when
// it has lost three quarters of itself, and when it has them back.
func TestParallelismFollowsAServerThatSlowsDownBeyondALoad(t *testing.T) {
	if raced {
		t.Skip("a simulation of tens of thousands of calls: it runs without the race detector")
	}
	const base, settle, count = 10 * time.Millisecond, 4 * time.Second, 2 * time.Second
	type op = func(stage.Stream[int], int, func(context.Context, int) (int, error), ...stage.Option) stage.Stream[int]
	for name, law := range map[string]func() backpressure.Law{
		"AIMD":     func() backpressure.Law { return backpressure.AIMD{Within: 2 * base} },
		"Gradient": func() backpressure.Law { return &backpressure.Gradient{} },
	} {
		for where, over := range map[string]op{"stage.Map": stage.Map[int, int], "ordered.Map": ordered.Map[int, int]} {
			t.Run(name+"/"+where, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var units, load, done atomic.Int64
					var n stage.Parallelism
					limit := backpressure.NewAdaptive(&n, law(), 1, 100)
					call := backpressure.Watch(limit, func(ctx context.Context, v int) (int, error) {
						now := max(load.Add(1), units.Load())
						defer load.Add(-1)
						select {
						case <-time.After(base * time.Duration(now) / time.Duration(units.Load())):
							done.Add(1)
							return v, nil
						case <-ctx.Done():
							return 0, context.Cause(ctx)
						}
					})
					units.Store(8)
					enough := errors.New("enough")
					ctx, cancel := context.WithCancelCause(t.Context())
					go func() {
						defer cancel(enough)
						for _, u := range []int64{8, 2, 8} {
							units.Store(u)
							time.Sleep(settle)
							before := done.Load()
							time.Sleep(count)
							rate, full := float64(done.Load()-before)/count.Seconds(), 100*float64(u)
							t.Logf("%d units: n = %d, %.0f of %.0f per second", u, n.N(), rate, full)
							if k := n.N(); k > 3*int(u) || rate < 0.85*full {
								t.Errorf("%d units: n = %d, %.0f of %.0f per second", u, k, rate, full)
							}
						}
					}()
					endless := stage.Generate(func(_ context.Context, yield func(int) bool) error {
						for v := 0; yield(v); v++ {
						}
						return nil
					})
					if err := stage.Discard(ctx, over(endless, 1, call, stage.Resizable(&n))); err != enough {
						t.Error(err)
					}
				})
			})
		}
	}
}
