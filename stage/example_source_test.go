package stage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/destel/rill"
	"github.com/seed95b73fdc/sluice/stage"
)

func ExampleOf() {
	hosts := stage.Of("db1:5432", "db2:5432")
	fmt.Println(stage.Collect(context.Background(), hosts))
	// Output: [db1:5432 db2:5432] <nil>
}

// The results of a function that also returns an error need no check of their
// own: the error is the stream's only item.
func ExampleFromSlice() {
	for _, dir := range []string{".", "no such folder"} {
		files := stage.FromSlice(os.ReadDir(dir))
		docs := stage.Filter(files, stage.Inline, func(_ context.Context, e os.DirEntry) (bool, error) {
			return e.Name() == "doc.go", nil
		})
		n, err := stage.Count(context.Background(), docs)
		fmt.Println(n, errors.Is(err, os.ErrNotExist))
	}
	// Output:
	// 1 false
	// 0 true
}

func ExampleFromSeq() {
	stock := map[string]int{"bolt": 7, "nut": 0, "rivet": 12}
	lines := strings.Lines("bolt\nnut\nrivet\n") // an iter.Seq, read line by line
	names := stage.Map(stage.FromSeq(lines), stage.Inline, func(_ context.Context, line string) (string, error) {
		return strings.TrimSpace(line), nil
	})
	sold := stage.Filter(names, stage.Inline, func(_ context.Context, name string) (bool, error) {
		return stock[name] == 0, nil
	})
	fmt.Println(stage.Collect(context.Background(), sold))
	// Output: [nut] <nil>
}

// A sequence of values and errors, such as the rows of a query, becomes a stream
// with its errors in their place.
func ExampleFromSeq2() {
	rows := func(yield func(string, error) bool) {
		_ = yield("ana", nil) && yield("", errors.New("row 2 is damaged")) && yield("bob", nil)
	}
	for name, err := range stage.FromSeq2(rows).Seq(context.Background()) {
		fmt.Printf("%q %v\n", name, err)
	}
	// Output:
	// "ana" <nil>
	// "" row 2 is damaged
}

func ExampleFromChan() {
	orders := make(chan string)
	go func() {
		defer close(orders)
		for _, o := range []string{"tea", "coffee", "tea"} {
			orders <- o
		}
	}()
	teas := stage.Filter(stage.FromChan(orders), stage.Inline, func(_ context.Context, o string) (bool, error) {
		return o == "tea", nil
	})
	fmt.Println(stage.Count(context.Background(), teas))
	// Output: 2 <nil>
}

// A stream of rill is a source as it stands.
func ExampleFromRill() {
	ids := rill.FromSlice([]int{7, 8, 9}, nil)
	names := stage.Map(stage.FromRill(ids), stage.Inline, func(_ context.Context, id int) (string, error) {
		return fmt.Sprintf("user-%d", id), nil
	})
	fmt.Println(stage.Collect(context.Background(), names))
	// Output: [user-7 user-8 user-9] <nil>
}

// Generate opens what it reads when the first item is asked for, and closes it
// when the run needs no more, here after three pages.
func ExampleGenerate() {
	pages := stage.Generate(func(_ context.Context, yield func(string) bool) error {
		fmt.Println("connect")
		defer fmt.Println("disconnect")
		for page := 1; ; page++ {
			if !yield(fmt.Sprintf("page %d", page)) {
				return nil
			}
		}
	})
	got, err := stage.Collect(context.Background(), stage.Take(pages, 3))
	fmt.Println(got, err)
	// Output:
	// connect
	// disconnect
	// [page 1 page 2 page 3] <nil>
}

func ExampleLines() {
	log := stage.Lines(func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("up\r\nload 0.7\ndown")), nil
	})
	for line, err := range log.Seq(context.Background()) {
		fmt.Printf("%q %v\n", line, err)
	}
	// Output:
	// "up" <nil>
	// "load 0.7" <nil>
	// "down" <nil>
}

// A line that is too long is an error in its place, and the stream goes on: so
// one broken line need not end the job.
func ExampleMaxLine() {
	log := stage.Lines(func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("one\n" + strings.Repeat("x", 1000) + "\nthree\n")), nil
	}, stage.MaxLine(80))
	kept := stage.Catch(log, stage.Inline, func(_ context.Context, err error) error {
		if long, ok := errors.AsType[*stage.LineTooLongError](err); ok {
			fmt.Printf("line %d has %d bytes, %d are allowed\n", long.Line, long.Length, long.Limit)
			return nil
		}
		return err
	})
	fmt.Println(stage.Collect(context.Background(), kept))
	// Output:
	// line 2 has 1000 bytes, 80 are allowed
	// [one three] <nil>
}

// A function that returns a stream can report what is wrong with its arguments
// where all other errors are reported.
func ExampleFailed() {
	open := func(path string) stage.Stream[string] {
		if !strings.HasSuffix(path, ".log") {
			return stage.Failed[string](fmt.Errorf("%s is no log", path))
		}
		return stage.Of("first line", "last line")
	}
	fmt.Println(stage.Count(context.Background(), open("a.log")))
	fmt.Println(stage.Count(context.Background(), open("a.png")))
	// Output:
	// 2 <nil>
	// 0 a.png is no log
}

// Until ends a stream without loss: every order that was accepted before the shop
// closed is served.
func ExampleUntil() {
	closing := make(chan struct{})
	accepted, served := 0, 0
	orders := stage.Generate(func(_ context.Context, yield func(int) bool) error {
		for yield(accepted + 1) {
			accepted++
		}
		return nil
	})
	err := stage.ForEach(context.Background(), stage.Until(orders, closing), 1, func(context.Context, int) error {
		if served++; served == 3 {
			close(closing)
		}
		return nil
	})
	fmt.Println(accepted >= 3, served == accepted, err)
	// Output: true true <nil>
}
