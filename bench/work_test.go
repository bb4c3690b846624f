package main

import (
	"context"
	"testing"
	"time"
)

func TestWorkHandsItsItemOn(t *testing.T) {
	for _, steps := range []int{0, 1, 1000} {
		for _, v := range []int{0, 1, testItems} {
			if got, err := work(steps)(context.Background(), v); got != v || err != nil {
				t.Errorf("%d steps: got %d, %v; want %d", steps, got, err, v)
			}
		}
	}
}

func TestWorkIsCalibratedOncePerDuration(t *testing.T) {
	c := newCalibrator()
	first := c.spin(100 * time.Nanosecond)
	if again := c.spin(100 * time.Nanosecond); again != first {
		t.Errorf("got %+v, then %+v", first, again)
	}
	if c.spin(0).steps != 0 {
		t.Error("no work has steps")
	}
}
