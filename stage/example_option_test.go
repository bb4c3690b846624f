package stage_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// The name of a stage stands in its errors, its panics, its Stats, and in the
// profile.
func ExampleName() {
	ctx, stats := stage.WithStats(context.Background())
	sizes := stage.Map(stage.Of("a", "bb"), 2, func(_ context.Context, s string) (int, error) {
		return len(s), nil
	}, stage.Name("measure"))
	err := stage.Discard(ctx, sizes)
	fmt.Println(stats.Stages()[0].Name, err)
	// Output: measure <nil>
}

// Pictures take much memory: the stage that loads them holds two at most, those
// being loaded and those that wait for their reader together.
func ExampleWindow() {
	load := func(_ context.Context, name string) ([]byte, error) { return make([]byte, 1000), nil }
	names := stage.Of("a.png", "b.png", "c.png", "d.png", "e.png")
	pictures := stage.Map(names, 2, load, stage.Window(2), stage.Name("load"))

	ctx, stats := stage.WithStats(context.Background())
	most := 0
	err := stage.ForEach(ctx, pictures, 1, func(context.Context, []byte) error {
		most = max(most, stats.Stages()[0].InFlight)
		return nil
	})
	fmt.Println(most <= 2, err)
	// Output: true <nil>
}

// A plug-in that panics costs its own item and nothing else.
func ExampleRecoverPanics() {
	render := func(_ context.Context, page string) (string, error) {
		var layouts map[string][]string
		if page == "index" {
			return "<html>", nil
		}
		return layouts[page][0], nil // out of range
	}
	pages := stage.Map(stage.Of("about", "index"), stage.Inline, render, stage.RecoverPanics(), stage.Name("render"))
	whole := stage.Catch(pages, stage.Inline, func(_ context.Context, err error) error {
		if p, ok := errors.AsType[*stage.Panic](err); ok {
			fmt.Println("in", p.Stage+":", p.Value)
			return nil
		}
		return err
	})
	fmt.Println(stage.Collect(context.Background(), whole))
	// Output:
	// in render: runtime error: index out of range [0] with length 0
	// [<html>] <nil>
}

// Without RecoverPanics a panic of any function of the run, in whatever
// goroutine, is raised where the terminal was called: where it can be recovered.
func ExamplePanic() {
	defer func() {
		p := recover().(*stage.Panic)
		fmt.Println(p.Stage, "panicked with", p.Value)
		fmt.Println("stack of the place:", strings.Contains(string(p.Stack), "ExamplePanic"))
	}()
	halves := stage.Map(stage.Of(1, 2), 2, func(context.Context, int) (int, error) {
		panic("not written yet")
	}, stage.Name("halve"))
	stage.Discard(context.Background(), halves)
	// Output:
	// halve panicked with not written yet
	// stack of the place: true
}

// A test helper that fails deep inside a worker ends its goroutine. That is an
// error of the item.
func Example_goexit() {
	checked := stage.Map(stage.Of(1), 1, func(_ context.Context, v int) (int, error) {
		runtime.Goexit() // as t.FailNow does
		return v, nil
	}, stage.Name("check"))
	err := stage.Discard(context.Background(), checked)
	fmt.Println(errors.Is(err, stage.ErrGoexit), err)
	// Output: true check: stage: function called runtime.Goexit
}

// A function can tell why it was stopped: that downstream has enough is no
// failure to be logged.
func Example_cause() {
	watch := stage.Generate(func(ctx context.Context, yield func(string) bool) error {
		yield("changed")
		<-ctx.Done()
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, stage.ErrClosed), errors.Is(cause, stage.ErrEnded):
			fmt.Println("nobody needs more")
		case errors.Is(cause, stage.ErrUntil):
			fmt.Println("asked to stop")
		default:
			fmt.Println("aborted:", cause)
		}
		return nil
	})
	stage.First(context.Background(), watch)

	stop := make(chan struct{})
	stage.ForEach(context.Background(), stage.Until(watch, stop), 1, func(context.Context, string) error {
		close(stop)
		return nil
	})

	ctx, cancel := context.WithCancelCause(context.Background())
	stage.ForEach(ctx, watch, 1, func(context.Context, string) error {
		cancel(errors.New("power is going"))
		return nil
	})
	// Output:
	// nobody needs more
	// asked to stop
	// aborted: power is going
}

// A bad argument panics where it is written, not when the stream runs.
func Example_badArgument() {
	defer func() { fmt.Println(recover()) }()
	stage.Map(stage.Of(1), -1, func(_ context.Context, v int) (int, error) { return v, nil })
	// Output: stage.Map: n is -1, want 0 (Inline) to 1048576
}

// The Stats of a run, here read after its end; a page for the operator reads
// them while it goes on.
func ExampleWithStats() {
	ctx, stats := stage.WithStats(context.Background())
	pages := stage.Map(stage.Of("/", "/gone", "/about"), 2, func(_ context.Context, path string) (string, error) {
		if path == "/gone" {
			return "", errors.New("404")
		}
		return "<html>", nil
	}, stage.Name("fetch"))
	there := stage.Catch(pages, stage.Inline, func(context.Context, error) error { return nil })
	stage.ForEach(ctx, there, 1, func(context.Context, string) error { return nil }, stage.Name("store"))
	for _, s := range stats.Stages() {
		fmt.Printf("%s: %d in, %d out, %d errors, %d in flight\n", s.Name, s.In, s.Out, s.Errors, s.InFlight)
	}
	// Output:
	// fetch: 3 in, 3 out, 1 errors, 0 in flight
	// store: 2 in, 2 out, 0 errors, 0 in flight
}

// Where is it slow? A stage that waits for upstream is starved, one whose reader
// is slower is blocked, and the one that is neither needs more workers.
func ExampleStageStats() {
	advice := func(s stage.StageStats) string {
		switch {
		case s.Starved > s.Busy:
			return s.Name + ": look upstream"
		case s.Blocked > s.Busy:
			return s.Name + ": look downstream"
		}
		return s.Name + ": a larger n"
	}
	fmt.Println(advice(stage.StageStats{Name: "parse", Busy: time.Second, Blocked: time.Minute}))
	fmt.Println(advice(stage.StageStats{Name: "lookup", Busy: time.Minute}))
	fmt.Println(advice(stage.StageStats{Name: "write", Busy: time.Second, Starved: time.Minute}))
	// Output:
	// parse: look downstream
	// lookup: a larger n
	// write: look upstream
}

// A snapshot of the Stats may be taken by a function of the run itself.
func ExampleStats_Stages() {
	ctx, stats := stage.WithStats(context.Background())
	stage.ForEach(ctx, stage.Of("a", "b", "c"), 1, func(_ context.Context, v string) error {
		s := stats.Stages()[0]
		fmt.Println(v, "comes after", s.Out)
		return nil
	}, stage.Name("store"))
	// Output:
	// a comes after 0
	// b comes after 1
	// c comes after 2
}
