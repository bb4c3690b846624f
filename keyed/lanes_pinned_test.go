package keyed_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/keyed"
	"github.com/seed95b73fdc/sluice/stage"
)

// goroutine is the number of the one that calls, as a stack shows it.
func goroutine() string {
	var b [40]byte
	return strings.Fields(string(b[:runtime.Stack(b[:], false)]))[1]
}

// Pinned: all items of a key are processed by the same worker, also when others have
// nothing to do; without it an idle worker takes over.
func TestPinnedKeysStayWithTheirWorker(t *testing.T) {
	const n, keys, items = 4, 37, 4000
	for _, pinned := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var opts []stage.Option
			if pinned {
				opts = append(opts, keyed.Pinned())
			}
			var mu sync.Mutex
			workers, moved := map[int]string{}, 0
			all := map[string]bool{}
			out := keyed.Map(stage.FromSlice(numbers(items)), n, func(v int) int { return v * v % keys }, func(_ context.Context, v int) (int, error) {
				if v%7 == 0 {
					time.Sleep(time.Duration(v%3) * time.Millisecond)
				}
				mu.Lock()
				defer mu.Unlock()
				me := goroutine()
				if was, ok := workers[v*v%keys]; ok && was != me {
					moved++
				}
				workers[v*v%keys], all[me] = me, true
				return v, nil
			}, opts...)
			if err := stage.Discard(t.Context(), out); err != nil {
				t.Error(err)
			}
			if pinned && (moved > 0 || len(all) < 2) || !pinned && moved == 0 {
				t.Errorf("pinned=%t: %d workers, %d times one took over a key from another", pinned, len(all), moved)
			}
		})
	}
}
