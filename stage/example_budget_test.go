package stage_test

import (
	"context"
	"fmt"

	"github.com/seed95b73fdc/sluice/backpressure"
	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// Pages of very different sizes go through three stages, and at most a megabyte
// of them at once, however many workers there are.
func ExampleCharge() {
	megabyte := backpressure.NewBudget(1 << 20)
	size := func(page string) int { return len(page) }
	shorten := func(_ context.Context, page string) (string, error) { return page[:4], nil }
	notEmpty := func(_ context.Context, page string) (bool, error) { return page != "", nil }

	pages := stage.Of("alpha", "", "gamma")
	lent := stage.Charge(pages, megabyte, size)
	kept := ordered.Filter(lent, 8, stage.BorrowedFilter(notEmpty))
	short := ordered.Map(kept, 8, stage.Borrowed(shorten))
	err := stage.ForEach(context.Background(), short, 1, stage.RepaidEach(func(_ context.Context, page string) error {
		fmt.Println(page)
		return nil
	}))
	fmt.Println(err, megabyte.InUse())
	// Output:
	// alph
	// gamm
	// <nil> 0
}
