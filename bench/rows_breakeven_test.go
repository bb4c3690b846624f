package main

import (
	"math"
	"testing"
)

func TestBreakEvenIsTheLeastWorkFromWhichOnTheLoopLoses(t *testing.T) {
	// worth: 0, 20, 40, 60, 100, 200, 500, 1000, 2000 ns
	for _, c := range []struct {
		name       string
		advantages []float64
		want       float64
	}{
		{"from 60 ns on", []float64{0.1, 0.5, 0.9, 1.1, 1.2, 1.3, 1.5, 1.6, 1.7}, 60},
		{"a win that does not last does not count", []float64{0.1, 0.5, 1.1, 0.9, 1.2, 1.3, 1.5, 1.6, 1.7}, 100},
		{"never", []float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.2, 0.3, 0.6, 0.9}, math.Inf(1)},
		{"always", []float64{1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1}, 0},
		{"as fast as the loop is no win", []float64{1, 1, 1, 1, 1, 1, 1, 1, 1}, math.Inf(1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := breakEven(c.advantages); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
