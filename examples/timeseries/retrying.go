package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
)

// retrying says how often, and after what pauses, a day is tried again.
type retrying struct {
	most         int           // attempts after the first
	first, limit time.Duration // of the pauses, which double
	jitter       float64       // by how much each is longer or shorter, in parts of 1
	onRetry      func(d date, err error, pause time.Duration)
}

// policy is the policy of failsafe-go for a day.
func (r retrying) policy(d date) failsafe.Policy[*day] {
	b := retrypolicy.NewBuilder[*day]().
		WithMaxRetries(r.most).
		AbortIf(func(_ *day, err error) bool { return r.hopeless(err) }).
		ReturnLastFailure().
		WithBackoff(r.first, r.limit).
		WithJitterFactor(r.jitter).
		WithDelayFunc(func(e failsafe.ExecutionAttempt[*day]) time.Duration { return r.asked(e.LastError()) })
	if r.onRetry != nil {
		b.OnRetryScheduled(func(e failsafe.ExecutionScheduledEvent[*day]) { r.onRetry(d, e.LastError(), e.Delay) })
	}
	return b.Build()
}

// asked is the pause that the server asked for. A shorter one than our own does
// not count: unknownDelay, which the policy takes for its usual pause.
func (r retrying) asked(err error) time.Duration {
	var status statusError
	if errors.As(err, &status) && status.after > r.first {
		return status.after
	}
	return unknownDelay
}

// hopeless reports whether another attempt is not worth it: it would meet the same
// error, or the server asks to be left alone for longer than we care to wait.
func (r retrying) hopeless(err error) bool {
	return err != nil && (permanent(err) || r.asked(err) > r.limit)
}

// A missingError is why there is no day, and after how many attempts.
type missingError struct {
	err      error
	attempts int
}

func (e missingError) Unwrap() error { return e.err }

func (e missingError) Error() string {
	s := e.err.Error()
	var status statusError
	if errors.As(e.err, &status) && status.after > 0 {
		s += fmt.Sprintf(" (come back in %v)", status.after)
	}
	return s + fmt.Sprintf(" (%s)", plural(e.attempts, "attempt"))
}
