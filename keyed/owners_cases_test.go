package keyed_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/keyed"
	"github.com/seed95b73fdc/sluice/stage"
)

// A caller that runs its function itself has one of the n permits. What has come
// meanwhile goes on when it gives that back, whether it returns, panics or ends its
// goroutine.
func TestOwnersGoOnWhenACallerGivesItsPermitBackP3(t *testing.T) {
	for name, end := range map[string]func(){
		"returns": func() {},
		"panics":  func() { panic("boom") },
	} {
		synctest.Test(t, func(t *testing.T) {
			o := newCounters(1)
			let, over := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(over)
				defer func() { recover() }()
				o.Do(background, 0, func(*int) error { <-let; end(); return nil })
			}()
			synctest.Wait()
			const keys = 20 // those of the caller's lane, and of others
			ran := 0
			for k := range keys {
				if err := o.Post(background, k, func(*int) error { ran++; return nil }); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			if ran != 0 {
				t.Errorf("%s: %d functions run beside the one permitted", name, ran)
			}
			close(let)
			<-over
			synctest.Wait()
			if ran != keys {
				t.Errorf("%s: %d of %d went on", name, ran, keys)
			}
			closeNow(t, o)
		})
	}
}

// C123: what stands behind the functions is gone half-way, callers leave, and then
// the Owners are closed: each call of a thousand is answered once, with what became of
// it, and Close returns.
func TestOwnersAnswerEachCallOnceWhenTheirStoreIsGoneC123(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls, half = 1000, 500
		errGone := errors.New("store is gone")
		gone := make(chan struct{}) // who writes after that waits for its time-out
		o := keyed.NewOwners[int, int](4, func() int { return 0 }, stage.Window(64))
		var written atomic.Int64
		write := func(s *int) error {
			select {
			case <-gone:
				time.Sleep(time.Minute)
				return errGone
			default:
			}
			if written.Add(1) == half {
				close(gone)
			}
			*s++
			return nil
		}
		answers := make([]atomic.Int64, calls)
		var ok, failed, left, refused atomic.Int64
		var wg sync.WaitGroup
		for i := range calls {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(background, time.Duration(i%7+1)*time.Hour)
				defer cancel()
				err := o.Do(ctx, i%16, write)
				answers[i].Add(1)
				switch {
				case err == nil:
					ok.Add(1)
				case errors.Is(err, errGone):
					failed.Add(1)
				case errors.Is(err, context.DeadlineExceeded):
					left.Add(1)
				case err == keyed.ErrClosed:
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		time.Sleep(90 * time.Minute)
		start := time.Now()
		if err := o.Close(background); err != nil { // failures of Do are the callers'
			t.Errorf("Close: %v", err)
		}
		wg.Wait()
		// 64 functions at most had been admitted, and 4 run at once.
		if took := time.Since(start); took > 64*time.Minute {
			t.Errorf("Close took %v", took)
		}
		for i := range answers {
			if n := answers[i].Load(); n != 1 {
				t.Errorf("call %d was answered %d times", i, n)
			}
		}
		// Four at most were past their look at gone when it was closed.
		if w := written.Load(); ok.Load() != w || w < half || w > half+3 || failed.Load() == 0 || left.Load() == 0 || refused.Load() == 0 {
			t.Errorf("%d written; ok %d, failed %d, left %d, refused %d", w, ok.Load(), failed.Load(), left.Load(), refused.Load())
		}
	})
}

// Do on a lane that is free allocates nothing, nor does Post once there have been as
// many functions at once before.
func TestOwnersCallsAllocateNothingWhenWarmP10(t *testing.T) {
	o := newCounters(1)
	f := add(1)
	if got := testing.AllocsPerRun(1000, func() { o.Do(background, 7, f) }); got != 0 {
		t.Errorf("Do: %v allocations a call", got)
	}
	ended, cancel := context.WithCancel(background)
	defer cancel()
	if got := testing.AllocsPerRun(1000, func() { o.Do(ended, 7, f) }); got > 4 {
		t.Errorf("Do with a context that can end: %v allocations a call", got)
	}
	const posts = 100
	post := func() {
		release := hold(t, o, 7)
		for range posts {
			o.Post(background, 7, f)
		}
		release()
		o.Do(background, 7, f) // behind all of them
	}
	post()
	got := testing.AllocsPerRun(20, post)
	if raceScale > 1 {
		t.Logf("the race detector has the pool forget some: Post allocates %v in %d calls", got, posts)
	} else if got > posts/4 { // hold, and workers that start, and pools that a collection empties
		t.Errorf("Post: %v allocations in %d calls", got, posts)
	}
	closeNow(t, o)
}
