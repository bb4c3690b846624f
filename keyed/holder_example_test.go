package keyed_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed95b73fdc/sluice/keyed"
)

// counters is a store with a fence before it.
type counters struct {
	fence  keyed.Fence
	values map[string]int
}

func (c *counters) read(ctx context.Context, l keyed.Lease) (v int, err error) {
	err = c.fence.Do(ctx, l.Partition, l.Epoch, func() error { v = c.values[l.Partition]; return nil })
	return v, err
}

func (c *counters) write(ctx context.Context, l keyed.Lease, v int) error {
	return c.fence.Do(ctx, l.Partition, l.Epoch, func() error { c.values[l.Partition] = v; return nil })
}

func ExampleHolder() {
	leases := keyed.NewMemoryLeases() // shared by all owners
	store := &counters{values: make(map[string]int)}
	holder := keyed.NewHolder(leases, "host-7, started 12:00:01", 10*time.Second)

	count := func(ctx context.Context, term *keyed.Term) error {
		v, err := store.read(ctx, term.Lease()) // raises the fence
		if err != nil {
			return err
		}
		for range 3 {
			v++
			if err := store.write(ctx, term.Lease(), v); err != nil {
				return err
			}
		}
		fmt.Println("epoch", term.Epoch(), "ends with", v)
		return nil
	}
	for range 2 { // again and again, if the lease is lost
		if err := holder.Hold(context.Background(), "visits", count); err != nil && !errors.Is(err, keyed.ErrLeaseLost) {
			fmt.Println(err)
		}
	}
	// Output:
	// epoch 1 ends with 3
	// epoch 2 ends with 6
}

func ExampleHolder_HandOver() {
	holder := keyed.NewHolder(keyed.NewMemoryLeases(), "a", 10*time.Second)
	begun, held := make(chan struct{}), make(chan error)
	go func() {
		held <- holder.Hold(context.Background(), "p", func(_ context.Context, term *keyed.Term) error {
			close(begun)
			<-term.Draining()
			fmt.Println("finishing what was accepted")
			return nil
		})
	}()
	<-begun
	fmt.Println("handed over:", holder.HandOver(context.Background(), "p"), <-held)
	// Output:
	// finishing what was accepted
	// handed over: <nil> <nil>
}

func ExampleFence() {
	var fence keyed.Fence
	ctx := context.Background()
	fmt.Println(fence.Check(ctx, "p", 2)) // the new owner, before it reads
	err := fence.Do(ctx, "p", 1, func() error { fmt.Println("the old owner writes"); return nil })
	fmt.Println(errors.Is(err, keyed.ErrFenced))
	// Output:
	// <nil>
	// true
}

func ExampleMemoryLeases() {
	leases, ctx := keyed.NewMemoryLeases(), context.Background()
	l, err := leases.Acquire(ctx, "p", "ann", time.Minute)
	fmt.Println(l.Owner, l.Epoch, err)
	_, err = leases.Acquire(ctx, "p", "bob", time.Minute)
	fmt.Println(err)
	fmt.Println(leases.Release(ctx, l))
	l, err = leases.Acquire(ctx, "p", "bob", time.Minute)
	fmt.Println(l.Owner, l.Epoch, err)
	// Output:
	// ann 1 <nil>
	// keyed: partition is held: "p" by "ann" in epoch 1
	// <nil>
	// bob 2 <nil>
}
