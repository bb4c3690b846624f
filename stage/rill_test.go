package stage_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/destel/rill"

	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// received is what comes out of a rill stream, to its end.
func received(ch <-chan stage.Try[int]) (got []any) {
	for a := range ch {
		if a.Error != nil {
			got = append(got, a.Error)
		} else {
			got = append(got, a.Value)
		}
	}
	return got
}

func TestFromRillEmitsItemsAndErrorsInTheirPlace(t *testing.T) {
	for _, want := range [][]any{{}, {1}, {errA}, {errA, 1, errB}, {1, errA, errA, 2}} {
		ch := make(chan stage.Try[int], len(want))
		for _, item := range want {
			ch <- try(item)
		}
		close(ch)
		wantList(t, stage.FromRill(ch), want...)
	}
	squares := rill.OrderedMap(rill.FromSlice([]int{1, 2, 3, 4}, nil), 3, func(v int) (int, error) { return v * v, nil })
	wantList(t, ordered.Map(stage.FromRill(squares), 2, id), 1, 4, 9, 16)
}

func TestToRillFeedsTheFunctionsOfRill(t *testing.T) {
	in := ordered.Map(items(numbers(1000)...), 4, id)
	doubled := rill.OrderedMap(stage.ToRill(t.Context(), in), 3, func(v int) (int, error) { return 2 * v, nil })
	got, err := rill.ToSlice(doubled)
	if err != nil || len(got) != 1000 || got[999] != 1998 || !slices.IsSorted(got) {
		t.Fatal(len(got), err)
	}
	// There and back again, errors included.
	mixed := items(1, errA, 2, 3, errB)
	wantList(t, stage.FromRill(rill.OrderedFilter(stage.ToRill(t.Context(), mixed), 2, func(v int) (bool, error) { return v != 2, nil })), 1, errA, 3, errB)
	if err := rill.ForEach(stage.ToRill(t.Context(), mixed), 1, func(int) error { return nil }); err != errA {
		t.Fatal(err)
	}
}

func TestToRillSendsErrorsInTheirPlaceAndGoesOn(t *testing.T) {
	for _, want := range [][]any{nil, {1}, {errA}, {errA, 1, errB}, append(numbers(500), errA, 7)} {
		if got := received(stage.ToRill(t.Context(), items(want...))); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", brief(got), brief(want))
		}
	}
}

func TestToRillEndsWithTheContextAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Nobody reads.
		var y yielder
		ctx, cancel := context.WithCancelCause(t.Context())
		ch := stage.ToRill(ctx, stage.Map(y.stream(), 3, id))
		synctest.Wait()
		cancel(errB)
		synctest.Wait()
		if got := received(ch); len(got) != 1 || got[0] != errB || y.closed.Load() != 1 {
			t.Error(got, y.closed.Load())
		}
		// Somebody reads on.
		ctx, cancel = context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errB) })
		got := received(stage.ToRill(ctx, stage.Concat(items(1, 2), stage.FromChan(make(chan int)))))
		if !slices.Equal(got, []any{1, 2, errB}) {
			t.Error(got)
		}
		// The context is done before.
		if got := received(stage.ToRill(ctx, items(1, 2))); !slices.Equal(got, []any{errB}) {
			t.Error(got)
		}
	})
}

func TestToRillTurnsAPanicIntoItsLastItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := stage.Generate(func(_ context.Context, yield func(int) bool) error {
			yield(1)
			time.Sleep(time.Second)
			panic(errA)
		})
		ch := stage.ToRill(t.Context(), in)
		time.Sleep(time.Minute) // nobody has read anything yet, and nothing is thrown away for it
		got := received(ch)
		if len(got) != 2 || got[0] != 1 {
			t.Fatal(got)
		}
		p, _ := got[1].(*stage.Panic)
		if p == nil || p.Stage != "generate#1" || !errors.Is(p, errA) {
			t.Error(got[1])
		}
	})
}

func TestToRillTellsOfAGoexitInItsOwnGoroutine(t *testing.T) {
	in := stage.Tap(items(numbers(1000)...), func(v int) {
		if v == 300 {
			runtime.Goexit()
		}
	})
	got := received(stage.ToRill(t.Context(), in))
	if err, _ := got[len(got)-1].(error); !errors.Is(err, stage.ErrGoexit) {
		t.Errorf("%d items, the last one is %v", len(got), got[len(got)-1])
	}
}

func TestToRillWhoseReaderLeavesEarlyEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var y yielder
		ctx, cancel := context.WithCancel(t.Context())
		found, err := rill.Any(stage.ToRill(ctx, y.stream()), 2, func(v int) (bool, error) { return v == 10, nil })
		if !found || err != nil {
			t.Error(found, err)
		}
		cancel()
		synctest.Wait()
		if y.closed.Load() != 1 {
			t.Error("the run goes on")
		}
	})
}

func TestToRillOfAStalledRunSaysSo(t *testing.T) {
	yes, no := stage.Split(naturals(), even)
	got := received(stage.ToRill(t.Context(), stage.Concat(no, yes)))
	if err, _ := got[len(got)-1].(error); !errors.Is(err, stage.ErrStalled) {
		t.Error(got[len(got)-1])
	}
}
