package keyed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Journal is where sagas write down what has happened, so that they can be
// resumed. [MemoryJournal] is one that does not outlast the process; one that does
// is a file or a table with the key and the number of the record as its primary
// key. Methods may be called by any number of goroutines.
type Journal interface {
	// Load returns the records of the saga, in order; none if there is no such saga.
	Load(ctx context.Context, key string) ([]SagaRecord, error)
	// Append adds a record to the saga, at place number seq, counted from 0. When it
	// has returned nil the record is there for good. If the saga has not exactly seq
	// records, it changes nothing and returns ErrJournalConflict. With any other
	// error the record may be there or not.
	Append(ctx context.Context, key string, seq int, r SagaRecord) error
	// Unfinished returns the keys of all sagas whose last record is not
	// [SagaEvent.Final].
	Unfinished(ctx context.Context) ([]string, error)
}

// ErrJournalConflict is returned by Journal.Append where somebody else has
// appended: another process works on the saga.
var ErrJournalConflict = errors.New("keyed: another record stands in the journal")

// SagaRecord is an entry of a Journal.
type SagaRecord struct {
	Event SagaEvent
	Step  string `json:",omitempty"` // of StepDone, StepFailed, StepUndone
	Data  []byte `json:",omitempty"` // of SagaBegun
	Error string `json:",omitempty"` // of StepFailed: the text of the error
	// Clean says of StepFailed that the step had no effect; see ErrNotDone.
	Clean bool `json:",omitempty"`
}

// SagaEvent is what a record says. The values are for ever.
type SagaEvent int

// The events, in the order in which they come. SagaBegun is the first. Then a
// StepDone for each step, and SagaDone; or a StepFailed after some of them, then a
// StepUndone for each step that had to be, the last first, and SagaUndone.
const (
	SagaBegun SagaEvent = iota + 1
	StepDone
	StepFailed
	StepUndone
	SagaDone
	SagaUndone
)

// Final reports whether no record follows.
func (e SagaEvent) Final() bool { return e == SagaDone || e == SagaUndone }

// String returns the event's name.
func (e SagaEvent) String() string {
	names := []string{"begun", "step done", "step failed", "step undone", "done", "undone"}
	if e < SagaBegun || e > SagaUndone {
		return fmt.Sprintf("event %d", int(e))
	}
	return names[e-SagaBegun]
}

// MemoryJournal is a Journal in memory. It keeps all sagas, those that have ended
// too, so that their keys stay used; Forget drops one. The zero MemoryJournal is
// empty and ready for use. Its methods never block.
type MemoryJournal struct {
	_     noCopy
	mu    sync.Mutex
	sagas map[string][]SagaRecord
}

// Load implements Journal.
func (j *MemoryJournal) Load(ctx context.Context, key string) ([]SagaRecord, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.sagas[key]), nil
}

// Append implements Journal.
func (j *MemoryJournal) Append(ctx context.Context, key string, seq int, r SagaRecord) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if n := len(j.sagas[key]); n != seq {
		return fmt.Errorf("%w: %q has %d records, not %d", ErrJournalConflict, key, n, seq)
	}
	if j.sagas == nil {
		j.sagas = make(map[string][]SagaRecord)
	}
	j.sagas[key] = append(j.sagas[key], r)
	return nil
}

// Unfinished implements Journal, in the order of the keys.
func (j *MemoryJournal) Unfinished(ctx context.Context) ([]string, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	var keys []string
	for key, records := range j.sagas {
		if !records[len(records)-1].Event.Final() {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// Forget drops what is known of the saga: its key may be used again.
func (j *MemoryJournal) Forget(key string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.sagas, key)
}
