package sink_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed95b73fdc/sluice/sink"
	"github.com/seed95b73fdc/sluice/stage"
)

// Reading is a record: no pointers, no padding.
type Reading struct {
	At     int64
	Sensor uint32
	Value  float32
}

// scratch is a file name for an example.
func scratch(name string) (path string, remove func()) {
	dir, err := os.MkdirTemp("", "sluice")
	if err != nil {
		panic(err)
	}
	return filepath.Join(dir, name), func() { os.RemoveAll(dir) }
}

// Write is the end of a stream: its values become the records of a log.
func ExampleWrite() {
	path, remove := scratch("readings")
	defer remove()
	log, err := sink.Create[Reading](path, sink.EverySync)
	if err != nil {
		fmt.Println(err)
		return
	}
	readings := stage.Of(Reading{1, 7, 20.5}, Reading{2, 7, 20.75}, Reading{3, 8, 19})
	fmt.Println(sink.Write(context.Background(), readings, log))
	for i, r := range log.Records() {
		fmt.Println(i, r)
	}
	fmt.Println(log.Err(), log.Close())
	// Output:
	// <nil>
	// 0 {1 7 20.5}
	// 1 {2 7 20.75}
	// 2 {3 8 19}
	// <nil> <nil>
}

func ExampleOpen() {
	path, remove := scratch("readings")
	defer remove()
	log, _ := sink.Create[Reading](path)
	log.Append(Reading{1, 7, 20.5}, Reading{2, 7, 20.75})
	log.Close()

	log, err := sink.Open[Reading](path)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(log.Recovery())
	fmt.Println(log.Append(Reading{3, 8, 19}))
	fmt.Println(log.Close())
	// Output:
	// 2 records, closed cleanly
	// 2 <nil>
	// <nil>
}

// A reader, which may be another process, sees what is written as it comes.
func ExampleLog_Follow() {
	path, remove := scratch("readings")
	defer remove()
	log, _ := sink.Create[Reading](path)
	defer log.Close()
	log.Append(Reading{1, 7, 20.5})

	tail, err := sink.Open[Reading](path, sink.ReadOnly())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tail.Close()
	for i, r := range tail.Follow(context.Background()) {
		fmt.Println(i, r)
		if i == 2 {
			break
		}
		log.Append(Reading{r.At + 1, 7, r.Value + 0.25})
	}
	// Output:
	// 0 {1 7 20.5}
	// 1 {2 7 20.75}
	// 2 {3 7 21}
}

// A loop over blocks gets the records of each without a copy of its own.
func ExampleLog_BlocksFrom() {
	path, remove := scratch("readings")
	defer remove()
	log, _ := sink.Create[Reading](path)
	defer log.Close()
	log.Append(make([]Reading, 600)...)
	for first, readings := range log.BlocksFrom(100) {
		fmt.Println(first, len(readings))
	}
	// Output:
	// 100 154
	// 254 254
	// 508 92
}

// What has been processed can be given back to the disk.
func ExampleLog_Drop() {
	path, remove := scratch("readings")
	defer remove()
	log, _ := sink.Create[Reading](path)
	defer log.Close()
	log.Append(Reading{1, 7, 20.5}, Reading{2, 7, 20.75}, Reading{3, 8, 19})
	fmt.Println(log.Drop(2))
	for i, r := range log.Records() {
		fmt.Println(i, r)
	}
	// Output:
	// <nil>
	// 2 {3 8 19}
}

// A log is also a source: here of those readings that were too warm.
func ExampleRead() {
	path, remove := scratch("readings")
	defer remove()
	log, _ := sink.Create[Reading](path)
	defer log.Close()
	log.Append(Reading{1, 7, 20.5}, Reading{2, 7, 20.75}, Reading{3, 8, 19})
	warm := stage.Filter(sink.Read(log, 0), stage.Inline, func(_ context.Context, r Reading) (bool, error) {
		return r.Value > 20, nil
	})
	fmt.Println(stage.Count(context.Background(), warm))
	// Output: 2 <nil>
}

// WriteTo is one of several ends of a run: all readings go into one log, and those
// of sensor 8 into another one as well.
func ExampleWriteTo() {
	path, remove := scratch("readings")
	defer remove()
	all, _ := sink.Create[Reading](path)
	defer all.Close()
	eight, _ := sink.Create[Reading](path + "-8")
	defer eight.Close()
	both := stage.Tee(stage.Of(Reading{1, 7, 20.5}, Reading{2, 8, 19}), 2)
	of8 := stage.Filter(both[1], stage.Inline, func(_ context.Context, r Reading) (bool, error) {
		return r.Sensor == 8, nil
	})
	fmt.Println(stage.Run(context.Background(), sink.WriteTo(both[0], all), sink.WriteTo(of8, eight)))
	fmt.Println(all.Len(), eight.Len())
	// Output:
	// <nil>
	// 2 1
}
