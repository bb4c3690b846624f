package batch_test

import (
	"context"
	"errors"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/batch"
	"github.com/seed95b73fdc/sluice/stage"
)

// allocated returns how many allocations and bytes f makes.
func allocated(f func()) (count, bytes uint64) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc
}

// C27
func TestATimeoutCostsNoAllocationPerItemP10(t *testing.T) {
	items := 5_000_000
	if testing.Short() || raceEnabled {
		items = 200_000
		t.Logf("%d items instead of 5,000,000", items)
	}
	counter := stage.New(func(s *stage.Scope) stage.Reader[int] { return &count{scope: s, left: items} })
	for name, in := range map[string]stage.Stream[[]int]{
		"chunk": batch.Chunk(counter, 100, batch.Within(time.Hour), batch.Reuse()),
		"bykey": batch.ByKey(counter, func(v int) int { return v % 10 }, 100, batch.Within(time.Hour), batch.Reuse()),
	} {
		seen := 0
		mallocs, bytes := allocated(func() {
			err := stage.ForEach(context.Background(), in, 1, func(_ context.Context, b []int) error { seen += len(b); return nil })
			if err != nil {
				t.Error(err)
			}
		})
		// What there is, is once per run: the pump, its buffers, batches in flight.
		if seen != items || mallocs > 2000 || bytes > 1<<20 {
			t.Errorf("%s: %d items, %d allocations, %d bytes", name, seen, mallocs, bytes)
		}
	}
}

// count is a source of ints that costs next to nothing.
type count struct {
	scope *stage.Scope
	left  int
}

func (c *count) Next(dst []stage.Try[int]) int {
	if c.scope.Stopped() {
		return 0
	}
	k := min(len(dst), c.left)
	for i := range dst[:k] {
		dst[i] = stage.Try[int]{Value: c.left - i}
	}
	c.left -= k
	return k
}

func (c *count) Close() {}

func TestFlattenAndFiniteFunctionsAllocateNothingPerItemP10(t *testing.T) {
	items := upTo(100_000)
	for name, f := range map[string]func() error{
		"Flatten": func() error {
			in := stage.FromSlice([][]int{items[:50_000], items[50_000:]})
			return stage.Discard(context.Background(), batch.Flatten(in))
		},
		"Each": func() error {
			return batch.Each(context.Background(), items, 4, func(context.Context, int) error { return nil })
		},
		"Reduce": func() error {
			_, err := batch.Reduce(context.Background(), items, 4, 0, sum, sum)
			return err
		},
		"MapReduce": func() error {
			_, err := batch.MapReduce(context.Background(), stage.FromSlice(items), 4,
				func(_ context.Context, v int) (int, int, error) { return v % 10, 1, nil }, sum)
			return err
		},
	} {
		mallocs, _ := allocated(func() {
			if err := f(); err != nil {
				t.Error(err)
			}
		})
		if mallocs > 1000 {
			t.Errorf("%s: %d allocations for %d items", name, mallocs, len(items))
		}
	}
}

// However a run ends, the goroutine of a stage with an age ends with it; the bubble
// and TestMain see to that.
func TestNothingIsLeftWhateverEndsTheRunP5(t *testing.T) {
	endless := func(closed *atomic.Int32) stage.Stream[int] {
		return stage.Generate(func(ctx context.Context, yield func(int) bool) error {
			defer closed.Add(1)
			for v := 0; yield(v) && sleep(ctx, ms); v++ {
			}
			return nil
		})
	}
	for name, opts := range ways {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var closed atomic.Int32
				chunks := batch.Chunk(endless(&closed), 3, opts...)
				if b, ok, err := stage.First(context.Background(), chunks); len(b) != 3 || !ok || err != nil {
					t.Errorf("%v, %v", b, err)
				}
				for range chunks.Seq(context.Background()) {
					break
				}
				failed := stage.ForEach(context.Background(), chunks, 1, func(context.Context, []int) error { return errE })
				ctx, cancel := context.WithTimeoutCause(context.Background(), 10*ms, errE)
				defer cancel()
				late := stage.Discard(ctx, batch.Flatten(chunks))
				wantPanic(t, func() {
					stage.ForEach(context.Background(), chunks, 1, func(context.Context, []int) error { panic("torn") })
				})
				synctest.Wait()
				if failed != errE || late != errE || closed.Load() != 5 {
					t.Errorf("%v, %v, %d sources closed", failed, late, closed.Load())
				}
			})
		})
	}
}

func TestAStreamIsColdAndRunsAnew(t *testing.T) {
	eachWay(t, func(t *testing.T, opts []batch.Option) {
		opened := 0
		in := stage.Tap(stage.Of(1, 2, 3), func(int) { opened++ })
		chunks := batch.Chunk(in, 2, opts...)
		if opened != 0 {
			t.Error("it ran before a terminal was called")
		}
		for range 2 {
			wantShown(t, chunks, "[1 2]", "[3]")
		}
		if opened != 6 {
			t.Errorf("%d items", opened)
		}
	})
}

func TestAnErrorThatIsThereIsNotMaskedByACancellationP6(t *testing.T) {
	eachWay(t, func(t *testing.T, opts []batch.Option) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		in := batch.Chunk(mixed(1, 2, 0, 3), 2, opts...)
		err := stage.ForEach(ctx, in, 1, func(ctx context.Context, b []int) error {
			for range 1000 { // the error comes meanwhile where somebody can bring it
				runtime.Gosched()
			}
			cancel()
			return ctx.Err()
		})
		if len(opts) > 0 && err != errE && !errors.Is(err, context.Canceled) || err == nil {
			t.Errorf("got %v", err)
		}
	})
}

func TestStatsTellWhatAStageWithAnAgeDoesP12(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, stats := stage.WithStats(context.Background())
		in := stage.Map(timed(every(6, 10*ms)...), stage.Inline, func(_ context.Context, v int) (int, error) {
			if v == 4 {
				return 0, errE
			}
			return v, nil
		})
		caught := stage.Catch(batch.Chunk(in, 2, batch.Within(time.Hour), batch.Name("pack")), stage.Inline, func(context.Context, error) error { return nil })
		var inside stage.StageStats
		err := stage.ForEach(ctx, caught, 1, func(ctx context.Context, b []int) error {
			sleep(ctx, 5*ms)
			if b[0] == 2 {
				inside = stats.Stages()[0]
			}
			return nil
		})
		s := stats.Stages()[0]
		if err != nil || s.Name != "pack" || s.In != 6 || s.Out != 4 || s.Errors != 1 || s.InFlight != 0 || s.Starved != 50*ms {
			t.Errorf("%+v, %v", s, err)
		}
		if inside.In != 4 || inside.Out != 2 || inside.Starved != 35*ms {
			t.Errorf("inside %+v", inside)
		}
	})
}

func TestBlockedIsTheTimeInWhichNobodyTookABatchP12(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, stats := stage.WithStats(context.Background())
		err := stage.ForEach(ctx, batch.Chunk(stage.FromSlice(upTo(20)), 5, batch.Within(time.Hour)), 1,
			func(ctx context.Context, _ []int) error { sleep(ctx, time.Second); return nil })
		// Four batches: one in the reader's hands, one ready, one that waits for
		// room: the last of them does so until the first one is done.
		if s := stats.Stages()[0]; err != nil || s.Blocked != 2*time.Second || s.Window != 5*2+64 {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

func TestGoroutinesCarryTheirNameAsALabelP12(t *testing.T) {
	labels := func() string {
		var b strings.Builder
		pprof.Lookup("goroutine").WriteTo(&b, 1)
		return b.String()
	}
	got := make(chan string, 1)
	note := func() {
		select {
		case got <- labels():
		default:
		}
	}
	for want, run := range map[string]func(){
		"batch.Each": func() {
			batch.Each(context.Background(), upTo(1), 1, func(context.Context, int) error { note(); return nil })
		},
		"pack": func() {
			in := stage.Tap(stage.Of(1), func(int) { note() })
			stage.Discard(context.Background(), batch.Chunk(in, 1, batch.Within(time.Hour), batch.Name("pack")))
		},
		"mapreduce#1": func() {
			batch.MapReduce(context.Background(), stage.Of(1), 2, func(_ context.Context, v int) (int, int, error) { note(); return v, 1, nil }, sum)
		},
		"lookup": func() {
			c := batch.NewCoalescer(func(_ context.Context, items []int) ([]int, error) { note(); return items, nil }, 1, batch.Name("lookup"))
			defer closeNow(t, c)
			c.Do(context.Background(), 1)
		},
	} {
		run()
		if text := <-got; !strings.Contains(text, `labels: {"sluice.stage":"`+want+`"}`) {
			t.Errorf("no goroutine with the label %s:\n%s", want, text)
		}
	}
}
