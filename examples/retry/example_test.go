package retry_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/seed95b73fdc/sluice/examples/retry"
	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// Page 2 fails twice and is there at the third attempt. The pages behind it are
// there long before, and come out after it.
func ExampleWith() {
	later := sync.WaitGroup{} // pages 3 and 4
	later.Add(2)
	failures := 2
	fetch := func(_ context.Context, page int) (string, error) {
		switch {
		case page > 2:
			defer later.Done()
		case page == 2 && failures > 0:
			failures--
			return "", errors.New("503 service unavailable")
		case page == 2:
			later.Wait()
		}
		return fmt.Sprint("page ", page), nil
	}
	policy := retrypolicy.NewBuilder[string]().WithMaxRetries(4).WithBackoff(time.Millisecond, time.Second).Build()
	pages := ordered.Map(stage.Of(1, 2, 3, 4), 4, retry.With(fetch, policy))
	fmt.Println(stage.Collect(context.Background(), pages))
	// Output: [page 1 page 2 page 3 page 4] <nil>
}

// Errors that a further attempt cannot mend end the attempts. The error stands in
// the place of its item, where Catch can deal with it.
func ExampleWith_permanent() {
	errGone := errors.New("410 gone")
	attempts := 0
	fetch := func(_ context.Context, page int) (string, error) {
		if page == 2 {
			attempts++
			return "", errGone
		}
		return fmt.Sprint("page ", page), nil
	}
	policy := retrypolicy.NewBuilder[string]().AbortOnErrors(errGone).ReturnLastFailure().Build()
	pages := ordered.Map(stage.Of(1, 2, 3), 3, retry.With(fetch, policy))
	there := ordered.Catch(pages, stage.Inline, func(_ context.Context, err error) error {
		if errors.Is(err, errGone) {
			return nil
		}
		return err
	})
	fmt.Println(stage.Collect(context.Background(), there))
	fmt.Println("attempts:", attempts)
	// Output:
	// [page 1 page 3] <nil>
	// attempts: 1
}
