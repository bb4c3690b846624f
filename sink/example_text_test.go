package sink_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/sink"
	"github.com/seed95b73fdc/sluice/stage"
)

func ExampleLines() {
	upper := ordered.Map(stage.Of("ana", "bob", "cleo"), 3, func(_ context.Context, s string) (string, error) {
		return strings.ToUpper(s), nil
	})
	fmt.Println(sink.Lines(context.Background(), upper, os.Stdout))
	// Output:
	// ANA
	// BOB
	// CLEO
	// <nil>
}

// A pipe that is closed ends the run: this source is endless.
func ExampleLines_closedPipe() {
	r, w := io.Pipe()
	go func() {
		io.CopyN(os.Stdout, r, 4) // as head does
		r.Close()
	}()
	yes := stage.Generate(func(_ context.Context, yield func(string) bool) error {
		for yield("y") {
		}
		return nil
	})
	fmt.Println(sink.Lines(context.Background(), yes, w))
	// Output:
	// y
	// y
	// <nil>
}

func ExampleJSONL() {
	type user struct {
		Name string `json:"name"`
		Age  int    `json:"age"`
	}
	users := stage.Of(user{"Ana", 30}, user{"Bob", 41})
	fmt.Println(sink.JSONL(context.Background(), users, os.Stdout))
	// Output:
	// {"name":"Ana","age":30}
	// {"name":"Bob","age":41}
	// <nil>
}

func ExampleCSV() {
	rows := stage.Of([]string{"ana", "likes, among others, tea"}, []string{"bob", `says "no"`})
	fmt.Println(sink.CSV(context.Background(), rows, os.Stdout, sink.Header("name", "note")))
	// Output:
	// name,note
	// ana,"likes, among others, tea"
	// bob,"says ""no"""
	// <nil>
}

// Two texts of one stream, in one run.
func ExampleLinesTo() {
	var words, table strings.Builder
	b := stage.Tee(stage.Of("ana", "bob"), 2)
	row := stage.Map(b[1], stage.Inline, func(_ context.Context, s string) ([]string, error) { return []string{s, "1"}, nil })
	fmt.Println(stage.Run(context.Background(), sink.LinesTo(b[0], &words), sink.CSVTo(row, &table)))
	fmt.Print(words.String(), table.String())
	// Output:
	// <nil>
	// ana
	// bob
	// ana,1
	// bob,1
}

// Nobody sees the file before it is complete, and a failure leaves the old one.
func ExampleWhole() {
	path, remove := scratch("report.txt")
	defer remove()
	report := func(lines ...string) error {
		return sink.Whole(path, func(w io.Writer) error {
			in := stage.FromSlice(lines)
			if len(lines) > 2 {
				in = stage.Concat(in, stage.Failed[string](errors.New("too long")))
			}
			return sink.Lines(context.Background(), in, w)
		})
	}
	fmt.Println(report("all is", "well"))
	fmt.Println(report("a", "b", "c"))
	text, _ := os.ReadFile(path)
	fmt.Printf("%q\n", text)
	// Output:
	// <nil>
	// too long
	// "all is\nwell\n"
}

// A log that is cut into files of 20 bytes, each compressed when it is written.
func ExampleNewFile() {
	path, remove := scratch("events.log")
	defer remove()
	file, err := sink.NewFile(path, sink.RotateSize(20), sink.Gzip())
	if err != nil {
		fmt.Println(err)
		return
	}
	events := stage.Of("door opened", "door closed", "light on", "light off")
	err = sink.Lines(context.Background(), events, file, sink.BufferSize(1))
	fmt.Println(err, file.Close())
	names, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	for _, name := range names {
		fmt.Println(filepath.Base(name))
	}
	// Output:
	// <nil> <nil>
	// events-000001.log.gz
	// events-000002.log.gz
	// events-000003.log.gz
}
