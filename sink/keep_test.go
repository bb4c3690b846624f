package sink

import (
	"context"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed95b73fdc/sluice/stage"
)

// witness is a Writer that notes what becomes of the memory of a large Write.
type witness struct {
	large atomic.Int32
	freed atomic.Int32
}

const largeWrite = 1 << 20

func (w *witness) Write(b []byte) (int, error) {
	if len(b) >= largeWrite {
		w.large.Add(1)
		runtime.AddCleanup(&b[0], func(w *witness) { w.freed.Add(1) }, w)
	}
	return len(b), nil
}

// collected reports whether n comes to want when the garbage is collected; it asks for
// ever, so the test's timeout is what tells.
func collected(n *atomic.Int32, want int32) {
	for n.Load() < want {
		runtime.GC()
		runtime.Gosched()
	}
}

// A single large value makes the buffer larger while it needs that, and no longer: not until
// the next one comes.
func TestBufferOfALargeValueIsNotKeptWhileTheSinkWaits(t *testing.T) {
	for name, run := range map[string]func(ctx context.Context, in stage.Stream[string], w io.Writer) error{
		"lines": func(ctx context.Context, in stage.Stream[string], w io.Writer) error { return Lines(ctx, in, w) },
		"jsonl": func(ctx context.Context, in stage.Stream[string], w io.Writer) error { return JSONL(ctx, in, w) },
		"csv": func(ctx context.Context, in stage.Stream[string], w io.Writer) error {
			return CSV(ctx, stage.Map(in, stage.Inline, func(_ context.Context, s string) ([]string, error) { return []string{s}, nil }), w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &witness{}
			ok(t, run(t.Context(), stage.Generate(func(_ context.Context, yield func(string) bool) error {
				yield(strings.Repeat("x", largeWrite))
				collected(&w.large, 1)
				collected(&w.freed, 1)
				return nil
			}), w))
		})
	}
}

// Values that a sink has written are free to go while it waits for more.
func TestValuesAreNotKeptWhileTheSinkWaits(t *testing.T) {
	type value struct {
		A    int
		Fill [4]int // so that it does not share its memory with other values
	}
	for name, run := range map[string]func(in stage.Stream[*value]) error{
		"jsonl": func(in stage.Stream[*value]) error { return JSONL(t.Context(), in, io.Discard) },
		"sql": func(in stage.Stream[*value]) error {
			_, db := newBase()
			defer db.Close()
			return SQL(t.Context(), in, db, "INSERT", func(v *value) []any { return []any{int64(v.A)} })
		},
	} {
		t.Run(name, func(t *testing.T) {
			const count = 1000
			var freed atomic.Int32
			ok(t, run(stage.Generate(func(_ context.Context, yield func(*value) bool) error {
				for i := range count {
					v := &value{A: i}
					runtime.AddCleanup(v, func(*int) { freed.Add(1) }, nil)
					yield(v)
				}
				collected(&freed, count)
				return nil
			})))
		})
	}
}
