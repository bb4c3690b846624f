//go:build race

package stage_test

// raced tells that the race detector makes everything some ten times slower.
const raced = true
