package stage_test

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// statOf is what the stats have of a stage.
func statOf(t *testing.T, stats *stage.Stats, name string) stage.StageStats {
	t.Helper()
	for _, s := range stats.Stages() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no stage is called %s: %+v", name, stats.Stages())
	return stage.StageStats{}
}

// maps are both orders of the parallel engine.
var maps = map[string]func(in stage.Stream[int], n int, f func(context.Context, int) (int, error), opts ...stage.Option) stage.Stream[int]{
	"stage.Map": stage.Map[int, int], "ordered.Map": ordered.Map[int, int],
}

// ticking is a channel that gives k items, one every d, and is then closed.
func ticking(d time.Duration, k int) <-chan int {
	ch := make(chan int)
	go func() {
		defer close(ch)
		for i := range k {
			time.Sleep(d)
			ch <- i
		}
	}()
	return ch
}

func nap(d time.Duration) func(context.Context, int) (int, error) {
	return func(_ context.Context, v int) (int, error) {
		time.Sleep(d)
		return v, nil
	}
}

func TestStatsCountItemsAndErrors(t *testing.T) {
	for name, mapped := range maps {
		ctx, stats := stage.WithStats(t.Context())
		in := mapped(items(1, errA, 2, 3, errB, 4), 3, func(_ context.Context, v int) (int, error) {
			if v == 3 {
				return 0, errA
			}
			return v, nil
		}, stage.Name("map"))
		kept := stage.Filter(in, 2, func(_ context.Context, v int) (bool, error) { return v > 1, nil }, stage.Name("filter"))
		if k, err := stage.Count(ctx, whole(kept)); k != 5 || err != nil {
			t.Fatal(k, err)
		}
		if s := statOf(t, stats, "map"); s.In != 6 || s.Out != 6 || s.Errors != 3 || s.InFlight != 0 || s.Calls != 0 || s.N != 3 {
			t.Errorf("%s: %+v", name, s)
		}
		if s := statOf(t, stats, "filter"); s.In != 6 || s.Out != 5 || s.Errors != 3 || s.InFlight != 0 || s.N != 2 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestStatsOfAFlatMapCountValuesInAndItemsOut(t *testing.T) {
	for _, way := range flats {
		ctx, stats := stage.WithStats(t.Context())
		in := way.flat(items(1, errA, 2, 0), 2, func(_ context.Context, v int) stage.Stream[int] {
			return items(append(numbers(v), errB)...)
		}, stage.Name("flat"), stage.Window(3))
		if k, err := stage.Count(ctx, whole(in)); k != 7 || err != nil {
			t.Fatal(k, err)
		}
		if s := statOf(t, stats, "flat"); s.In != 4 || s.Out != 7 || s.Errors != 4 || s.InFlight != 0 || s.Calls != 0 || s.N != 2 || s.Window != 3 {
			t.Errorf("%+v", s)
		}
	}
}

func TestStatsKnowHowLongAStageWasBusyP12(t *testing.T) {
	for name, mapped := range maps {
		for _, n := range []int{1, 2, 5} {
			synctest.Test(t, func(t *testing.T) {
				ctx, stats := stage.WithStats(t.Context())
				if err := stage.Discard(ctx, mapped(items(numbers(20)...), n, nap(time.Second), stage.Name("map"))); err != nil {
					t.Fatal(err)
				}
				s := statOf(t, stats, "map")
				if s.Busy != 20*time.Second || s.Starved != 0 || s.Blocked != 0 || s.In != 20 || s.Out != 20 {
					t.Errorf("%s, n = %d: %+v", name, n, s)
				}
			})
		}
	}
}

func TestStatsKnowHowLongAStageWasStarvedP12(t *testing.T) {
	for name, mapped := range maps {
		synctest.Test(t, func(t *testing.T) {
			// An item every three seconds, a call of one: it waits for 3, 2 and 2
			// seconds, with another worker that takes over for 3, 3 and 3.
			for n, want := range map[int]time.Duration{1: 7 * time.Second, 2: 9 * time.Second} {
				ctx, stats := stage.WithStats(t.Context())
				if err := stage.Discard(ctx, mapped(stage.FromChan(ticking(3*time.Second, 3)), n, nap(time.Second), stage.Name("map"))); err != nil {
					t.Fatal(err)
				}
				if s := statOf(t, stats, "map"); s.Busy != 3*time.Second || s.Starved != want || s.Blocked != 0 {
					t.Errorf("%s, n = %d: %+v", name, n, s)
				}
			}
		})
	}
}

func TestStatsKnowHowLongAStageWasBlockedP12(t *testing.T) {
	for name, mapped := range maps {
		synctest.Test(t, func(t *testing.T) {
			// The consumer takes an item a second. The first is taken at once, the
			// four others are held for a second each.
			ctx, stats := stage.WithStats(t.Context())
			in := mapped(items(numbers(5)...), 1, id, stage.Name("map"), stage.Window(1))
			for range in.Seq(ctx) {
				time.Sleep(time.Second)
			}
			if s := statOf(t, stats, "map"); s.Busy != 0 || s.Starved != 0 || s.Blocked != 4*time.Second {
				t.Errorf("%s: %+v", name, s)
			}
			// As it goes on, too.
			ctx, stats = stage.WithStats(t.Context())
			for v := range in.Seq(ctx) {
				synctest.Wait()
				time.Sleep(time.Second)
				want := stage.StageStats{Name: "map", N: 1, In: uint64(min(v+2, 5)), Out: uint64(v + 1), InFlight: min(1, 4-v), Window: 1, Blocked: time.Duration(min(v+1, 4)) * time.Second}
				if s := statOf(t, stats, "map"); s != want {
					t.Errorf("%s, at item %d: %+v, want %+v", name, v, s, want)
				}
			}
		})
	}
}

func TestStatsOfAForEachTellWhatItWaitsForAndHoldsP12(t *testing.T) {
	for _, n := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stats := stage.WithStats(t.Context())
			work := func(_ context.Context, v int) error {
				time.Sleep(time.Second)
				if s := statOf(t, stats, "each"); s.In != uint64(v+1) || s.Out != uint64(v) || s.InFlight != 1 || s.Calls != 1 {
					t.Errorf("n = %d, in f for item %d: %+v", n, v, s)
				}
				return nil
			}
			if n > 1 { // which emits nothing but errors
				work = func(context.Context, int) error { time.Sleep(time.Second); return nil }
			}
			err := stage.ForEach(ctx, stage.FromChan(ticking(3*time.Second, 3)), n, work, stage.Name("each"))
			s := statOf(t, stats, "each")
			want := map[int]time.Duration{1: 7 * time.Second, 2: 9 * time.Second}[n]
			if err != nil || s.In != 3 || s.Errors != 0 || s.Busy != 3*time.Second || s.Starved != want || s.Blocked != 0 {
				t.Errorf("n = %d: %v, %+v", n, err, s)
			}
		})
	}
}

func TestStatsOfAFlatMapTellItsTimesApartP12(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := func(every, work, take time.Duration) stage.StageStats {
			ctx, stats := stage.WithStats(t.Context())
			in := stage.FlatMap(stage.FromChan(ticking(every, 2)), 1, func(_ context.Context, v int) stage.Stream[int] {
				return stage.Map(items(1, 2, 3), stage.Inline, nap(work))
			}, stage.Name("flat"))
			for _, err := range in.Seq(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(take)
			}
			s := statOf(t, stats, "flat")
			if s.In != 2 || s.Out != 6 || s.InFlight != 0 || s.N != 1 {
				t.Errorf("%+v", s)
			}
			return s
		}
		if s := run(0, time.Second, 0); s.Busy != 6*time.Second || s.Starved != 0 || s.Blocked != 0 {
			t.Errorf("busy: %+v", s)
		}
		// The first item is taken at once, the second waits in the lane, and the
		// third for the lane, and then the window is full until it is taken: a second
		// each. The second value's first item has to wait as well.
		if s := run(0, 0, time.Second); s.Busy != 0 || s.Starved != 0 || s.Blocked != 5*time.Second {
			t.Errorf("blocked: %+v", s)
		}
		if s := run(time.Minute, 0, 0); s.Busy != 0 || s.Starved != 2*time.Minute || s.Blocked != 0 {
			t.Errorf("starved: %+v", s)
		}
	})
}

func TestStatsMayBeAskedInsideAFunctionOfTheRunC44(t *testing.T) {
	for name, mapped := range maps {
		synctest.Test(t, func(t *testing.T) {
			ctx, stats := stage.WithStats(t.Context())
			in := mapped(items(numbers(9)...), 3, func(_ context.Context, v int) (int, error) {
				time.Sleep(time.Second)
				defer time.Sleep(time.Second) // nothing moves while the three look
				if s := statOf(t, stats, "map"); s.In != uint64(v/3*3+3) || s.InFlight != 3 || s.Calls != 3 || s.Window != 3 {
					t.Errorf("%s, in f for %d: %+v", name, v, s)
				}
				return v, nil
			}, stage.Name("map"))
			if err := stage.Discard(ctx, stage.Tap(in, func(context.Context, int) error { stats.Stages(); return nil })); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestStagesAreNamedAfterTheirOperatorAndNumberOrByName(t *testing.T) {
	ctx, stats := stage.WithStats(t.Context())
	var inside []string
	in := stage.Map(stage.Filter(stage.Of(1), 2, isEven), 1, id)
	in = ordered.Map(in, 3, id, stage.Name("lookup"))
	in = stage.FlatMap(in, 2, func(_ context.Context, v int) stage.Stream[int] { return stage.Map(stage.Of(v), 2, id) })
	err := stage.ForEach(ctx, in, 4, func(context.Context, int) error { return nil })
	for _, s := range stats.Stages() {
		inside = append(inside, s.Name)
	}
	if got := strings.Join(inside, " "); err != nil || got != "filter#1 map#2 lookup flatmap#4 foreach#5" {
		t.Errorf("%v, %s", err, got)
	}
}

func TestStatsOfSeveralRunsAddUp(t *testing.T) {
	ctx, stats := stage.WithStats(t.Context())
	in := stage.Map(items(numbers(10)...), 2, id, stage.Name("map"))
	for range 100 {
		if err := stage.Discard(ctx, in); err != nil {
			t.Fatal(err)
		}
	}
	if all := stats.Stages(); len(all) != 1 || all[0].In != 1000 || all[0].Out != 1000 {
		t.Errorf("%+v", all)
	}
	// A context without them counts nowhere.
	if err := stage.Discard(t.Context(), in); err != nil || stats.Stages()[0].In != 1000 {
		t.Errorf("%v, %+v", err, stats.Stages())
	}
}

// labelCount is how many goroutines carry the label of a stage.
func labelCount(t *testing.T, name string) (count int) {
	var buf bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&buf, 1); err != nil {
		t.Fatal(err)
	}
	group := regexp.MustCompile(`(?m)^(\d+) @ .*\n# labels: (\{.*\})$`)
	for _, m := range group.FindAllStringSubmatch(buf.String(), -1) {
		if strings.Contains(m[2], fmt.Sprintf(`"sluice.stage":%q`, name)) {
			k, _ := strconv.Atoi(m[1])
			count += k
		}
	}
	return count
}

func TestWorkersCarryTheNameOfTheirStageAsALabelP12(t *testing.T) {
	const name = "labelled-stage"
	in := func(f func(context.Context, int) (int, error)) map[string]stage.Stream[int] {
		return map[string]stage.Stream[int]{
			"map":     stage.Map(items(numbers(4)...), 4, f, stage.Name(name)),
			"ordered": ordered.Map(items(numbers(4)...), 4, f, stage.Name(name)),
			"flatmap": stage.FlatMap(items(numbers(4)...), 4, func(ctx context.Context, v int) stage.Stream[int] {
				f(ctx, v)
				return stage.Of(v)
			}, stage.Name(name)),
		}
	}
	for how := range in(id) {
		synctest.Test(t, func(t *testing.T) {
			gate := make(chan struct{})
			blocked := in(func(ctx context.Context, v int) (int, error) {
				if got, _ := pprof.Label(ctx, "sluice.stage"); got != name {
					t.Errorf("%s: the context of f has the label %q", how, got)
				}
				<-gate
				return v, nil
			})[how]
			go func() {
				synctest.Wait()
				if k := labelCount(t, name); k != 4 {
					t.Errorf("%s: %d goroutines carry the label, want 4", how, k)
				}
				close(gate)
			}()
			if err := stage.Discard(t.Context(), blocked); err != nil {
				t.Error(err)
			}
			synctest.Wait() // whoever has said that he is done is gone
			if k := labelCount(t, name); k != 0 {
				t.Errorf("%s: %d goroutines carry the label after the run", how, k)
			}
		})
	}
	// The goroutines of generators and branches do, too.
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		gen := stage.Generate(func(_ context.Context, yield func(int) bool) error { <-gate; yield(1); return nil })
		yes, no := stage.Split(gen, even, stage.Name(name))
		go func() {
			synctest.Wait()
			if g, s := labelCount(t, "generate#1"), labelCount(t, name); g != 1 || s != 1 {
				t.Errorf("%d and %d goroutines carry the labels, want 1 and 1", g, s)
			}
			close(gate)
		}()
		wantList(t, stage.Merge(yes, no), 1)
	})
}
