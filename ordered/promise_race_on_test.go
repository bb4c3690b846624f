//go:build race

package ordered_test

// raced tells that the race detector makes everything some ten times slower.
const raced = true
