package keyed_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/keyed"
	"github.com/seed95b73fdc/sluice/stage"
)

// Items of one key come one a second, three at first, and each takes a second: so
// each but the first ones waits two seconds for its call.
func TestLoadTellsWaitingAndServiceTimesP13(t *testing.T) {
	for _, opt := range []stage.Option{stage.Name("stolen"), keyed.Pinned()} {
		synctest.Test(t, func(t *testing.T) {
			const items = 500
			load := keyed.NewLoad[int]()
			in := make(chan int)
			go func() {
				defer close(in)
				for v := range items {
					if v > 2 {
						time.Sleep(time.Second)
					}
					in <- v
				}
			}()
			out := keyed.Map(stage.FromChan(in), 2, func(int) int { return 7 }, func(_ context.Context, v int) (int, error) {
				time.Sleep(time.Second)
				return v, nil
			}, keyed.Measure(load), stage.Window(10), opt)
			if k, err := stage.Count(t.Context(), out); k != items || err != nil {
				t.Fatal(k, err)
			}
			var busy []keyed.LaneStats
			for _, l := range load.Stats().Lanes {
				if l.Done > 0 {
					busy = append(busy, l)
				}
			}
			if len(busy) != 1 {
				t.Fatalf("%d lanes have run something", len(busy))
			}
			if l := busy[0]; l.Done != items || l.Depth != 0 || l.Service != time.Second || l.Wait <= 1500*time.Millisecond || l.Wait > 2*time.Second || l.Rate != 1 || l.Share != 1 {
				t.Errorf("%+v", l)
			}
		})
	}
}
