package batch

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A slice that is too long for one word's halves is swept in segments, and what
// holds for one holds across them.
func TestASweepGoesOnFromSegmentToSegment(t *testing.T) {
	for _, count := range []int{0, 1, 6, 7, 8, 100} {
		for _, workers := range []int{1, 2, 5, 9} {
			for bad := -1; bad < count; bad += 1 + count/10 {
				s := newCrew(context.Background(), "test", count, workers)
				s.segment = 7
				calls := make([]atomic.Int32, count)
				err := s.run(count, func(w *worker) {
					w.each(func(i int) error {
						calls[i].Add(1)
						if bad >= 0 && i >= bad {
							return fmt.Errorf("item %d", i)
						}
						return nil
					})
				})
				if bad >= 0 && (err == nil || err.Error() != fmt.Sprintf("item %d", bad)) || bad < 0 && err != nil {
					t.Errorf("count = %d, workers = %d, bad = %d: %v", count, workers, bad, err)
				}
				for i := range calls {
					c := calls[i].Load()
					if (bad < 0 || i <= bad) && c != 1 || c > 1 || bad >= 0 && i >= bad-bad%7+7 && c != 0 {
						t.Errorf("count = %d, workers = %d, bad = %d: %d calls for item %d", count, workers, bad, c, i)
					}
				}
			}
		}
	}
}

// That nothing is left of one segment says nothing about the next: there, too, what a
// call holds up is taken over.
func TestAStragglersItemsAreTakenOverInEverySegmentP3(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const segments, size = 3, 4 // of two items for each worker
		s := newCrew(context.Background(), "test", segments*size, 2)
		s.segment = size
		var done [segments]atomic.Int32
		others := [segments]chan struct{}{}
		for i := range others {
			others[i] = make(chan struct{})
		}
		err := s.run(segments*size, func(w *worker) {
			w.each(func(i int) error {
				if i%size == 0 {
					<-others[i/size] // or the bubble is deadlocked
				} else if done[i/size].Add(1) == size-1 {
					close(others[i/size])
				}
				return nil
			})
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// A worker whose context was cancelled for an error takes over items before that
// error, and their calls must not be cancelled.
func TestAWorkerThatTakesOverEarlierItemsHasNoCancelledContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Item 10 fails while the third worker is in its call for item 20, which is
		// cancelled: it goes on with what the first one has not begun.
		s := newCrew(context.Background(), "test", 30, 3)
		var cancelled, takenOver atomic.Int32
		err := s.run(30, func(w *worker) {
			w.each(func(i int) error {
				timer := time.NewTimer(time.Second)
				if i == 10 {
					timer.Reset(time.Millisecond)
				}
				select {
				case <-timer.C:
				case <-w.ctx.Done():
					if i < 10 {
						cancelled.Add(1)
					}
					return w.ctx.Err()
				}
				if i == 10 {
					return fmt.Errorf("item %d", i)
				}
				if i < 10 && i > 3 {
					takenOver.Add(1)
				}
				return nil
			})
		})
		if err == nil || err.Error() != "item 10" || cancelled.Load() != 0 || takenOver.Load() != 6 {
			t.Errorf("%v, %d earlier calls cancelled, %d done", err, cancelled.Load(), takenOver.Load())
		}
	})
}

func TestPartsAreConsecutiveAtAnySize(t *testing.T) {
	for _, c := range []struct{ n, k int }{{10, 3}, {7, 7}, {1<<31 - 1, 1000}} {
		next := 0
		for i := range c.k {
			from, to := part(c.n, c.k, i)
			if from != next || to < from {
				t.Fatalf("%v: part %d is %d to %d", c, i, from, to)
			}
			next = to
		}
		if next != c.n {
			t.Errorf("%v: ends at %d", c, next)
		}
	}
}
