package keyed_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/keyed"
)

// scriptedJournal fails where it is told to.
type scriptedJournal struct {
	keyed.MemoryJournal
	append func(r keyed.SagaRecord, real func() error) error
}

func (j *scriptedJournal) Append(ctx context.Context, key string, seq int, r keyed.SagaRecord) error {
	real := func() error { return j.MemoryJournal.Append(ctx, key, seq, r) }
	if j.append == nil {
		return real()
	}
	return j.append(r, real)
}

// step makes one that notes its calls in log.
func step(log *[]string, name string, do, undo func(context.Context) error) keyed.Step[string] {
	call := func(what string, f func(context.Context) error) func(context.Context, keyed.SagaCall, string) error {
		return func(ctx context.Context, _ keyed.SagaCall, _ string) error {
			*log = append(*log, what+" "+name)
			if f == nil {
				return nil
			}
			return f(ctx)
		}
	}
	return keyed.Step[string]{Name: name, Do: call("do", do), Undo: call("undo", undo)}
}

func fail(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

func TestSagaDoesItsStepsInOrderOncePerKey(t *testing.T) {
	var log []string
	s := keyed.NewSaga(&keyed.MemoryJournal{}, step(&log, "a", nil, nil), step(&log, "b", nil, nil))
	for range 2 {
		if err := s.Run(t.Context(), "k", "data"); err != nil {
			t.Error(err)
		}
	}
	if err := s.Run(t.Context(), "l", "data"); err != nil {
		t.Error(err)
	}
	if want := []string{"do a", "do b", "do a", "do b"}; !slices.Equal(log, want) {
		t.Errorf("got %q, want %q", log, want)
	}
}

func TestSagaCallsAreTold(t *testing.T) {
	type data struct{ N int }
	ids := make(map[string]bool)
	note := func(_ context.Context, c keyed.SagaCall, d data) error {
		ids[c.ID()] = true
		if d != (data{7}) {
			t.Errorf("got %v", d)
		}
		if c.Step == "fails" {
			return errBoom
		}
		return nil
	}
	s := keyed.NewSaga(&keyed.MemoryJournal{},
		keyed.Step[data]{Name: "b", Do: note, Undo: note}, keyed.Step[data]{Name: "fails", Do: note, Undo: func(ctx context.Context, c keyed.SagaCall, d data) error {
			note(ctx, c, d)
			return nil
		}})
	for _, key := range []string{"a", `a"/"b`, ""} {
		if err := s.Run(t.Context(), key, data{7}); !errors.Is(err, keyed.ErrUndone) || !errors.Is(err, errBoom) {
			t.Errorf("got %v", err)
		}
	}
	if len(ids) != 6 {
		t.Errorf("%d different IDs: %v", len(ids), ids)
	}
}

func TestSagaThatFailsIsUndoneBackwards(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"perhaps with an effect": {errBoom, "do a, do b, do c, undo c, undo b, undo a"},
		"surely without one":     {errors.Join(errBoom, keyed.ErrNotDone), "do a, do b, do c, undo b, undo a"},
	} {
		var log []string
		journal := &keyed.MemoryJournal{}
		s := keyed.NewSaga(journal, step(&log, "a", nil, nil), step(&log, "b", nil, nil), step(&log, "c", fail(c.err), nil), step(&log, "d", nil, nil))
		err := s.Run(t.Context(), "k", "")
		var e *keyed.SagaError
		if !errors.Is(err, keyed.ErrUndone) || !errors.Is(err, errBoom) || !errors.As(err, &e) || e.Step != "c" || e.Key != "k" {
			t.Errorf("%s: got %v", name, err)
		}
		if got := strings.Join(log, ", "); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
		// Asked again, it says the same from the journal.
		if again := s.Run(t.Context(), "k", ""); again.Error() != err.Error() || !errors.Is(again, keyed.ErrUndone) {
			t.Errorf("%s: got %v, then %v", name, err, again)
		}
	}
}

func TestSagaWithoutAnUndoHasNothingToTakeBack(t *testing.T) {
	var log []string
	a := step(&log, "a", nil, nil)
	a.Undo = nil
	s := keyed.NewSaga(&keyed.MemoryJournal{}, a, step(&log, "b", fail(errBoom), nil))
	if err := s.Run(t.Context(), "k", ""); !errors.Is(err, keyed.ErrUndone) {
		t.Errorf("got %v", err)
	}
}

func TestSagaWhoseUndoFailsIsResumedBackwards(t *testing.T) {
	var log []string
	undo := errBoom
	s := keyed.NewSaga(&keyed.MemoryJournal{},
		step(&log, "a", nil, func(context.Context) error { return undo }),
		step(&log, "b", nil, nil),
		step(&log, "c", fail(errFailed), nil))
	err := s.Run(t.Context(), "k", "")
	if !errors.Is(err, keyed.ErrUnfinished) || !errors.Is(err, errBoom) || !errors.Is(err, errFailed) || errors.Is(err, keyed.ErrUndone) {
		t.Errorf("got %v", err)
	}
	if err := s.Resume(t.Context()); !errors.Is(err, keyed.ErrUnfinished) || !errors.Is(err, errBoom) || !strings.Contains(err.Error(), errFailed.Error()) {
		t.Errorf("got %v", err)
	}
	undo = nil
	if err := s.Resume(t.Context()); err != nil {
		t.Error(err)
	}
	if want := "do a, do b, do c, undo c, undo b, undo a, undo a, undo a"; strings.Join(log, ", ") != want {
		t.Errorf("got %q, want %s", log, want)
	}
	if err := s.Run(t.Context(), "k", ""); !errors.Is(err, keyed.ErrUndone) {
		t.Errorf("got %v", err)
	}
}

func TestSagaStopsWithItsContextAndGoesForwardWhenResumed(t *testing.T) { // P6
	for name, err := range map[string]error{"heeded": context.Canceled, "with another error": errFailed, "not heeded": nil} {
		var log []string
		ctx, cancel := context.WithCancelCause(t.Context())
		cut := true
		s := keyed.NewSaga(&keyed.MemoryJournal{}, step(&log, "a", nil, nil), step(&log, "b", func(context.Context) error {
			if cut {
				cut = false
				cancel(errBoom)
				return err
			}
			return nil
		}, nil), step(&log, "c", nil, nil))
		want := errBoom
		if err == errFailed {
			want = errFailed
		}
		if err := s.Run(ctx, "k", ""); !errors.Is(err, keyed.ErrUnfinished) || !errors.Is(err, want) {
			t.Errorf("%s: got %v", name, err)
		}
		if err := s.Run(ctx, "other", ""); !errors.Is(err, keyed.ErrUnfinished) || !errors.Is(err, errBoom) {
			t.Errorf("%s: begun after the end: %v", name, err)
		}
		if err := s.Resume(ctx); !errors.Is(err, errBoom) {
			t.Errorf("%s: resumed after the end: %v", name, err)
		}
		if err := s.Resume(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		calls := "do a, do b, do b, do c"
		if err == nil {
			calls = "do a, do b, do c" // its end is in the journal
		}
		if got := strings.Join(log, ", "); got != calls {
			t.Errorf("%s: got %s, want %s", name, got, calls)
		}
	}
}

func TestSagaStopsWhenItsJournalFails(t *testing.T) {
	for name, written := range map[string]bool{"not written": false, "written, but not acknowledged": true} {
		for _, at := range []keyed.SagaEvent{keyed.SagaBegun, keyed.StepDone, keyed.SagaDone, keyed.StepFailed, keyed.StepUndone, keyed.SagaUndone} {
			var log []string
			j := &scriptedJournal{}
			j.append = func(r keyed.SagaRecord, real func() error) error {
				if r.Event != at {
					return real()
				}
				if written {
					real()
				}
				return errBoom
			}
			do := error(nil)
			if at == keyed.StepFailed || at == keyed.StepUndone || at == keyed.SagaUndone {
				do = errFailed
			}
			s := keyed.NewSaga(j, step(&log, "a", nil, nil), step(&log, "b", fail(do), nil))
			if err := s.Run(t.Context(), "k", ""); !errors.Is(err, keyed.ErrUnfinished) || !errors.Is(err, errBoom) {
				t.Errorf("%s, %v: got %v", name, at, err)
			}
			j.append = nil
			if err := s.Resume(t.Context()); err != nil {
				t.Errorf("%s, %v: %v", name, at, err)
			}
			if err := s.Run(t.Context(), "k", ""); (do == nil) != (err == nil) || do != nil && !errors.Is(err, keyed.ErrUndone) {
				t.Errorf("%s, %v: then %v", name, at, err)
			}
		}
	}
}

func TestSagaOfAnotherProcessIsAConflict(t *testing.T) {
	var log []string
	j := &keyed.MemoryJournal{}
	var other *keyed.Saga[string]
	overtake := true
	s := keyed.NewSaga(j, step(&log, "a", func(ctx context.Context) error {
		if overtake {
			overtake = false
			return other.Run(ctx, "k", "")
		}
		return nil
	}, nil))
	other = keyed.NewSaga(j, step(&log, "a", nil, nil))
	if err := s.Run(t.Context(), "k", ""); !errors.Is(err, keyed.ErrUnfinished) || !errors.Is(err, keyed.ErrJournalConflict) {
		t.Errorf("got %v", err)
	}
	if err := s.Run(t.Context(), "k", ""); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestSagaKeyBelongsToItsDataAndSteps(t *testing.T) {
	var log []string
	j := &keyed.MemoryJournal{}
	cut := step(&log, "b", fail(errBoom), fail(errBoom))
	keyed.NewSaga(j, step(&log, "a", nil, nil), cut).Run(t.Context(), "k", "one")
	s := keyed.NewSaga(j, step(&log, "a", nil, nil), cut)
	if err := s.Run(t.Context(), "k", "two"); !errors.Is(err, keyed.ErrSagaKey) {
		t.Errorf("other data: got %v", err)
	}
	renamed := keyed.NewSaga(j, step(&log, "x", nil, nil), cut)
	if err := renamed.Run(t.Context(), "k", "one"); !errors.Is(err, keyed.ErrSagaKey) || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("other steps: got %v", err)
	}
	if err := renamed.Resume(t.Context()); !errors.Is(err, keyed.ErrSagaKey) {
		t.Errorf("other steps: got %v", err)
	}
	j.Forget("k")
	if err := renamed.Run(t.Context(), "k", "two"); !errors.Is(err, keyed.ErrUnfinished) {
		t.Errorf("forgotten: got %v", err)
	}
}

func TestSagaOfOneKeyRunsInOneCallAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []string
		s := keyed.NewSaga(&keyed.MemoryJournal{}, step(&log, "a", func(context.Context) error { time.Sleep(time.Second); return nil }, nil))
		start := time.Now()
		done := make(chan error, 3)
		for range 3 {
			go func() { done <- s.Run(t.Context(), "k", "") }()
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errBoom)
		defer cancel()
		if err := s.Run(ctx, "k", ""); !errors.Is(err, errBoom) || !errors.Is(err, keyed.ErrUnfinished) {
			t.Errorf("got %v", err)
		}
		for range 3 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if len(log) != 1 || time.Since(start) != time.Second {
			t.Errorf("%q in %v", log, time.Since(start))
		}
	})
}

func TestSagaIsResumableAfterAPanicOrGoexit(t *testing.T) { // P9
	for _, leave := range []func(){func() { panic(errBoom) }, runtime.Goexit} {
		var log []string
		first := true
		s := keyed.NewSaga(&keyed.MemoryJournal{}, step(&log, "a", func(context.Context) error {
			if first {
				first = false
				leave()
			}
			return nil
		}, nil))
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() { _ = recover() }()
			s.Run(t.Context(), "k", "")
		}()
		<-done
		if err := s.Resume(t.Context()); err != nil || len(log) != 2 {
			t.Errorf("%q, %v", log, err)
		}
	}
}

func TestSagaBadArgumentsPanicWithPlaceAndValue(t *testing.T) { // P11
	var log []string
	j, a := &keyed.MemoryJournal{}, step(&log, "a", nil, nil)
	mustPanic(t, "keyed.NewSaga: journal is nil", func() { keyed.NewSaga[string](nil, a) })
	mustPanic(t, "keyed.NewSaga: number of steps is 0", func() { keyed.NewSaga[string](j) })
	mustPanic(t, "keyed.NewSaga: step 1 has no name", func() { keyed.NewSaga(j, a, keyed.Step[string]{Do: a.Do}) })
	mustPanic(t, `keyed.NewSaga: step 1 has the name of another, "a"`, func() { keyed.NewSaga(j, a, a) })
	mustPanic(t, "keyed.NewSaga: Do of step b is nil", func() { keyed.NewSaga(j, a, keyed.Step[string]{Name: "b"}) })
	bad := keyed.NewSaga(j, keyed.Step[any]{Name: "a", Do: func(context.Context, keyed.SagaCall, any) error { return nil }})
	if err := bad.Run(t.Context(), "k", func() {}); err == nil || !strings.Contains(err.Error(), `"k"`) {
		t.Errorf("data that cannot be encoded: %v", err)
	}
	odd := keyed.NewSaga(j, keyed.Step[error]{Name: "a", Do: func(context.Context, keyed.SagaCall, error) error { return nil }})
	if err := odd.Run(t.Context(), "k", errBoom); err == nil {
		t.Error("data that cannot be decoded is accepted")
	}
	if keys, _ := j.Unfinished(t.Context()); len(keys) != 0 {
		t.Errorf("begun: %v", keys)
	}
	if got := keyed.SagaEvent(9).String(); got != "event 9" {
		t.Errorf("got %q", got)
	}
}
