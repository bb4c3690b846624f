package stage_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed95b73fdc/sluice/stage"
)

// Tap looks at what passes, to log or to count it.
func ExampleTap() {
	bytes := 0
	lines := stage.Tap(stage.Of("first", "second"), func(line string) { bytes += len(line) })
	got, err := stage.Collect(context.Background(), lines)
	fmt.Println(got, bytes, err)
	// Output: [first second] 11 <nil>
}

// The function may take the run's context and fail: here it checks what passes.
func ExampleTap_check() {
	at := 0
	ascending := func(_ context.Context, t int) error {
		if t < at {
			return errors.New("time runs backwards")
		}
		at = t
		return nil
	}
	for t, err := range stage.Tap(stage.Of(10, 20, 15, 30), ascending).Seq(context.Background()) {
		fmt.Println(t, err)
	}
	// Output:
	// 10 <nil>
	// 20 <nil>
	// 0 time runs backwards
}

func ExampleTake() {
	primes := stage.Generate(func(_ context.Context, yield func(int) bool) error {
		for v := 2; ; v++ {
			prime := true
			for d := 2; d*d <= v; d++ {
				prime = prime && v%d != 0
			}
			if prime && !yield(v) {
				return nil
			}
		}
	})
	fmt.Println(stage.Collect(context.Background(), stage.Take(primes, 8)))
	// Output: [2 3 5 7 11 13 17 19] <nil>
}

func ExampleTakeWhile() {
	script := stage.Of("open", "write", "quit", "delete")
	commands := stage.TakeWhile(script, func(c string) bool { return c != "quit" })
	fmt.Println(stage.Collect(context.Background(), commands))
	// Output: [open write] <nil>
}

// Drop skips the heading of a table.
func ExampleDrop() {
	table := stage.Of("name,age", "ana,41", "bob,37")
	fmt.Println(stage.Collect(context.Background(), stage.Drop(table, 1)))
	// Output: [ana,41 bob,37] <nil>
}

func ExampleDropWhile() {
	script := stage.Of("# licence", "# usage", "echo hi", "# done")
	body := stage.DropWhile(script, func(line string) bool { return strings.HasPrefix(line, "#") })
	fmt.Println(stage.Collect(context.Background(), body))
	// Output: [echo hi # done] <nil>
}

// The balance of an account after each booking. A booking that is refused is an
// error in its place and leaves the balance as it is.
func ExampleScan() {
	book := func(_ context.Context, balance, amount int) (int, error) {
		if balance+amount < 0 {
			return 0, fmt.Errorf("refused: %d at a balance of %d", amount, balance)
		}
		return balance + amount, nil
	}
	balances := stage.Scan(stage.Of(100, -30, -90, 5), 0, book)
	all := stage.Catch(balances, stage.Inline, func(_ context.Context, err error) error {
		fmt.Println(err)
		return nil
	})
	fmt.Println(stage.Collect(context.Background(), all))
	// Output:
	// refused: -90 at a balance of 70
	// [100 70 75] <nil>
}

// Two files of a log are read as one, the older one first.
func ExampleConcat() {
	old, current := stage.Of("mon", "tue"), stage.Of("wed")
	fmt.Println(stage.Collect(context.Background(), stage.Concat(old, current)))
	// Output: [mon tue wed] <nil>
}

// Zip puts side by side what belongs together, and ends with the shorter side.
func ExampleZip() {
	names, scores := stage.Of("ana", "bob", "cleo"), stage.Of(9, 7)
	for p, err := range stage.Zip(names, scores).Seq(context.Background()) {
		fmt.Println(p.First, p.Second, err)
	}
	// Output:
	// ana 9 <nil>
	// bob 7 <nil>
}

// A day is compared with the day before by a stream zipped with itself.
func ExamplePair() {
	days := stage.Of(12, 15, 11)
	steps := stage.Zip(days, stage.Drop(days, 1))
	changes := stage.Map(steps, stage.Inline, func(_ context.Context, p stage.Pair[int, int]) (int, error) {
		return p.Second - p.First, nil
	})
	fmt.Println(stage.Collect(context.Background(), changes))
	// Output: [3 -4] <nil>
}

// The events of two sensors arrive on one stream, each when it comes.
func ExampleMerge() {
	door, window := stage.Of("door opened", "door closed"), stage.Of("window opened")
	stage.ForEach(context.Background(), stage.Merge(door, window), 1, func(_ context.Context, event string) error {
		fmt.Println(event)
		return nil
	})
	// Unordered output:
	// door opened
	// door closed
	// window opened
}
