package keyed_test

import (
	"context"
	"fmt"
	"time"

	"github.com/seed95b73fdc/sluice/keyed"
	"github.com/seed95b73fdc/sluice/stage"
)

type reading struct {
	Sensor string
	Value  int
}

func sensor(r reading) string { return r.Sensor }

// For each reading, by how much it differs from the one before of the same sensor.
func ExampleProcess() {
	type last struct {
		value int
		known bool
	}
	readings := stage.Of(reading{"roof", 20}, reading{"cellar", 10}, reading{"roof", 23}, reading{"cellar", 9})
	changes := keyed.Process(readings, 4, sensor, func() last { return last{} },
		func(_ context.Context, l *last, r reading) (int, error) {
			change := 0
			if l.known {
				change = r.Value - l.value
			}
			*l = last{r.Value, true}
			return change, nil
		})
	sum := 0
	for change := range changes.Seq(context.Background()) {
		sum += change
	}
	fmt.Println(sum)
	// Output: 2
}

// No more than two sensors are kept in memory. What is parted with goes to a store,
// from which newState takes it when the sensor comes again.
func ExampleMaxKeys() {
	store := map[string]int{}
	load := func(_ context.Context, sensor string) (int, error) { return store[sensor], nil }
	save := func(sensor string, sum *int) {
		fmt.Println("save", sensor, *sum)
		store[sensor] = *sum
	}
	readings := stage.Of(reading{"a", 1}, reading{"b", 2}, reading{"c", 4}, reading{"a", 8})
	sums := keyed.Process(readings, stage.Inline, sensor, load, func(_ context.Context, sum *int, r reading) (int, error) {
		*sum += r.Value
		return *sum, nil
	}, keyed.MaxKeys(2), keyed.OnEvict(save))
	fmt.Println(stage.Collect(context.Background(), sums))
	// Output:
	// save a 1
	// save b 2
	// save c 4
	// save a 9
	// [1 2 4 9] <nil>
}

// A session ends when nothing has come of it for half an hour, or the input ends.
func ExampleIdleAfter() {
	clicks := stage.Of("ana", "ana", "ana")
	end := func(user string, clicks *int) { fmt.Println(user, "had", *clicks, "clicks") }
	counts := keyed.Process(clicks, 1, func(user string) string { return user }, func() int { return 0 },
		func(_ context.Context, clicks *int, _ string) (int, error) { *clicks++; return *clicks, nil },
		keyed.IdleAfter(30*time.Minute), keyed.OnEvict(end))
	fmt.Println(stage.Count(context.Background(), counts))
	// Output:
	// ana had 3 clicks
	// 3 <nil>
}

// The end of the input parts with all states.
func ExampleOnEvict() {
	end := func(sensor string, n *int) { fmt.Println(sensor, *n) }
	seen := keyed.Process(stage.Of(reading{"roof", 1}, reading{"roof", 2}), 2, sensor, func() int { return 0 },
		func(_ context.Context, n *int, _ reading) (int, error) { *n++; return *n, nil }, keyed.OnEvict(end))
	fmt.Println(stage.Collect(context.Background(), seen))
	// Output:
	// roof 2
	// [1 2] <nil>
}

func ExampleReduce() {
	words := stage.Of("a", "rose", "is", "a", "rose")
	counts, err := keyed.Reduce(context.Background(), words, 4, func(w string) string { return w },
		func() int { return 0 }, func(_ context.Context, n *int, _ string) error { *n++; return nil })
	fmt.Println(counts, err)
	// Output: map[a:2 is:1 rose:2] <nil>
}
