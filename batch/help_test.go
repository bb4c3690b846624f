package batch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

var errE = errors.New("E")

// shown makes a text of each item, errors too.
func shown[T any](in stage.Stream[T]) stage.Stream[string] {
	return stage.Transform("show", in, stage.Inline, stage.InOrder, stage.TryFunc(
		func(_ context.Context, it stage.Try[T], out *stage.Try[string]) bool {
			*out = stage.Try[string]{Value: fmt.Sprint(it.Value)}
			if it.Error != nil {
				*out = stage.Try[string]{Value: it.Error.Error()}
			}
			return true
		}))
}

// show runs in and returns a text of each item.
func show[T any](t testing.TB, in stage.Stream[T]) []string {
	t.Helper()
	texts, err := stage.Collect(context.Background(), shown(in))
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

func wantShown[T any](t testing.TB, in stage.Stream[T], want ...string) {
	t.Helper()
	if got := show(t, in); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// mixed is a stream of 1, 2, … with E where a 0 stands.
func mixed(values ...int) stage.Stream[int] {
	return stage.Map(stage.Of(values...), stage.Inline, func(_ context.Context, v int) (int, error) {
		if v == 0 {
			return 0, errE
		}
		return v, nil
	})
}

func upTo(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// timed is a source that emits each value at a time after its start.
func timed(at ...time.Duration) stage.Stream[int] {
	return stage.Generate(func(ctx context.Context, yield func(int) bool) error {
		start := time.Now()
		for i, d := range at {
			if !sleep(ctx, d-time.Since(start)) || !yield(i) {
				return nil
			}
		}
		return nil
	})
}

// sleep sleeps, in a bubble; false means that ctx has ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// stamped runs in and returns each item with the time when it came.
func stamped[T any](t testing.TB, in stage.Stream[T]) (got []string) {
	t.Helper()
	start := time.Now()
	err := stage.ForEach(context.Background(), shown(in), 1, func(_ context.Context, s string) error {
		got = append(got, fmt.Sprintf("%v %s", time.Since(start), s))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// wantPanic runs f and returns what it panicked with.
func wantPanic(t testing.TB, f func()) (v any) {
	t.Helper()
	defer func() {
		if v = recover(); v == nil {
			t.Error("no panic")
		}
	}()
	f()
	return nil
}

// noContext is what a caller must not give.
var noContext context.Context
