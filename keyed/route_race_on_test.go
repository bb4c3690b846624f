//go:build race

package keyed_test

import "testing"

const underRace = true

// oneGoroutine is called by tests that measure shares of many keys, in one goroutine.
func oneGoroutine(t *testing.T) {
	t.Helper()
	t.Skip("runs in one goroutine, and has nothing for the race detector to find")
}
