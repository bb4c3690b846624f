package stage_test

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed95b73fdc/sluice/backpressure"
	"github.com/seed95b73fdc/sluice/stage"
)

// A display that shows the newest price, however many have come meanwhile.
func ExampleBuffer() {
	prices := stage.FromSlice([]int{100, 101, 99, 105})
	err := stage.ForEach(context.Background(), stage.Buffer(prices, 10, backpressure.Block), 1, func(_ context.Context, p int) error {
		fmt.Println(p)
		return nil
	})
	fmt.Println(err)
	// Output:
	// 100
	// 101
	// 99
	// 105
	// <nil>
}

func ExampleOnDrop() {
	lost := 0
	burst := stage.FromSlice(make([]string, 1000))
	in := stage.Buffer(burst, 16, backpressure.DropOldest, stage.OnDrop(func(string) { lost++ }))
	got, err := stage.Count(context.Background(), in)
	fmt.Println(got+lost, err) // each has come, or has been told
	// Output: 1000 <nil>
}

func ExampleConflate() {
	add := func(old, new int) int { return old + new }
	deltas := stage.FromSlice([]int{1, 2, 3, 4, 5, 6})
	in := stage.Buffer(deltas, 1, backpressure.Latest, stage.Conflate(add))
	sum, _, err := stage.Reduce(context.Background(), in, 1, func(_ context.Context, a, b int) (int, error) { return a + b, nil })
	fmt.Println(sum, err) // in how many steps is up to the reader
	// Output: 21 <nil>
}

func ExampleOver() {
	in := stage.Buffer(stage.Of(1, 2, 3), 8, backpressure.Block, stage.Over(backpressure.Chan))
	fmt.Println(stage.Collect(context.Background(), in))
	// Output: [1 2 3] <nil>
}

func ExampleThrottle() {
	perSecond := rate.NewLimiter(1000, 1)
	start := time.Now()
	k, err := stage.Count(context.Background(), stage.Throttle(stage.FromSlice(make([]int, 11)), perSecond))
	fmt.Println(k, err, time.Since(start) >= 10*time.Millisecond)
	// Output: 11 <nil> true
}

func ExampleDebounce() {
	// What somebody types: a search is to begin when they pause, or are done.
	typed := stage.Of("s", "sl", "slu", "sluice")
	got, err := stage.Collect(context.Background(), stage.Debounce(typed, time.Minute))
	fmt.Println(got, err)
	// Output: [sluice] <nil>
}

func ExampleSample() {
	// A progress bar is drawn anew ten times a second, and once at the end.
	done := stage.FromSlice([]int{1, 2, 3, 4, 5})
	got, err := stage.Collect(context.Background(), stage.Sample(done, 100*time.Millisecond))
	fmt.Println(got[len(got)-1], err)
	// Output: 5 <nil>
}

func ExampleResizable() {
	n := stage.NewParallelism(2)
	err := stage.ForEach(context.Background(), stage.FromSlice(make([]int, 100)), 1, func(context.Context, int) error {
		n.Set(8) // from here on up to 8 calls at once
		return nil
	}, stage.Resizable(n))
	fmt.Println(n.N(), err)
	// Output: 8 <nil>
}

// A stage that lets the latency of a server decide how many calls there are at once.
func ExampleResizable_adaptive() {
	var n stage.Parallelism
	limit := backpressure.NewAdaptive(&n, backpressure.AIMD{Within: time.Second}, 2, 8)
	get := backpressure.Watch(limit, func(_ context.Context, id int) (string, error) {
		return fmt.Sprint("page ", id), nil // it asks the server
	})
	pages, err := stage.Collect(context.Background(), stage.Map(stage.Of(1), 1, get, stage.Resizable(&n)))
	fmt.Println(pages, err, n.N())
	// Output: [page 1] <nil> 2
}
