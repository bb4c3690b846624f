//go:build race || sluicedebug

package backpressure

// pauser is what tests put in where another goroutine coming in between would hurt most.
var pauser func()

func pause() {
	if pauser != nil {
		pauser()
	}
}
