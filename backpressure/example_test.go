package backpressure_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed95b73fdc/sluice/backpressure"
)

// At most two downloads at once, and one of double size counts twice.
func ExampleNewPadded() {
	sem := backpressure.NewPadded(2)
	ctx := context.Background()
	var wg sync.WaitGroup
	for _, size := range []int{1, 2, 1, 1} {
		if err := sem.Acquire(ctx, size); err != nil {
			fmt.Println(err)
			return
		}
		wg.Go(func() {
			defer sem.Release(size)
			// … the download
		})
	}
	wg.Wait()
	fmt.Println(sem.InUse(), "of", sem.Limit())

	fmt.Println(sem.Acquire(ctx, 3))
	// Output:
	// 0 of 2
	// backpressure: more permits asked for than there are: 3 of 2
}

// The same with Go channels.
func ExampleNewChan() {
	sem := backpressure.NewChan(2)
	fmt.Println(sem.TryAcquire(2), sem.TryAcquire(1))

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	fmt.Println(sem.Acquire(ctx, 1))

	sem.Resize(3)
	fmt.Println(sem.TryAcquire(1))
	// Output:
	// true false
	// context deadline exceeded
	// true
}

// One who cannot block here is told when his turn has come.
func ExamplePaddedSemaphore_Enqueue() {
	sem := backpressure.NewPadded(1)
	sem.TryAcquire(1)

	told := make(chan struct{})
	ticket := sem.Enqueue(1, func() { close(told) })
	defer ticket.Done() // gives the permit back, too
	fmt.Println(ticket.Granted())

	sem.Release(1)
	<-told
	fmt.Println(ticket.Granted())
	// Output:
	// false <nil>
	// true <nil>
}

// What could not be sent is the sender's still.
func ExampleConduit() {
	c := backpressure.NewConduit[string](backpressure.Ring, 4)
	items := []string{"a", "b", "c", "d", "e", "f"}

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	n, err := c.Send(ctx, items)
	fmt.Println("sent", n, "left", items[n:], err)

	c.Close()
	chunk := make([]string, 3)
	for {
		n, err := c.Recv(context.Background(), chunk)
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(chunk[:n])
	}
	// Output:
	// sent 4 left [e f] context deadline exceeded
	// [a b c]
	// [d]
	// backpressure: closed
}

// A conduit for one who waits in a way of his own.
func ExampleHooks() {
	c := backpressure.NewConduit[int](backpressure.Chan, 2, backpressure.Hooks{
		Items: func() { fmt.Println("something to receive") },
		Room:  func() { fmt.Println("room to send") },
	})
	c.TrySend([]int{1, 2, 3})
	c.TryRecv(make([]int, 2))
	// Output:
	// something to receive
	// room to send
}

// No more than 10 MB in flight. Whichever road an item takes, its weight is given back
// once.
func ExampleBudget() {
	const mb = 1 << 20
	budget := backpressure.NewBudget(10 * mb)
	ctx := context.Background()

	page, _ := budget.Acquire(ctx, 4*mb)
	fmt.Println(budget.InUse()/mb, "MB in flight")
	defer page.Release() // if all goes well, and also if not
	copied := page       // the weight goes with the item
	copied.Release()     // where the item ends
	fmt.Println(budget.InUse()/mb, "MB in flight")

	video, _ := budget.Acquire(ctx, 700*mb) // passes alone
	_, ok := budget.TryAcquire(1)
	fmt.Println(ok)
	video.Release()
	// Output:
	// 4 MB in flight
	// 0 MB in flight
	// false
}

// The weight of a run, given back when it ends, whatever has become of its items.
func ExampleAccount() {
	budget := backpressure.NewBudget(100)
	run := budget.Open()
	for range 3 {
		run.Acquire(context.Background(), 20) // and lost on the way
	}
	fmt.Println(budget.InUse())
	run.Close()
	fmt.Println(budget.InUse())

	_, err := run.Acquire(context.Background(), 1)
	fmt.Println(errors.Is(err, backpressure.ErrClosed))
	// Output:
	// 60
	// 0
	// true
}

// The account may be closed when the last item has ended, wherever that is.
func ExampleAccount_WhenReturned() {
	run := backpressure.NewBudget(100).Open()
	a, _ := run.TryAcquire(20)
	b, _ := run.TryAcquire(30)
	fmt.Println(run.WhenReturned(func() { fmt.Println("all is back") }))
	a.Release()
	b.Release()
	// Output:
	// true
	// all is back
}

func ExampleOverflow() {
	for o := backpressure.Block; o.Valid(); o++ {
		fmt.Print(o, " ")
	}
	// Output: Block DropOldest DropNewest Latest Fail
}
