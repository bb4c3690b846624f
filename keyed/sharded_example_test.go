package keyed_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/seed95b73fdc/sluice/keyed"
)

func ExampleSharded() {
	visits := keyed.NewSharded[string, int](16)
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			visits.Update("/index", func(n int, _ bool) int { return n + 1 })
		})
	}
	wg.Wait()
	fmt.Println(visits.Load("/index"))
	// Output: 100 true
}

func ExampleSharded_LoadOrCompute() {
	users := keyed.NewSharded[int, string](16)
	fetch := func(context.Context) (string, error) {
		fmt.Println("asking the database")
		return "Ada", nil
	}
	for range 2 {
		name, cached, err := users.LoadOrCompute(context.Background(), 7, fetch)
		fmt.Println(name, cached, err)
	}
	// Output:
	// asking the database
	// Ada false <nil>
	// Ada true <nil>
}

func ExampleSharded_UpdateMany() {
	balance := keyed.NewSharded[string, int](16)
	balance.Store("ann", 100)
	transfer := func(from, to string, amount int) error {
		return balance.UpdateMany([]string{from, to}, func(e []*keyed.Entry[string, int]) error {
			if e[0].Value < amount {
				return errors.New("not enough on " + from)
			}
			e[0].Value -= amount
			e[1].Value += amount
			e[1].Present = true // bob may be new
			return nil
		})
	}
	fmt.Println(transfer("ann", "bob", 70))
	fmt.Println(transfer("ann", "bob", 70))
	fmt.Println(balance.Load("bob"))
	// Output:
	// <nil>
	// not enough on ann
	// 70 true
}

func ExampleSharded_Range() {
	stock := keyed.NewSharded[string, int](4)
	stock.Store("nuts", 3)
	stock.Store("bolts", 0)
	for part, n := range stock.Range {
		if n == 0 {
			stock.Delete(part)
		}
	}
	fmt.Println(stock.Len())
	// Output: 1
}
