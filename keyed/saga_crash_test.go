package keyed_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/seed95b73fdc/sluice/keyed"
)

// errCrash is what a crash panics with: everything that is not in the journal or
// the accounts is lost.
var errCrash = errors.New("crash")

// crashes panics at a moment given. Moments are counted: there is one before and
// one after each effect of a step and each record of the journal.
type crashes struct {
	left int // moments until the next crash; negative for none
}

func (c *crashes) moment() {
	if c.left == 0 {
		c.left = -1
		panic(errCrash)
	}
	c.left--
}

// world is what outlasts a crash.
type world struct {
	*crashes
	journal  keyed.MemoryJournal
	accounts map[string]int
	effects  map[string]int // by the ID of a step: 1 when done, 0 when undone
	calls    []string       // Do and Undo, in order, repetitions included
}

// crashingJournal is the world's journal, with crashes before and after a write.
type crashingJournal struct{ *world }

func (j crashingJournal) Load(ctx context.Context, key string) ([]keyed.SagaRecord, error) {
	return j.journal.Load(ctx, key)
}

func (j crashingJournal) Append(ctx context.Context, key string, seq int, r keyed.SagaRecord) error {
	j.moment()
	err := j.journal.Append(ctx, key, seq, r)
	j.moment()
	return err
}

func (j crashingJournal) Unfinished(ctx context.Context) ([]string, error) {
	return j.journal.Unfinished(ctx)
}

// failure is how a step of the tests fails.
type failure int

const (
	never      failure = iota
	withEffect         // it returns an error although it is done
	without            // it returns an error, and is not done
	clean              // it says so
)

var errFailed = errors.New("failed")

// saga makes one that moves amounts between accounts, the one numbered failing of
// whose steps fails.
func (w *world) saga(failing int, how failure) *keyed.Saga[int] {
	var steps []keyed.Step[int]
	for i, account := range []string{"from", "to", "fee"} {
		sign := []int{-3, 2, 1}[i]
		steps = append(steps, keyed.Step[int]{
			Name: account,
			Do: func(_ context.Context, call keyed.SagaCall, amount int) error {
				w.calls = append(w.calls, "do "+account)
				w.moment()
				fails := i == failing && how != never
				if w.effects[call.ID()] == 0 && !(fails && how != withEffect) {
					w.effects[call.ID()]++
					w.accounts[account] += sign * amount
				}
				w.moment()
				switch {
				case fails && how == clean:
					return fmt.Errorf("%w: %w", errFailed, keyed.ErrNotDone)
				case fails:
					return errFailed
				}
				return nil
			},
			Undo: func(_ context.Context, call keyed.SagaCall, amount int) error {
				w.calls = append(w.calls, "undo "+account)
				w.moment()
				if w.effects[call.ID()] == 1 {
					w.effects[call.ID()]--
					w.accounts[account] -= sign * amount
				}
				w.moment()
				return nil
			},
		})
	}
	return keyed.NewSaga[int](crashingJournal{w}, steps...)
}

// survive runs f and reports whether it crashed.
func survive(f func()) (crashed bool) {
	defer func() {
		if v := recover(); v != nil {
			if v != errCrash {
				panic(v)
			}
			crashed = true
		}
	}()
	f()
	return false
}

func newWorld(crashAt int) *world {
	return &world{
		crashes:  &crashes{crashAt},
		accounts: map[string]int{"from": 100, "to": 0, "fee": 0},
		effects:  make(map[string]int),
	}
}

func TestSagaEndsDoneOrUndoneWhereverItCrashes(t *testing.T) {
	ctx := t.Context()
	for failing := range 3 {
		for _, how := range []failure{never, withEffect, without, clean} {
			if how == never && failing > 0 {
				continue
			}
			boundaries := 0
			for first := 0; ; first++ {
				w := newWorld(first)
				crashed := survive(func() { w.saga(failing, how).Run(ctx, "k", 10) })
				if !crashed {
					boundaries = first
					w.check(t, w.saga(failing, how), failing, how, "no crash")
					break
				}
				for second := 0; ; second++ { // and again while it is resumed
					w := newWorld(first)
					survive(func() { w.saga(failing, how).Run(ctx, "k", 10) })
					w.left = second
					var err error
					again := survive(func() { err = w.saga(failing, how).Resume(ctx) })
					if again {
						w.left = -1
						err = w.saga(failing, how).Resume(ctx)
					}
					if err != nil {
						t.Fatalf("resumed: %v", err)
					}
					w.left = -1
					w.check(t, w.saga(failing, how), failing, how, fmt.Sprintf("crashes at %d and %d", first, second))
					if !again {
						break
					}
				}
			}
			if want := 4 * 3; boundaries < want && how == never {
				t.Errorf("vacuous: %d boundaries, want at least %d", boundaries, want)
			}
		}
	}
}

// check runs the saga once more, which must change nothing but find the result.
func (w *world) check(t *testing.T, s *keyed.Saga[int], failing int, how failure, when string) {
	t.Helper()
	before := len(w.calls)
	err := s.Run(t.Context(), "k", 10)
	begun := slices.Contains(w.calls[:before], "do from") // else the crash came before the first record
	if begun && len(w.calls) != before {
		t.Errorf("step %d, failure %d, %s: a saga that has ended calls %q", failing, how, when, w.calls[before:])
	}
	var want map[string]int
	if how == never {
		want = map[string]int{"from": 70, "to": 20, "fee": 10}
		if err != nil {
			t.Errorf("%s: got %v", when, err)
		}
	} else {
		want = map[string]int{"from": 100, "to": 0, "fee": 0}
		var e *keyed.SagaError
		if !errors.Is(err, keyed.ErrUndone) || !errors.As(err, &e) || e.Step != []string{"from", "to", "fee"}[failing] || e.Err == nil {
			t.Errorf("step %d, failure %d, %s: got %v", failing, how, when, err)
		}
	}
	if fmt.Sprint(w.accounts) != fmt.Sprint(want) {
		t.Errorf("step %d, failure %d, %s: got %v, want %v after %q", failing, how, when, w.accounts, want, w.calls)
	}
	if keys, _ := w.journal.Unfinished(t.Context()); len(keys) != 0 {
		t.Errorf("step %d, failure %d, %s: unfinished: %v", failing, how, when, keys)
	}
	for i, call := range w.calls { // once backward, never forward again
		if slices.ContainsFunc(w.calls[:i], func(c string) bool { return c[:4] == "undo" }) && call[:4] != "undo" {
			t.Errorf("step %d, failure %d, %s: %q", failing, how, when, w.calls)
		}
	}
	if undo := "undo " + []string{"from", "to", "fee"}[failing]; how == clean && slices.Contains(w.calls, undo) {
		t.Errorf("step %d, %s: undone although it had no effect: %q", failing, when, w.calls)
	}
}
