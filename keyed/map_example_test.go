package keyed_test

import (
	"context"
	"fmt"

	"github.com/seed95b73fdc/sluice/keyed"
	"github.com/seed95b73fdc/sluice/stage"
)

type task struct {
	Order string
	Do    string
}

// The steps of an order are worked off one after the other, those of different
// orders at the same time.
func ExampleMap() {
	steps := stage.Of(task{"A", "pack"}, task{"B", "pack"}, task{"A", "ship"}, task{"B", "ship"}, task{"A", "bill"})
	log := map[string]*[]string{"A": {}, "B": {}} // by order: no lock is needed
	done := keyed.Map(steps, 4, func(s task) string { return s.Order }, func(_ context.Context, s task) (string, error) {
		*log[s.Order] = append(*log[s.Order], s.Do)
		return s.Do, nil
	})
	fmt.Println(stage.Count(context.Background(), done))
	fmt.Println(*log["A"], *log["B"])
	// Output:
	// 5 <nil>
	// [pack ship bill] [pack ship]
}

// The results come in the order of the steps, whatever becomes of each order.
func ExampleOrderedMap() {
	steps := stage.Of(task{"A", "pack"}, task{"B", "pack"}, task{"A", "ship"})
	done := keyed.OrderedMap(steps, 4, func(s task) string { return s.Order }, func(_ context.Context, s task) (string, error) {
		return s.Do + " " + s.Order, nil
	})
	fmt.Println(stage.Collect(context.Background(), done))
	// Output: [pack A pack B ship A] <nil>
}

// A key that is stuck holds up no other one, as far as the window reaches.
func ExamplePerKey() {
	let := make(chan struct{})
	work := func(_ context.Context, user string) (string, error) {
		if user == "slow" {
			<-let
		}
		return user, nil
	}
	users := stage.Of("slow", "ana", "slow", "bob", "cleo")
	done := keyed.Map(users, 2, func(user string) string { return user }, work, keyed.PerKey(), stage.Window(10))
	others := 0
	for user := range done.Seq(context.Background()) {
		if user != "slow" {
			if others++; others == 3 {
				fmt.Println("all others are done")
				close(let)
			}
		} else {
			fmt.Println(user)
		}
	}
	// Output:
	// all others are done
	// slow
	// slow
}

// Each worker has lanes of its own, and keeps what it needs for them to itself.
func ExamplePinned() {
	square := func(_ context.Context, v int) (int, error) { return v * v, nil }
	squares := keyed.OrderedMap(stage.Of(1, 2, 3), 2, func(v int) int { return v }, square, keyed.Pinned())
	fmt.Println(stage.Collect(context.Background(), squares))
	// Output: [1 4 9] <nil>
}

// Which keys are hot, in words.
func ExampleMeasure() {
	var users []string
	for i := range 20_000 {
		user := fmt.Sprint("user-", i)
		if i%2 == 0 {
			user = "ana"
		}
		users = append(users, user)
	}
	load := keyed.NewLoad[string]()
	same := func(user string) string { return user }
	seen := keyed.Map(stage.FromSlice(users), 2, same, func(_ context.Context, user string) (string, error) { return user, nil }, keyed.Measure(load))
	fmt.Println(stage.Count(context.Background(), seen))
	hottest := load.Stats().Hottest[0]
	fmt.Println(hottest.Key, hottest.Share > 0.4, load.Stats().Skew() != "")
	// Output:
	// 20000 <nil>
	// ana true true
}
