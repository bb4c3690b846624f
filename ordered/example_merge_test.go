package ordered_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// The logs of two servers, each in the order of time, as one.
func ExampleMerge() {
	type line struct {
		at   int
		text string
	}
	a := stage.Of(line{1, "a: start"}, line{5, "a: ready"})
	b := stage.Of(line{2, "b: start"}, line{5, "b: ready"}, line{9, "b: stop"})
	log := ordered.Merge(func(x, y line) int { return cmp.Compare(x.at, y.at) }, a, b)
	for l := range log.Seq(context.Background()) {
		fmt.Println(l.at, l.text)
	}
	// Output:
	// 1 a: start
	// 2 b: start
	// 5 a: ready
	// 5 b: ready
	// 9 b: stop
}

// Packets that have overtaken each other are put back in order. What is lost, and
// what comes twice, is said where it belongs.
func ExampleResequence() {
	packets := stage.Of(1, 0, 2, 2, 6, 4, 5)
	inOrder := ordered.Resequence(packets, func(p int) int { return p }, 4)
	for p := range stage.ToRill(context.Background(), inOrder) { // values and errors, each in its place
		if p.Error != nil {
			fmt.Println(p.Error)
			continue
		}
		fmt.Println("packet", p.Value)
	}
	// Output:
	// packet 0
	// packet 1
	// packet 2
	// ordered: number came again, or too late: 2
	// ordered: gap in the sequence: 3 is missing
	// packet 4
	// packet 5
	// packet 6
}

// A gap tells which numbers are missing, so that they can be asked for again.
func ExampleGapError() {
	chunks := ordered.Resequence(stage.Of(100, 101, 105), func(c int) int { return c }, 2, 100)
	_, err := stage.Collect(context.Background(), chunks)
	var gap *ordered.GapError[int]
	if errors.As(err, &gap) {
		fmt.Println("asking for", gap.First, "to", gap.Last, errors.Is(err, ordered.ErrGap))
	}
	// Output: asking for 102 to 104 true
}

// A number that comes again is no reason to end the run: it is left out.
func ExampleDuplicateError() {
	chunks := ordered.Resequence(stage.Of(0, 1, 1, 2), func(c int) int { return c }, 2)
	once := ordered.Catch(chunks, stage.Inline, func(_ context.Context, err error) error {
		var dup *ordered.DuplicateError[int]
		if errors.As(err, &dup) {
			fmt.Println("again:", dup.Number)
			return nil
		}
		return err
	})
	fmt.Println(stage.Collect(context.Background(), once))
	// Output:
	// again: 1
	// [0 1 2] <nil>
}

// The same map by each of the strategies: what comes out is the same, what it
// costs is not.
func ExampleBy() {
	square := func(_ context.Context, v int) (int, error) { return v * v, nil }
	for _, s := range []ordered.Strategy{ordered.Cells, ordered.PermissionPassing, ordered.ReplyTo, ordered.Cond} {
		squares := ordered.Map(stage.Of(1, 2, 3, 4), 3, square, ordered.By(s), stage.Window(8))
		got, err := stage.Collect(context.Background(), squares)
		fmt.Println(got, err, s)
	}
	// Output:
	// [1 4 9 16] <nil> Cells
	// [1 4 9 16] <nil> PermissionPassing
	// [1 4 9 16] <nil> ReplyTo
	// [1 4 9 16] <nil> Cond
}
