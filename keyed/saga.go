package keyed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed95b73fdc/sluice/stage"
)

// Step is one part of a Saga: what it does, and what takes that back. After a crash
// a call may come again, so both must be idempotent: a second call for the same
// saga has no further effect. What to recognise it by is [SagaCall.ID]. The data is
// that of the saga, read from the journal; changes to it are not kept.
type Step[T any] struct {
	Name string // not empty, and unlike that of any other step of the saga
	// Do carries the step out. An error means that the step may or may not have
	// had its effect, so it is undone as well; one that is or wraps [ErrNotDone] says
	// that it had none, and needs no undoing.
	Do func(ctx context.Context, call SagaCall, data T) error
	// Undo takes back what Do did, and has to bear that Do had no effect, or has
	// already been taken back. After an error of Undo the saga is left as it is,
	// to be resumed. A nil Undo says that there is nothing to take back.
	Undo func(ctx context.Context, call SagaCall, data T) error
}

// SagaCall tells a step which saga it works for.
type SagaCall struct {
	Key  string // of the saga
	Step string // the step's name
}

// ID names the step of the saga: the same for each call of its Do and Undo, and
// different from that of any other. A store that keeps it with what the step has
// changed, in one transaction, can tell a repetition.
func (c SagaCall) ID() string { return fmt.Sprintf("%q/%q", c.Key, c.Step) }

// Saga carries out steps one after the other, each in a transaction of its own, and
// where one fails takes back those before it, the last first. It is for changes
// across owners or stores that have no transaction in common. Others see the
// states in between: a saga is atomic in the end, not isolated. Where the owners
// are of one process, Owners.Atomically is better.
//
// What has happened stands in a [Journal] before anything follows from it, so a
// saga that was interrupted, by a crash, say, can be resumed: it ends with all of
// its steps done, or all of them undone. For each key the steps take effect once,
// however often Run is called with it.
//
// Hector Garcia-Molina, Kenneth Salem: Sagas, SIGMOD 1987; the resumption is the
// paper's backward recovery after a failure of a step, and its forward recovery
// after one of the system.
//
// A Saga starts no goroutine, and any number of them may use it.
type Saga[T any] struct {
	journal Journal
	steps   []Step[T]
	running sagaKeys
}

// NewSaga returns a saga of the steps given, at least one. Data of type T has to
// survive encoding/json, in which form the journal keeps it. A journal is for one
// kind of saga; as long as it has unfinished ones, the steps must stay the same, by
// name and order.
func NewSaga[T any](journal Journal, steps ...Step[T]) *Saga[T] {
	const fn = "keyed.NewSaga"
	stage.CheckFunc(fn, "journal", journal == nil)
	stage.CheckSize(fn, "number of steps", len(steps), 1)
	names := make(map[string]bool)
	for i, s := range steps {
		switch {
		case s.Name == "":
			panic(fmt.Sprintf("%s: step %d has no name", fn, i))
		case names[s.Name]:
			panic(fmt.Sprintf("%s: step %d has the name of another, %q", fn, i, s.Name))
		}
		names[s.Name] = true
		stage.CheckFunc(fn, "Do of step "+s.Name, s.Do == nil)
	}
	return &Saga[T]{journal: journal, steps: append([]Step[T](nil), steps...)}
}

// The ways in which a saga ends or fails to.
var (
	// ErrUndone is returned when a step has failed and all has been taken back.
	ErrUndone = errors.New("keyed: saga undone")
	// ErrUnfinished is returned when the saga could neither be finished nor undone
	// for now; Resume, or Run with the same key, takes it up again.
	ErrUnfinished = errors.New("keyed: saga unfinished")
	// ErrSagaKey is returned for a key that another saga has: one with other data
	// or other steps.
	ErrSagaKey = errors.New("keyed: key of another saga")
	// ErrNotDone, wrapped in the error of a step's Do, says that it had no effect.
	ErrNotDone = errors.New("keyed: step not done")
)

// SagaError says how a saga failed. errors.Is finds ErrUndone or ErrUnfinished in
// it, and the errors of Do and Undo; after a resumption, that of Do is its text.
type SagaError struct {
	Key  string
	Step string // whose Do failed; "" if none did
	// Outcome is ErrUndone or ErrUnfinished.
	Outcome error
	Err     error // of Do, or what kept the saga from going on
	Undo    error // of the Undo that failed, or of the journal meanwhile; nil if none did
}

// Error says what failed, and what has become of the saga.
func (e *SagaError) Error() string {
	s := fmt.Sprintf("%v: %q", e.Outcome, e.Key)
	if e.Step != "" {
		s += fmt.Sprintf(" failed at %q", e.Step)
	}
	if e.Err != nil {
		s += fmt.Sprintf(": %v", e.Err)
	}
	if e.Undo != nil {
		s += fmt.Sprintf("; undoing: %v", e.Undo)
	}
	return s
}

// Unwrap returns the outcome and the errors that there are.
func (e *SagaError) Unwrap() []error {
	errs := []error{e.Outcome}
	for _, err := range []error{e.Err, e.Undo} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// Run carries the saga out for key, or takes it up where it was left, or, if it has
// ended, returns what it returned then. It returns nil when all steps are done, and
// else a *SagaError: ErrUndone if a step has failed and those before it, and it
// itself, have been undone; ErrUnfinished if ctx ended, the journal failed, or an
// Undo did. Where a step returns an error after ctx has ended, that is a reason to
// stop, not to undo. It returns ErrSagaKey if the key was used with other data.
//
// It blocks while its steps run, and while another call of the same Saga works on
// the key; that one's result is then its own. It does not begin a step or an undo
// once ctx has ended. A panic in a step leaves the saga unfinished.
func (s *Saga[T]) Run(ctx context.Context, key string, data T) error {
	encoded, err := json.Marshal(data)
	if err == nil {
		err = json.Unmarshal(encoded, new(T)) // or it could not be resumed
	}
	if err != nil {
		return fmt.Errorf("keyed: data of saga %q: %w", key, err)
	}
	if err := s.running.lock(ctx, key); err != nil {
		return s.unfinished(key, err)
	}
	defer s.running.unlock(key)
	run, err := s.load(ctx, key)
	if err != nil {
		return err
	}
	if len(run.records) > 0 {
		if string(run.records[0].Data) != string(encoded) {
			return fmt.Errorf("%w: %q was begun with other data", ErrSagaKey, key)
		}
		return run.finish(ctx)
	}
	if ctx.Err() != nil {
		return s.unfinished(key, context.Cause(ctx))
	}
	if err := run.note(ctx, SagaRecord{Event: SagaBegun, Data: encoded}); err != nil {
		return s.unfinished(key, err)
	}
	return run.finish(ctx)
}

// Resume finishes all sagas that the journal has as unfinished, one after the
// other: forward, or backward where a step had failed. It is what to call after a
// start, before new sagas are run, and now and then. It returns nil if all of them
// have ended, done or undone, and else the errors of those that have not, joined; it stops with ctx.
func (s *Saga[T]) Resume(ctx context.Context) error {
	keys, err := s.journal.Unfinished(ctx)
	if err != nil {
		return fmt.Errorf("keyed: reading the journal: %w", err)
	}
	var errs []error
	for _, key := range keys {
		if ctx.Err() != nil {
			errs = append(errs, context.Cause(ctx))
			break
		}
		if err := s.resume(ctx, key); err != nil && !errors.Is(err, ErrUndone) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (s *Saga[T]) resume(ctx context.Context, key string) error {
	if err := s.running.lock(ctx, key); err != nil {
		return s.unfinished(key, err)
	}
	defer s.running.unlock(key)
	run, err := s.load(ctx, key)
	if err != nil || len(run.records) == 0 {
		return err
	}
	return run.finish(ctx)
}

func (s *Saga[T]) unfinished(key string, err error) error {
	return &SagaError{Key: key, Outcome: ErrUnfinished, Err: err}
}
