package lockfree_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

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

// One goroutine fills the ring, another one empties it, and Close tells the end.
func ExampleSPSC() {
	q := lockfree.NewSPSC[int](4)
	go func() { // the producer
		defer q.Close()
		for v := range 100 {
			for !q.TryPush(v) {
				runtime.Gosched() // it is full
			}
		}
	}()
	sum := 0
	for { // the consumer
		ended := q.Closed() // asked before looking, so that nothing is missed
		v, ok := q.TryPop()
		if !ok && ended {
			break
		}
		if !ok {
			runtime.Gosched()
			continue
		}
		sum += v
	}
	fmt.Println(sum)
	// Output: 4950
}

func ExampleSPSC_Push() {
	q := lockfree.NewSPSC[string](3)
	fmt.Println(q.Cap(), "slots")
	fmt.Println(q.Push([]string{"a", "b", "c", "d", "e"}), "had room")

	q.Close()
	fmt.Println(q.Push([]string{"f"}), "after Close")

	chunk := make([]string, 8)
	fmt.Println(chunk[:q.Pop(chunk)])
	// Output:
	// 4 slots
	// 4 had room
	// 0 after Close
	// [a b c d]
}

// A counter for each worker, so that none slows down its neighbours.
func ExamplePadded() {
	counts := make([]lockfree.Padded[atomic.Int64], 4)
	var wg sync.WaitGroup
	for w := range counts {
		wg.Go(func() {
			for range 1000 {
				counts[w].Value.Add(1)
			}
		})
	}
	wg.Wait()
	var sum int64
	for w := range counts {
		sum += counts[w].Value.Load()
	}
	fmt.Println(sum)
	// Output: 4000
}
