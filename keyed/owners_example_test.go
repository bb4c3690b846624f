package keyed_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed95b73fdc/sluice/keyed"
)

var errShort = errors.New("not enough money")

// Accounts without a lock: each function has its account, or accounts, to itself.
func ExampleOwners() {
	ctx := context.Background()
	accounts := keyed.NewOwners[string, int](4, func() int { return 100 })
	fmt.Println(accounts.Do(ctx, "ana", func(balance *int) error {
		*balance += 20
		return nil
	}))
	transfer := func(amount int) error {
		return accounts.Atomically(ctx, []string{"ana", "bob"}, func(b []*int) error {
			*b[0] -= amount
			*b[1] += amount
			if *b[0] < 0 {
				return errShort // and nothing has changed
			}
			return nil
		})
	}
	fmt.Println(transfer(50), transfer(500))
	for _, name := range []string{"ana", "bob"} {
		accounts.Do(ctx, name, func(balance *int) error {
			fmt.Println(name, *balance)
			return nil
		})
	}
	fmt.Println(accounts.Close(ctx), accounts.Do(ctx, "ana", func(*int) error { return nil }))
	// Output:
	// <nil>
	// <nil> not enough money
	// ana 70
	// bob 150
	// <nil> keyed: owners closed
}

// A caller that does not wait.
func ExampleOwners_Post() {
	ctx := context.Background()
	hits := keyed.NewOwners[string, int](2, func() int { return 0 })
	for range 1000 {
		hits.Post(ctx, "/index.html", func(n *int) error { *n++; return nil })
	}
	hits.Do(ctx, "/index.html", func(n *int) error { fmt.Println(*n); return nil })
	fmt.Println(hits.Close(ctx))
	// Output:
	// 1000
	// <nil>
}

// The context ends while the function runs: it goes on, and the error tells of its
// end.
func ExampleRunningError() {
	accounts := keyed.NewOwners[string, int](1, func() int { return 0 })
	ctx, cancel := context.WithCancel(context.Background())
	let := make(chan struct{})
	err := accounts.Do(ctx, "ana", func(balance *int) error {
		cancel()
		<-let
		*balance = 5
		return nil
	})
	fmt.Println(err)
	var running *keyed.RunningError
	if errors.As(err, &running) {
		close(let)
		fmt.Println("in the end:", running.Wait(context.Background()))
	}
	accounts.Close(context.Background())
	// Output:
	// keyed: function is still running: context canceled
	// in the end: <nil>
}

// More workers while callers call: what has been admitted is finished before.
func ExampleOwners_Resize() {
	ctx := context.Background()
	o := keyed.NewOwners[int, int](1, func() int { return 0 })
	o.Do(ctx, 7, func(v *int) error { *v = 42; return nil })
	fmt.Println(o.Epoch(), o.Resize(ctx, 8), o.Epoch())
	o.Do(ctx, 7, func(v *int) error { fmt.Println(*v); return nil })
	o.Close(ctx)
	// Output:
	// 1 <nil> 2
	// 42
}

// What the owners have done.
func ExampleOwners_Stats() {
	ctx := context.Background()
	o := keyed.NewOwners[int, int](2, func() int { return 0 })
	for i := range 100 {
		o.Post(ctx, i, func(v *int) error { *v = i; return nil })
	}
	fmt.Println(o.Close(ctx))
	s := o.Stats()
	fmt.Println(s.Done, "functions on", len(s.Lanes), "lanes,", o.Len(), "keys")
	// Output:
	// <nil>
	// 100 functions on 32 lanes, 100 keys
}
