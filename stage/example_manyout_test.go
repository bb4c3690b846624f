package stage_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed95b73fdc/sluice/stage"
)

// Good readings are added up and bad ones collected, in one run of the source.
func ExampleSplit() {
	readings := stage.Of(21, -999, 19, 20, -999)
	good, bad := stage.Split(readings, func(v int) bool { return v > -100 })
	sum, outages := 0, 0
	err := stage.Run(context.Background(),
		stage.To(good, 1, func(_ context.Context, v int) error { sum += v; return nil }),
		stage.To(bad, 1, func(context.Context, int) error { outages++; return nil }),
	)
	fmt.Println(sum, outages, err)
	// Output: 60 2 <nil>
}

// Each customer belongs to one of three shards, and each shard has a writer of
// its own.
func ExamplePartition() {
	customers := stage.Of("ana", "bob", "cleo", "dora", "abe")
	shards := stage.Partition(customers, 3, func(name string) int { return int(name[0]-'a') % 3 })
	stored := make([][]string, len(shards))
	var writers []stage.Sink
	for i, shard := range shards {
		writers = append(writers, stage.To(shard, 1, func(_ context.Context, name string) error {
			stored[i] = append(stored[i], name)
			return nil
		}))
	}
	err := stage.Run(context.Background(), writers...)
	fmt.Println(stored, err)
	// Output: [[ana dora abe] [bob] [cleo]] <nil>
}

// One pass over the data gives both its mean and its largest value.
func ExampleTee() {
	both := stage.Tee(stage.Of(3, 8, 4), 2)
	sum, count, largest := 0, 0, 0
	err := stage.Run(context.Background(),
		stage.To(both[0], 1, func(_ context.Context, v int) error { sum += v; count++; return nil }),
		stage.To(both[1], 1, func(_ context.Context, v int) error { largest = max(largest, v); return nil }),
	)
	fmt.Println(sum/count, largest, err)
	// Output: 5 8 <nil>
}

// Two connections share the work: each statement goes to the one that has waited
// longest, so a slow one gets fewer.
func ExampleBalance() {
	statements := stage.Of("insert 1", "insert 2", "insert 3", "insert 4")
	done := make([]int, 2)
	var connections []stage.Sink
	for i, part := range stage.Balance(statements, len(done)) {
		connections = append(connections, stage.To(part, 1, func(context.Context, string) error {
			done[i]++ // here it would be executed on connection i
			return nil
		}))
	}
	err := stage.Run(context.Background(), connections...)
	fmt.Println(done[0]+done[1], err)
	// Output: 4 <nil>
}

// A run has as many ends as it needs. The first error of one ends all.
func ExampleRun() {
	lines := stage.Tee(stage.Of("start", "work", "done"), 2)
	var screen, file strings.Builder
	err := stage.Run(context.Background(),
		stage.To(lines[0], 1, func(_ context.Context, s string) error { _, err := fmt.Fprint(&screen, s, " "); return err }),
		stage.To(lines[1], 1, func(_ context.Context, s string) error { _, err := fmt.Fprint(&file, s, ";"); return err }),
	)
	fmt.Println(screen.String(), file.String(), err)

	full := errors.New("disk full")
	err = stage.Run(context.Background(),
		stage.To(stage.Of("more"), 1, func(context.Context, string) error { return full }),
		stage.To(stage.FromChan(make(chan string)), 1, func(context.Context, string) error { return nil }), // would wait for ever
	)
	fmt.Println(err)
	// Output:
	// start work done  start;work;done; <nil>
	// disk full
}

// To is an end of a Run, with a parallelism of its own.
func ExampleTo() {
	mails, letters := stage.Split(stage.Of("ana@example.org", "1 Lock Lane", "bob@example.org"),
		func(to string) bool { return strings.Contains(to, "@") })
	send := func(_ context.Context, to string) error { fmt.Println("mail to", to); return nil }
	print := func(_ context.Context, to string) error { fmt.Println("letter to", to); return nil }
	err := stage.Run(context.Background(), stage.To(mails, 4, send), stage.To(letters, 1, print))
	fmt.Println("all sent:", err == nil)
	// Unordered output:
	// mail to ana@example.org
	// mail to bob@example.org
	// letter to 1 Lock Lane
	// all sent: true
}

// A list of sinks can be put together at run time.
func ExampleSink() {
	total := 0
	sinks := []stage.Sink{
		stage.To(stage.Of(1, 2), 1, func(_ context.Context, v int) error { total += v; return nil }),
	}
	fmt.Println(stage.Run(context.Background(), sinks...), total)
	// Output: <nil> 3
}

// Concat reads the second branch only after the first, while the second one
// fills up: nothing can ever move again. The run says so instead of hanging.
// Merge, Zip or Run read both.
func ExampleSplit_stalled() {
	even, odd := stage.Split(stage.Of(1, 3, 5, 2, 4), func(v int) bool { return v%2 == 0 }, stage.Window(2), stage.Name("parity"))
	_, err := stage.Collect(context.Background(), stage.Concat(even, odd))
	fmt.Println(errors.Is(err, stage.ErrStalled))
	fmt.Println(err)
	// Output:
	// true
	// stage: run stalled: parity: branch no is full, its reader waits for branch yes; parity: branch yes is empty
}
