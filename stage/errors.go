package stage

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// Reported by the terminal of a run that could not go on.
var (
	// ErrStalled is returned when every goroutine of a run waits for another
	// one of the same run, so that it could never move again. The error that is
	// returned lists who waits for what; errors.Is finds ErrStalled in it.
	ErrStalled = errors.New("stage: run stalled")

	// ErrGoexit takes the place of an item whose function ended its worker with
	// runtime.Goexit (as testing.T.FailNow does). A run ends with it when another
	// goroutine of the run was ended so, that of a source for instance. It comes
	// with the name of the stage before it.
	ErrGoexit = errors.New("stage: function called runtime.Goexit")
)

// Causes of the context that a run's functions see, as [context.Cause] tells
// them, and never returned by a terminal: they say why a function was stopped.
var (
	// ErrEnded is the cause when the run has its result and the call is no
	// longer needed.
	ErrEnded = errors.New("stage: run ended")
	// ErrClosed is the cause when downstream needs no more items.
	ErrClosed = errors.New("stage: stage closed")
	// ErrUntil is the cause upstream of an Until whose stop has fired.
	ErrUntil = errors.New("stage: stopped by Until")
)

// Panic is a panic of a user's function, carried to the goroutine of the
// terminal and raised again there. With [RecoverPanics] it is an item's error.
type Panic struct {
	Stage string // name of the stage whose function panicked
	Value any    // what it panicked with
	Stack []byte // stack of the goroutine that panicked

	// Running is how many goroutines of the run had not returned when the
	// panic was raised: 0, unless they ignored their context for PanicGrace.
	Running int
}

// Error says which stage panicked, with what, and where.
func (p *Panic) Error() string {
	s := fmt.Sprintf("stage: panic in %s: %v", p.Stage, p.Value)
	if p.Running > 0 {
		s += fmt.Sprintf(" (%d goroutines of the run ignore their context and are still running)", p.Running)
	}
	return s + "\n\n" + string(p.Stack)
}

// Unwrap returns the value of the panic if that is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// newPanic wraps what recover returned. It must be called by the deferred
// function itself, so that the stack still shows the place of the panic. What
// an inner stage of the same goroutine has wrapped stays as it is.
func newPanic(stage string, value any) *Panic {
	if p, ok := value.(*carried); ok {
		return p.Panic
	}
	return &Panic{Stage: stage, Value: value, Stack: debug.Stack()}
}

// carried marks a panic that already knows its stage on its way up through
// the readers of one goroutine.
type carried struct{ *Panic }

// Tag is deferred, by itself, by a [Reader] that calls a user's function in the
// goroutine of whoever pulls: a panic that passes gets the name of the stage, and
// goes on.
func Tag(name string) {
	if v := recover(); v != nil {
		panic(&carried{newPanic(name, v)})
	}
}

// errDropped is the error of a slot whose item was filtered out. It never
// leaves the stage.
var errDropped = errors.New("stage: dropped")

// argPanic reports a bad argument of a constructor.
func argPanic(fn, format string, args ...any) {
	panic(fn + ": " + fmt.Sprintf(format, args...))
}
