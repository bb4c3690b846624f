package stage

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// A worker may be called at the very moment at which the consumer ceases to yield:
// then it is launched by the one or by the other.
func TestWorkerThatIsCalledWhileTheConsumerParksIsLaunched(t *testing.T) {
	const rounds = 20_000
	e := &cells[int, int]{n: 2}
	w := &worker[int, int]{wait: new(Waiter)}
	var begun, called atomic.Int64
	go func() {
		for k := range int64(rounds) {
			for begun.Load() <= k {
				runtime.Gosched()
			}
			e.mu.Lock()
			e.rouse()
			e.mu.Unlock()
			called.Add(1)
		}
	}()
	for k := range int64(rounds) {
		e.guard, w.guard = false, false
		e.idle = append(e.idle[:0], w)
		e.round = spins
		e.spins.Store(true)
		begun.Add(1)
		for range k % 128 {
			called.Load() // so that all moments have their turn
		}
		if e.yield() {
			t.Fatal("the consumer yields for ever")
		}
		for called.Load() <= k {
			runtime.Gosched()
		}
		if e.call.Load() {
			t.Fatalf("round %d: the worker has been left to a consumer that parks", k)
		}
	}
}
