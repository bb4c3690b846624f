package stage_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/destel/rill"
	"github.com/seed95b73fdc/sluice/stage"
)

// Four uploads run at once. The first error cancels the others and is returned as
// it is.
func ExampleForEach() {
	var sent atomic.Int64
	upload := func(_ context.Context, size int) error {
		sent.Add(int64(size))
		return nil
	}
	err := stage.ForEach(context.Background(), stage.Of(10, 20, 30), 4, upload)
	fmt.Println(sent.Load(), err)
	// Output: 60 <nil>
}

// With n = 1 the function is called in order, in the goroutine of the caller, and
// needs no lock.
func ExampleForEach_inOrder() {
	seen := map[string]bool{}
	err := stage.ForEach(context.Background(), stage.Of("a", "b", "a", "c"), 1, func(_ context.Context, id string) error {
		if seen[id] {
			return fmt.Errorf("%q comes twice", id)
		}
		seen[id] = true
		return nil
	})
	fmt.Println(len(seen), err)
	// Output: 2 "a" comes twice
}

// A context that ends is the run's end, and its cause is what is returned.
func ExampleForEach_cancel() {
	maintenance := errors.New("down for maintenance")
	ctx, cancel := context.WithCancelCause(context.Background())
	jobs := stage.Generate(func(_ context.Context, yield func(int) bool) error {
		for job := 1; yield(job); job++ {
		}
		return nil
	})
	err := stage.ForEach(ctx, jobs, 1, func(_ context.Context, job int) error {
		fmt.Println("job", job)
		if job == 2 {
			cancel(maintenance)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// job 1
	// job 2
	// down for maintenance
}

func ExampleDiscard() {
	written := 0
	writes := stage.Tap(stage.Of("a", "b"), func(string) { written++ })
	fmt.Println(stage.Discard(context.Background(), writes), written)
	// Output: <nil> 2
}

func ExampleCollect() {
	fmt.Println(stage.Collect(context.Background(), stage.Of(1, 2)))
	fmt.Println(stage.Collect(context.Background(), stage.Concat(stage.Of(1, 2), stage.Failed[int](errors.New("torn")))))
	// Output:
	// [1 2] <nil>
	// [] torn
}

func ExampleCount() {
	visits := stage.Of("/", "/login", "/", "/about")
	home := stage.Filter(visits, stage.Inline, func(_ context.Context, path string) (bool, error) { return path == "/", nil })
	fmt.Println(stage.Count(context.Background(), home))
	// Output: 2 <nil>
}

// The mirror that answers first is used, and the questions to the others are
// cancelled.
func ExampleFirst() {
	ask := func(ctx context.Context, mirror string) (string, error) {
		if mirror != "near" {
			<-ctx.Done() // far away
			return "", ctx.Err()
		}
		return mirror + " answered", nil
	}
	answers := stage.Map(stage.Of("far", "near", "farther"), 3, ask)
	fmt.Println(stage.First(context.Background(), answers))
	// Output: near answered true <nil>
}

func ExampleAny() {
	broken := func(_ context.Context, sector int) (bool, error) { return sector == 711, nil }
	sectors := stage.Generate(func(_ context.Context, yield func(int) bool) error {
		for s := 0; yield(s); s++ { // without end: Any stops it
		}
		return nil
	})
	fmt.Println(stage.Any(context.Background(), sectors, 4, broken))
	// Output: true <nil>
}

func ExampleAll() {
	ready := func(_ context.Context, host string) (bool, error) { return host != "db3", nil }
	fmt.Println(stage.All(context.Background(), stage.Of("db1", "db2"), 2, ready))
	fmt.Println(stage.All(context.Background(), stage.Of("db1", "db3"), 2, ready))
	// Output:
	// true <nil>
	// false <nil>
}

// The largest of many, compared two at a time wherever two are there.
func ExampleReduce() {
	largest, ok, err := stage.Reduce(context.Background(), stage.Of(3, 9, 4), 2,
		func(_ context.Context, a, b int) (int, error) { return max(a, b), nil })
	fmt.Println(largest, ok, err)
	// Output: 9 true <nil>
}

// A loop reads a stream as if it were a slice. However the loop is left,
// everything that it had set going has ended.
func ExampleStream_Seq() {
	temperatures := stage.Generate(func(_ context.Context, yield func(int) bool) error {
		defer fmt.Println("sensor released")
		for t := 18; yield(t); t++ {
		}
		return nil
	})
	for t, err := range temperatures.Seq(context.Background()) {
		if err != nil {
			fmt.Println(err)
		}
		if t > 20 {
			fmt.Println("too warm:", t)
			break
		}
	}
	fmt.Println("loop left")
	// Output:
	// too warm: 21
	// sensor released
	// loop left
}

// ToChan feeds code that reads a channel.
func ExampleToChan() {
	out := make(chan string)
	failed := make(chan error, 1)
	go func() { failed <- stage.ToChan(context.Background(), stage.Of("a", "b"), out) }()
	for s := range out {
		fmt.Println(s)
	}
	fmt.Println(<-failed)
	// Output:
	// a
	// b
	// <nil>
}

// A stream feeds functions of rill.
func ExampleToRill() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel() // ends the run, should rill stop early
	batches := rill.Batch(stage.ToRill(ctx, stage.Of(1, 2, 3, 4, 5)), 2, -1)
	err := rill.ForEach(batches, 1, func(batch []int) error {
		fmt.Println(batch)
		return nil
	})
	fmt.Println(err)
	// Output:
	// [1 2]
	// [3 4]
	// [5]
	// <nil>
}
