//go:build !race

package programtest

// RaceDetector says that the tests run many times slower.
const RaceDetector = false
