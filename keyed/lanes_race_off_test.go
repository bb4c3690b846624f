//go:build !race

package keyed_test

const raceScale = 1
