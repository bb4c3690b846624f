package stage_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// everything is a run with goroutines of every kind in it.
func everything(y *yielder) stage.Stream[int] {
	yes, no := stage.Split(stage.Map(y.stream(), 2, id), even)
	flat := stage.FlatMap(yes, 2, func(_ context.Context, v int) stage.Stream[int] { return stage.Map(stage.Of(v), 1, id) })
	return ordered.Map(stage.Until(stage.Merge(flat, no), make(chan struct{})), 2, id)
}

func TestChannelIsClosedOnceAfterTheLastSendHoweverTheRunEndsC24(t *testing.T) {
	for i := range share.Times(1000) {
		ctx, cancel := context.WithCancel(t.Context())
		out := make(chan int, i%3)
		ended := make(chan error)
		go func() { ended <- stage.ToChan(ctx, ordered.Map(items(numbers(50)...), 2, id), out) }()
		seen := 0
		for v := range out { // a second close, or a send after it, would panic
			if v != seen {
				t.Fatalf("%d comes after %d", v, seen-1)
			}
			if seen++; seen == i%60 {
				cancel()
			}
		}
		err := <-ended
		if err == nil && seen != 50 || err != nil && err != context.Canceled {
			t.Fatal(seen, err)
		}
		cancel()
	}
}

func TestManyCancelsAtOnceEndTheRunOnceAndLeaveNothingC48(t *testing.T) {
	for range rounds(100) {
		var y yielder
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		begin := make(chan struct{})
		var stops sync.WaitGroup
		for range 8 {
			stops.Go(func() { <-begin; cancel(errB) })
		}
		var once sync.Once
		err := stage.ForEach(ctx, everything(&y), 2, func(_ context.Context, v int) error {
			if v == 50 {
				once.Do(func() { close(begin) })
			}
			return nil
		})
		stops.Wait()
		if err != errB || y.begun.Load() != y.closed.Load() {
			t.Fatal(err, y.begun.Load(), y.closed.Load())
		}
		wantNoneOfTheRun(t)
	}
}

// wantNoneOfTheRun fails if a goroutine is in the package's code. One that has
// said that it ends needs a moment to be gone, and a processor.
func wantNoneOfTheRun(t *testing.T) {
	t.Helper()
	const moment = 10 * time.Second
	buf := make([]byte, 1<<20)
	for start := time.Now(); ; {
		stacks := string(buf[:runtime.Stack(buf, true)])
		if !strings.Contains(stacks, "sluice/stage.") {
			return
		}
		if time.Since(start) > moment {
			t.Fatalf("left behind:\n%s", stacks)
		}
		runtime.Gosched()
	}
}
