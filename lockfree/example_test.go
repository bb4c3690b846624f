package lockfree_test

import (
	"fmt"

	"github.com/seed95b73fdc/sluice/lockfree"
)

// The owner works on what is newest, and a thief is given the oldest half.
func ExampleDeque() {
	d := lockfree.NewDeque[string](4)
	for _, task := range []string{"a", "b", "c", "d"} {
		d.Push(task)
	}
	loot := make([]string, 8)
	n, outcome := d.StealHalf(loot)
	fmt.Println(loot[:n], outcome)

	task, _ := d.Pop()
	fmt.Println(task)

	task, outcome = d.Steal()
	fmt.Println(task, outcome)

	_, outcome = d.Steal()
	fmt.Println(outcome)
	// Output:
	// [a b] Success
	// d
	// c Success
	// Empty
}
