//go:build race || sluicedebug

package backpressure

// Pausing reports whether SetPause does something in this build.
const Pausing = true

// SetPause has f called in the middle of operations. No other goroutine may be at work.
func SetPause(f func()) { pauser = f }
