package batch_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed95b73fdc/sluice/batch"
	"github.com/seed95b73fdc/sluice/stage"
)

// Rows are inserted by threes.
func ExampleChunk() {
	rows := stage.Of("ana", "bob", "cleo", "dan", "eve", "finn", "gus")
	insert := func(_ context.Context, rows []string) error {
		fmt.Println("insert", rows)
		return nil
	}
	err := stage.ForEach(context.Background(), batch.Chunk(rows, 3), 1, insert)
	fmt.Println(err)
	// Output:
	// insert [ana bob cleo]
	// insert [dan eve finn]
	// insert [gus]
	// <nil>
}

// A row waits for others no longer than 10 ms: the third one comes only when the
// first two have been written, and they do not wait for it.
func ExampleWithin() {
	written := make(chan struct{})
	rows := stage.Generate(func(ctx context.Context, yield func(string) bool) error {
		if !yield("ana") || !yield("bob") {
			return nil
		}
		select {
		case <-written:
			yield("cleo")
		case <-ctx.Done():
		}
		return nil
	})
	batches := batch.Chunk(rows, 100, batch.Within(10*time.Millisecond))
	err := stage.ForEach(context.Background(), batches, 1, func(_ context.Context, b []string) error {
		fmt.Println("write", b)
		if len(b) == 2 {
			close(written)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// write [ana bob]
	// write [cleo]
	// <nil>
}

// Requests of up to 10 bytes, or 3 words.
func ExampleWeigh() {
	words := stage.Of("a", "few", "words", "of", "different", "extraordinary", "length")
	length := func(s string) int { return len(s) }
	fmt.Println(stage.Collect(context.Background(), batch.Chunk(words, 3, batch.Weigh(10, length))))
	// Output: [[a few words] [of] [different] [extraordinary] [length]] <nil>
}

func ExampleUntil() {
	lines := stage.Of("From: ana", "To: bob", "", "Hi!", "")
	blank := func(line string) bool { return line == "" }
	paragraphs := batch.Chunk(lines, 100, batch.Until(blank))
	err := stage.ForEach(context.Background(), paragraphs, 1, func(_ context.Context, p []string) error {
		fmt.Printf("%q\n", p)
		return nil
	})
	fmt.Println(err)
	// Output:
	// ["From: ana" "To: bob" ""]
	// ["Hi!" ""]
	// <nil>
}

// Each batch is done with before the next one is asked for, so one piece of memory
// serves them all.
func ExampleReuse() {
	numbers := batch.Chunk(stage.FromSlice(upTo(100)), 10, batch.Reuse())
	total := 0
	err := stage.ForEach(context.Background(), batch.Flatten(numbers), 1, func(_ context.Context, v int) error {
		total += v
		return nil
	})
	fmt.Println(total, err)
	// Output: 4950 <nil>
}

func ExampleName() {
	ctx, stats := stage.WithStats(context.Background())
	rows := batch.Chunk(stage.Of(1, 2, 3), 2, batch.Within(time.Hour), batch.Name("pack"))
	err := stage.Discard(ctx, rows)
	for _, s := range stats.Stages() {
		fmt.Println(s.Name, s.In, "items in,", s.Out, "batches out", err)
	}
	// Output: pack 3 items in, 2 batches out <nil>
}

// An error keeps its place, and what came before it is emitted first.
func ExampleFlatten() {
	parse := func(_ context.Context, s string) (string, error) {
		if s == "?" {
			return "", fmt.Errorf("no word: %s", s)
		}
		return strings.ToUpper(s), nil
	}
	words := stage.Map(stage.Of("a", "b", "?", "c"), stage.Inline, parse)
	for word, err := range batch.Flatten(batch.Chunk(words, 10)).Seq(context.Background()) {
		fmt.Println(word, err)
	}
	// Output:
	// A <nil>
	// B <nil>
	//  no word: ?
}

// Readings are written sensor by sensor.
func ExampleByKey() {
	type reading struct {
		sensor string
		value  int
	}
	in := stage.Of(reading{"door", 1}, reading{"roof", 7}, reading{"door", 2}, reading{"roof", 8}, reading{"door", 3})
	sensor := func(r reading) string { return r.sensor }
	err := stage.ForEach(context.Background(), batch.ByKey(in, sensor, 2), 1, func(_ context.Context, b []reading) error {
		fmt.Println(b)
		return nil
	})
	fmt.Println(err)
	// Output:
	// [{door 1} {door 2}]
	// [{roof 7} {roof 8}]
	// [{door 3}]
	// <nil>
}

// Two open keys are all that there is room for here: when the third one comes, the
// batch that has been open longest goes.
func ExampleOpenKeys() {
	in := stage.Of("a1", "b1", "a2", "c1", "b2")
	first := func(s string) byte { return s[0] }
	fmt.Println(stage.Collect(context.Background(), batch.ByKey(in, first, 10, batch.OpenKeys(2))))
	// Output: [[a1 a2] [b1 b2] [c1]] <nil>
}
