package keyed_test

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed95b73fdc/sluice/keyed"
	"github.com/seed95b73fdc/sluice/stage"
)

// A hot key: nearly all payments go to one shop, and while one is booked, all others
// come in. What waits is added up, so the shop gets a few bookings in all, and the
// balance is the same.
func ExampleCombine() {
	type payment struct {
		shop  string
		cents int
	}
	shop := func(p payment) string { return p.shop }
	add := func(acc, next payment) payment { acc.cents += next.cents; return acc }
	payments := make([]payment, 1000)
	for i := range payments {
		payments[i] = payment{"big", 2}
	}
	payments[999].shop = "small"
	allIn := make(chan struct{})
	incoming := stage.Tap(stage.FromSlice(payments), func(p payment) {
		if p.shop == "small" {
			close(allIn)
		}
	})

	bookings := 0 // of the big shop: its owner alone counts them
	balances, err := keyed.Reduce(context.Background(), keyed.Combine(incoming, shop, add, 100),
		2, shop, func() int { return 0 }, func(_ context.Context, balance *int, p payment) error {
			if p.shop == "big" {
				<-allIn
				bookings++
			}
			*balance += p.cents
			return nil
		}, stage.Window(10))
	fmt.Println(balances, err)
	fmt.Println("fewer than 20 bookings:", bookings < 20)
	// Output:
	// map[big:1998 small:2] <nil>
	// fewer than 20 bookings: true
}

// Each user may do two things at once and then one every 20 milliseconds, which holds
// up nobody else.
func ExampleThrottle() {
	user := func(request string) string { return request[:3] }
	limit := func(string) *rate.Limiter { return rate.NewLimiter(rate.Every(20*time.Millisecond), 2) }
	requests := stage.Of("ana 1", "ana 2", "ana 3", "bob 1", "ana 4", "bob 2")
	for request := range keyed.Throttle(requests, user, limit).Seq(context.Background()) {
		fmt.Println(request)
	}
	// Output:
	// ana 1
	// ana 2
	// bob 1
	// bob 2
	// ana 3
	// ana 4
}
