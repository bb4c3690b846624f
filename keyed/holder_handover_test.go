package keyed_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/keyed"
	"github.com/seed95b73fdc/sluice/stage"
)

// C114: stop intake, finish what was accepted, commit, release; then the next
// owner begins, under the next epoch, with what was committed.
func TestHandOverDrainsThenReleasesThenTheNextEpochBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := keyed.NewMemoryLeases()
		var events []string
		committed := 0
		note := func(format string, args ...any) { events = append(events, fmt.Sprintf(format, args...)) }

		records := make(chan int)
		go func() {
			defer close(records)
			for i := range 100 {
				select {
				case records <- i:
				case <-t.Context().Done():
					return
				}
			}
		}()
		var accepted []int
		work := func(owner string, last int) func(context.Context, *keyed.Term) error {
			return func(ctx context.Context, term *keyed.Term) error {
				note("%s begins in epoch %d at %d", owner, term.Epoch(), committed)
				done := committed
				in := stage.Until(stage.FromChan(records), term.Draining())
				err := stage.ForEach(ctx, in, 1, func(_ context.Context, record int) error {
					time.Sleep(time.Second)
					accepted = append(accepted, record)
					done++
					return nil
				})
				note("%s commits %d", owner, done)
				committed = done
				return err
			}
		}
		a, b := keyed.NewHolder(store, "a", ttl), keyed.NewHolder(store, "b", ttl)
		doneA, doneB := make(chan error, 1), make(chan error, 1)
		go func() { doneA <- a.Hold(t.Context(), "p", work("a", 0)) }()
		synctest.Wait()
		go func() { doneB <- b.Hold(t.Context(), "p", work("b", 0)) }()
		time.Sleep(time.Minute + time.Second/2) // in the middle of a record
		if err := a.HandOver(t.Context(), "p"); err != nil {
			t.Error(err)
		}
		note("handed over")
		if l, held := store.Lookup("p"); held || l.Epoch != 1 {
			t.Errorf("after the hand-over: %v, %v", l, held)
		}
		if err := <-doneA; err != nil {
			t.Error(err)
		}
		if err := <-doneB; err != nil {
			t.Error(err)
		}
		at := committedAt(events)
		want := []string{"a begins in epoch 1 at 0", fmt.Sprintf("a commits %d", at), "handed over", fmt.Sprintf("b begins in epoch 2 at %d", at), "b commits 100"}
		if !slices.Equal(events, want) || at < 60 || at > 62 {
			t.Errorf("got %q, want %q", events, want)
		}
		for i, record := range accepted {
			if record != i {
				t.Fatalf("record %d came at place %d", record, i)
			}
		}
		if len(accepted) != 100 {
			t.Errorf("%d records", len(accepted))
		}
	})
}

// committedAt is the number in the second event.
func committedAt(events []string) (n int) {
	if len(events) > 1 {
		fmt.Sscanf(events[1], "a commits %d", &n)
	}
	return n
}

func TestHandOverKeepsTheLeaseWhileTheWorkDrains(t *testing.T) {
	holderTest(t, "", func(t *testing.T, store *scripted, h *keyed.Holder) {
		done := make(chan error, 1)
		go func() {
			done <- h.Hold(t.Context(), "p", func(ctx context.Context, term *keyed.Term) error {
				<-term.Draining()
				time.Sleep(time.Hour)
				if l, held := store.Lookup("p"); !held || l.Epoch != 1 || ctx.Err() != nil {
					t.Errorf("an hour into draining: %v, %v, %v", l, held, ctx.Err())
				}
				return nil
			})
		}()
		synctest.Wait()
		start := time.Now()
		if err := h.HandOver(t.Context(), "p"); err != nil || time.Since(start) != time.Hour {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestHandOverWhoseContextEndsAbortsTheWork(t *testing.T) {
	holderTest(t, "", func(t *testing.T, store *scripted, h *keyed.Holder) {
		done := make(chan error, 1)
		go func() { done <- h.Hold(t.Context(), "p", untilDone) }() // does not drain
		synctest.Wait()
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errBoom)
		defer cancel()
		start := time.Now()
		if err := h.HandOver(ctx, "p"); err != errBoom || time.Since(start) != time.Minute {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		if err := <-done; err != errBoom {
			t.Errorf("hold: got %v", err)
		}
		if _, held := store.Lookup("p"); held {
			t.Error("not released")
		}
	})
}

func TestHandOverOfNothingIsDone(t *testing.T) {
	h := keyed.NewHolder(keyed.NewMemoryLeases(), "a", ttl)
	if err := h.HandOver(t.Context(), "p"); err != nil {
		t.Error(err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestHandOverConcernsItsPartitionAndCloseAll(t *testing.T) {
	holderTest(t, "", func(t *testing.T, store *scripted, h *keyed.Holder) {
		drained := make(chan string, 3)
		done := make(chan error, 3)
		for _, p := range []string{"p", "q", "r"} {
			go func() {
				done <- h.Hold(t.Context(), p, func(_ context.Context, term *keyed.Term) error {
					<-term.Draining()
					drained <- p
					time.Sleep(time.Second)
					return nil
				})
			}()
		}
		synctest.Wait()
		for range 2 { // the second finds it on its way
			if err := h.HandOver(t.Context(), "q"); err != nil {
				t.Error(err)
			}
		}
		if got := <-drained; got != "q" || len(drained) != 0 {
			t.Errorf("drained %s and %d more", got, len(drained))
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errBoom)
		defer cancel()
		if err := h.Close(ctx); err != errBoom {
			t.Errorf("got %v", err)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
		for range 3 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

// A lease that is granted while the holder closes must not be worked on, nor kept.
func TestHolderThatIsClosedWhileItAcquiresReleases(t *testing.T) {
	holderTest(t, "", func(t *testing.T, store *scripted, h *keyed.Holder) {
		store.acquire = func(real func() (keyed.Lease, error)) (keyed.Lease, error) {
			l, err := real()
			time.Sleep(time.Second)
			return l, err
		}
		done := make(chan error, 1)
		go func() {
			done <- h.Hold(t.Context(), "p", func(context.Context, *keyed.Term) error { t.Error("works"); return nil })
		}()
		synctest.Wait()
		start := time.Now()
		if err := h.Close(t.Context()); err != nil || time.Since(start) != time.Second {
			t.Errorf("close: %v after %v", err, time.Since(start))
		}
		if err := <-done; !errors.Is(err, keyed.ErrHolderClosed) {
			t.Errorf("got %v", err)
		}
		if l, held := store.Lookup("p"); held || l.Epoch != 1 {
			t.Errorf("got %v, %v", l, held)
		}
	})
}
