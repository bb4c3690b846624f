package stage

import (
	"testing"
	"testing/synctest"
)

// A worker may be called at the very moment at which the consumer ceases to yield, when
// it has looked for the last time: then it looks once more. The moment is held up here by
// another worker, whom the consumer wakes and who does not let go.
func TestWorkerThatIsCalledWhileTheConsumerParksIsLaunched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &cells[int, int]{n: 2, round: spins}
		e.spins.Store(true)
		call := func() (woken <-chan struct{}) {
			w := &worker[int, int]{wait: &Waiter{ch: make(chan struct{})}}
			w.wait.Arm()
			e.mu.Lock()
			defer e.mu.Unlock()
			e.guard = false
			e.idle = append(e.idle, w)
			e.rouse()
			return w.wait.ch
		}
		first := call()
		goes := make(chan bool, 1)
		go func() { goes <- e.yield() }()
		synctest.Wait()
		second := call()
		<-first
		synctest.Wait()
		select {
		case <-second:
		default:
			t.Error("the worker has been left to a consumer that parks")
		}
		if <-goes {
			t.Error("the consumer yields for ever")
		}
	})
}
