package stage

import (
	"fmt"
	"time"

	"golang.org/x/time/rate"
)

// Throttle passes values on no faster than the limiter says: each takes one
// token, and waits for it where there is none. A rate is not a debounce: nothing
// is dropped, in is pushed back. Errors pass without a token, in their place.
// Streams and runs that are given the same limiter share its rate.
//
// It runs in the goroutine of whoever pulls, and takes no more from in at once
// than there are tokens, or one. A limiter without a burst, which lets nothing
// pass, panics; one whose burst is taken away later fails the run.
func Throttle[T any](in Stream[T], limiter *rate.Limiter, opts ...Option) Stream[T] {
	const fn = "stage.Throttle"
	CheckFunc(fn, "limiter", limiter == nil)
	if limiter.Burst() < 1 && limiter.Limit() != rate.Inf {
		argPanic(fn, "limiter has a burst of %d, want at least 1", limiter.Burst())
	}
	c := Configure(fn, opts...)
	return New(func(s *Scope) Reader[T] {
		up := Open(s, in)
		return &throttle[T]{scope: s, up: up, name: s.Label(c.Name, "throttle"), limiter: limiter}
	})
}

type throttle[T any] struct {
	scope   *Scope
	up      Reader[T]
	name    string
	limiter *rate.Limiter
}

func (r *throttle[T]) Next(dst []Try[T]) int {
	room := len(dst)
	if r.limiter.Limit() != rate.Inf {
		room = max(1, min(room, int(r.limiter.Tokens())))
	}
	k := r.up.Next(dst[:room])
	values := k - countErrors(dst[:k])
	if values == 0 || r.wait(values) {
		return k
	}
	// The run has ended: errors that are there go on.
	kept := 0
	for i := range dst[:k] {
		if dst[i].Error != nil {
			dst[kept] = dst[i]
			kept++
		}
	}
	clear(dst[kept:k])
	return kept
}

// wait blocks until there are tokens for k values; false means that the run has
// ended meanwhile. It is no wait for another goroutine of the run, so no Waiter.
func (r *throttle[T]) wait(k int) bool {
	if r.scope.Stopped() {
		return false
	}
	at := time.Now()
	held := r.limiter.ReserveN(at, k)
	if !held.OK() { // another user of the limiter has made the burst smaller
		r.scope.Fail(&stageError{r.name, fmt.Errorf("the limiter's burst is %d, want at least %d", r.limiter.Burst(), k)})
		return false
	}
	delay := held.DelayFrom(at)
	if delay == 0 {
		return true
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.scope.done:
		held.Cancel()
		return false
	}
}

func (r *throttle[T]) Close() { r.up.Close() }
