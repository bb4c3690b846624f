//go:build race

package main

// raceDetector says that the tests run many times slower.
const raceDetector = true
