package keyed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// sagaRun is a saga under way: its state is what the journal says, and nothing else.
//
// Invariants:
//
//   - A step's Do is called only if the journal has a StepDone for every step
//     before it and no StepFailed; so no step is begun after one has failed.
//   - A step's Undo is called only after the StepFailed is in the journal, and after
//     a StepUndone for every step behind it that needs one.
//   - After a record could not be appended nothing more is called: the journal may
//     say either, and is to be read again.
type sagaRun[T any] struct {
	saga    *Saga[T]
	key     string
	records []SagaRecord
	data    T

	done   int         // steps that are, before any was undone
	failed *SagaRecord // the StepFailed, if there is one
	undo   int         // steps that are still to be undone: those below this number
	final  SagaEvent   // 0 while the saga has not ended
	cause  error       // that of the failed step, if it was in this run
}

// load reads what the journal has about key.
func (s *Saga[T]) load(ctx context.Context, key string) (*sagaRun[T], error) {
	r := &sagaRun[T]{saga: s, key: key}
	records, err := s.journal.Load(ctx, key)
	if err != nil {
		return nil, s.unfinished(key, fmt.Errorf("reading the journal: %w", err))
	}
	for i, rec := range records {
		if err := r.apply(rec); err != nil {
			return nil, fmt.Errorf("%w: %q: record %d, %v %q: %w", ErrSagaKey, key, i, rec.Event, rec.Step, err)
		}
	}
	return r, nil
}

// errOtherSteps is why a record cannot be this saga's.
var errOtherSteps = errors.New("does not fit the steps")

// apply takes a record into account.
func (r *sagaRun[T]) apply(rec SagaRecord) error {
	steps := r.saga.steps
	fits := func(i int) bool { return i >= 0 && i < len(steps) && steps[i].Name == rec.Step }
	ok := r.final == 0
	switch rec.Event {
	case SagaBegun:
		ok = ok && len(r.records) == 0
		if err := json.Unmarshal(rec.Data, &r.data); err != nil {
			return err
		}
	case StepDone:
		if ok = ok && r.failed == nil && fits(r.done); ok {
			r.done++
		}
	case StepFailed:
		if ok = ok && r.failed == nil && fits(r.done); ok {
			r.failed, r.undo = &rec, r.done
			if !rec.Clean {
				r.undo++
			}
		}
	case StepUndone:
		if ok = ok && r.failed != nil && fits(r.undo-1); ok {
			r.undo--
		}
	case SagaDone:
		ok = ok && r.failed == nil && r.done == len(steps)
		r.final = rec.Event
	case SagaUndone:
		ok = ok && r.failed != nil && r.undo == 0
		r.final = rec.Event
	default:
		ok = false
	}
	if !ok || rec.Event != SagaBegun && len(r.records) == 0 {
		return errOtherSteps
	}
	r.records = append(r.records, rec)
	return nil
}

// note appends a record. The journal gets the context without its end: what has
// happened is to be written down even if the run is over.
func (r *sagaRun[T]) note(ctx context.Context, rec SagaRecord) error {
	if err := r.saga.journal.Append(context.WithoutCancel(ctx), r.key, len(r.records), rec); err != nil {
		return fmt.Errorf("writing the journal: %w", err)
	}
	return r.apply(rec)
}

// finish goes on from where the records end.
func (r *sagaRun[T]) finish(ctx context.Context) error {
	for r.final == 0 && r.failed == nil {
		if r.done == len(r.saga.steps) {
			if err := r.note(ctx, SagaRecord{Event: SagaDone}); err != nil {
				return r.saga.unfinished(r.key, err)
			}
			return nil
		}
		if err := r.forward(ctx); err != nil {
			return r.saga.unfinished(r.key, err)
		}
	}
	if r.final == SagaDone {
		return nil
	}
	for r.final == 0 {
		if err := r.backward(ctx); err != nil {
			return r.result(ErrUnfinished, err)
		}
	}
	return r.result(ErrUndone, nil)
}

// result is the error of a saga of which a step has failed.
func (r *sagaRun[T]) result(outcome, undo error) error {
	cause := r.cause
	if cause == nil {
		cause = errors.New(r.failed.Error)
	}
	return &SagaError{Key: r.key, Step: r.failed.Step, Outcome: outcome, Err: cause, Undo: undo}
}

// forward does the next step, and writes down what came of it.
func (r *sagaRun[T]) forward(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	step := r.saga.steps[r.done]
	err := step.Do(ctx, SagaCall{r.key, step.Name}, r.data)
	switch {
	case err == nil:
		return r.note(ctx, SagaRecord{Event: StepDone, Step: step.Name})
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return context.Cause(ctx)
	case ctx.Err() != nil:
		return err
	}
	r.cause = err
	return r.note(ctx, SagaRecord{Event: StepFailed, Step: step.Name, Error: err.Error(), Clean: errors.Is(err, ErrNotDone)})
}

// backward undoes the last step that needs it, or ends the saga.
func (r *sagaRun[T]) backward(ctx context.Context) error {
	if r.undo == 0 {
		return r.note(ctx, SagaRecord{Event: SagaUndone})
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	step := r.saga.steps[r.undo-1]
	if step.Undo != nil {
		if err := step.Undo(ctx, SagaCall{r.key, step.Name}, r.data); err != nil {
			return fmt.Errorf("%q: %w", step.Name, err)
		}
	}
	return r.note(ctx, SagaRecord{Event: StepUndone, Step: step.Name})
}

// sagaKeys lets one goroutine at a time work on a key.
type sagaKeys struct {
	mu   sync.Mutex // never held while something blocks
	busy map[string]*sagaTurn
}

// sagaTurn is a key that is worked on. Who has put a token into turn has it; the
// last one to leave takes it out of the map.
type sagaTurn struct {
	turn  chan struct{}
	users int // guarded by the mu of sagaKeys
}

func (k *sagaKeys) lock(ctx context.Context, key string) error {
	k.mu.Lock()
	t := k.busy[key]
	if t == nil {
		t = &sagaTurn{turn: make(chan struct{}, 1)}
		if k.busy == nil {
			k.busy = make(map[string]*sagaTurn)
		}
		k.busy[key] = t
	}
	t.users++
	k.mu.Unlock()
	select {
	case t.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		k.leave(key, t)
		return context.Cause(ctx)
	}
}

func (k *sagaKeys) unlock(key string) {
	k.mu.Lock()
	t := k.busy[key]
	k.mu.Unlock()
	<-t.turn
	k.leave(key, t)
}

func (k *sagaKeys) leave(key string, t *sagaTurn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t.users--; t.users == 0 {
		delete(k.busy, key)
	}
}
