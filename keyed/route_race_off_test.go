//go:build !race

package keyed_test

import "testing"

const underRace = false

// oneGoroutine is called by tests that measure shares of many keys, in one goroutine.
func oneGoroutine(*testing.T) {}
