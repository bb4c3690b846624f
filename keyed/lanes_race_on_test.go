//go:build race

package keyed_test

// raceScale divides what a test does under the race detector, which makes
// everything some ten times slower.
const raceScale = 10
