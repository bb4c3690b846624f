package backpressure_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed95b73fdc/sluice/backpressure"
)

// A semaphore that has as many permits as the server can take.
func ExampleAdaptive() {
	sem := backpressure.NewPadded(4)
	limit := backpressure.NewAdaptive(backpressure.SetterFunc(sem.Resize),
		backpressure.AIMD{Within: 50 * time.Millisecond}, 1, 100, backpressure.StartAt(4))

	for range 4 { // a good round
		limit.Observe(20*time.Millisecond, nil)
	}
	fmt.Println(sem.Limit())
	for range 5 { // slow
		limit.Observe(90*time.Millisecond, nil)
	}
	fmt.Println(sem.Limit())
	for range 4 { // refused
		limit.Observe(time.Millisecond, errors.New("too many requests"))
	}
	fmt.Println(sem.Limit())
	// Output:
	// 5
	// 4
	// 3
}

// The calls of a function are watched wherever it is used.
func ExampleWatch() {
	limit := backpressure.NewAdaptive(backpressure.SetterFunc(func(n int) { fmt.Println("limit", n) }),
		&backpressure.Gradient{}, 4, 64)
	double := backpressure.Watch(limit, func(_ context.Context, v int) (int, error) { return 2 * v, nil })
	fmt.Println(double(context.Background(), 21))
	// Output:
	// limit 4
	// 42 <nil>
}

func ExampleAdaptive_Do() {
	limit := backpressure.NewAdaptive(backpressure.SetterFunc(func(int) {}), backpressure.AIMD{}, 1, 8)
	err := limit.Do(context.Background(), func(context.Context) error { return errors.New("no such page") })
	fmt.Println(err)
	// Output: no such page
}
