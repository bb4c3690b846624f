package stage_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed95b73fdc/sluice/stage"
)

// Words are counted in several texts at once, and the counts are added up as
// they come.
func Example() {
	texts := stage.Of("the lock fills", "the gate opens", "the boat leaves the lock")
	counts := stage.Map(texts, 4, func(_ context.Context, text string) (int, error) {
		return len(strings.Fields(text)), nil
	})
	words := 0
	err := stage.ForEach(context.Background(), counts, 1, func(_ context.Context, n int) error {
		words += n
		return nil
	})
	fmt.Println(words, err)
	// Output: 11 <nil>
}

// A stream is a description: it can be kept, and run as often as one likes.
func ExampleStream() {
	squares := stage.Map(stage.Of(1, 2, 3), stage.Inline, func(_ context.Context, v int) (int, error) {
		return v * v, nil
	})
	for range 2 {
		fmt.Println(stage.Collect(context.Background(), squares))
	}
	var none stage.Stream[int]
	fmt.Println(stage.Collect(context.Background(), none))
	// Output:
	// [1 4 9] <nil>
	// [1 4 9] <nil>
	// [] <nil>
}

// An item is a value, or an error in its place.
func ExampleTry() {
	errNoise := errors.New("noise")
	ch := make(chan stage.Try[float64], 3)
	ch <- stage.Try[float64]{Value: 20.5}
	ch <- stage.Try[float64]{Error: errNoise}
	ch <- stage.Try[float64]{Value: 21}
	close(ch)
	readings := stage.Catch(stage.FromRill(ch), stage.Inline, func(_ context.Context, err error) error {
		fmt.Println("skipped:", err)
		return nil
	})
	fmt.Println(stage.Collect(context.Background(), readings))
	// Output:
	// skipped: noise
	// [20.5 21] <nil>
}
