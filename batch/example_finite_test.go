package batch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/seed95b73fdc/sluice/batch"
	"github.com/seed95b73fdc/sluice/stage"
)

func ExampleRanges() {
	pixels := make([]int, 10)
	err := batch.Ranges(context.Background(), len(pixels), 3, func(_ context.Context, lo, hi int) error {
		for i := lo; i < hi; i++ {
			pixels[i] = i * i
		}
		return nil
	})
	fmt.Println(pixels, err)
	// Output: [0 1 4 9 16 25 36 49 64 81] <nil>
}

// However many fail, and whichever is first: the error is that of the first one in
// the slice.
func ExampleEach() {
	check := func(_ context.Context, host string) error {
		if strings.HasPrefix(host, "down") {
			return errors.New(host + " does not answer")
		}
		return nil
	}
	fmt.Println(batch.Each(context.Background(), []string{"a", "b", "down-1", "c", "down-2"}, 4, check))
	// Output: down-1 does not answer
}

func ExampleMapSlice() {
	length := func(_ context.Context, s string) (int, error) { return len(s), nil }
	fmt.Println(batch.MapSlice(context.Background(), []string{"one", "three", "eleven"}, 2, length))
	// Output: [3 5 6] <nil>
}

// Text is joined in order, whichever worker is done first.
func ExampleReduce() {
	words := []string{"to", "be", "or", "not", "to", "be"}
	initials, err := batch.Reduce(context.Background(), words, 3, "",
		func(s, word string) string { return s + word[:1] },
		func(a, b string) string { return a + b })
	fmt.Println(initials, err)
	// Output: tbontb <nil>
}

// A map is changed in place, so each worker needs one of its own.
func ExampleFold() {
	words := []string{"to", "be", "or", "not", "to", "be"}
	counts, err := batch.Fold(context.Background(), words, 3,
		func() map[string]int { return map[string]int{} },
		func(m map[string]int, word string) map[string]int { m[word]++; return m },
		func(a, b map[string]int) map[string]int {
			for word, c := range b {
				a[word] += c
			}
			return a
		})
	fmt.Println(counts, err)
	// Output: map[be:2 not:1 or:1 to:2] <nil>
}

func ExampleMapReduce() {
	words := stage.Of("to", "be", "or", "not", "to", "be")
	once := func(_ context.Context, word string) (string, int, error) { return word, 1, nil }
	fmt.Println(batch.MapReduce(context.Background(), words, 2, once, func(a, b int) int { return a + b }))
	// Output: map[be:2 not:1 or:1 to:2] <nil>
}

func ExampleFlatMapReduce() {
	lines := stage.Of("to be", "or not", "to be")
	words := func(_ context.Context, line string, emit func(string, int)) error {
		for word := range strings.FieldsSeq(line) {
			emit(word, 1)
		}
		return nil
	}
	fmt.Println(batch.FlatMapReduce(context.Background(), lines, 2, words, func(a, b int) int { return a + b }))
	// Output: map[be:2 not:1 or:1 to:2] <nil>
}

// Five callers, one query.
func ExampleCoalescer() {
	query := func(_ context.Context, ids []int) ([]string, error) {
		fmt.Println("one query for", len(ids), "users")
		names := make([]string, len(ids))
		for i, id := range ids {
			names[i] = fmt.Sprint("user-", id)
		}
		return names, nil
	}
	users := batch.NewCoalescer(query, 5, batch.Within(time.Minute))
	names := make([]string, 5)
	var wg sync.WaitGroup
	for id := range names {
		wg.Go(func() { names[id], _ = users.Do(context.Background(), id) })
	}
	wg.Wait()
	fmt.Println(names, users.Close(context.Background()))
	// Output:
	// one query for 5 users
	// [user-0 user-1 user-2 user-3 user-4] <nil>
}

func ExampleCoalescer_Close() {
	upper := func(_ context.Context, words []string) ([]string, error) {
		return strings.Split(strings.ToUpper(strings.Join(words, " ")), " "), nil
	}
	c := batch.NewCoalescer(upper, 10)
	fmt.Println(c.Do(context.Background(), "hi"))
	fmt.Println(c.Close(context.Background()))
	_, err := c.Do(context.Background(), "too late")
	fmt.Println(errors.Is(err, batch.ErrClosed), err)
	// Output:
	// HI <nil>
	// <nil>
	// true batch: coalescer is closed
}

// A flush must return a result for each item.
func ExampleResultsError() {
	c := batch.NewCoalescer(func(context.Context, []int) ([]int, error) { return nil, nil }, 1)
	_, err := c.Do(context.Background(), 7)
	var missing *batch.ResultsError
	fmt.Println(errors.As(err, &missing), err, c.Close(context.Background()))
	// Output: true batch: flush returned 0 results for 1 items <nil>
}
