package backpressure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
)

// Setter is what an Adaptive drives: the parallelism of a stage, or with SetterFunc the
// Resize of a semaphore.
type Setter interface{ Set(n int) }

// SetterFunc is a function as a Setter.
type SetterFunc func(n int)

// Set calls f.
func (f SetterFunc) Set(n int) { f(n) }

// Law says how the limit follows from what was seen. [AIMD] and [Gradient] are two.
type Law interface {
	// Next returns the next limit. It is called by one goroutine at a time. What is
	// returned is brought within the bounds, and fractions are kept for the next call.
	Next(limit float64, seen Seen) float64
}

// Seen is what came of about one round of calls: as many as the limit.
type Seen struct {
	OK     int           // calls that succeeded
	Failed int           // calls that failed for being too many
	Mean   time.Duration // of the calls that succeeded, 0 if none has
	Full   bool          // the limit was reached: a higher one might have been used
}

// minRound is how many calls make a round where the limit is smaller.
const minRound = 4

// Adaptive is a limit of concurrency that follows latency and errors: it rises while the
// other side is as quick as ever, and falls when that slows down or fails. After each
// round of calls, as many as the limit, the law decides about the next one.
//
// All methods may be called by anyone, at any time.
type Adaptive struct {
	drive       Setter
	law         Law
	least, most float64
	overload    func(error) bool

	mu       sync.Mutex // never held while somebody waits
	limit    float64
	inFlight int
	seen     Seen
	sum      time.Duration
}

// AdaptiveOption is an option of NewAdaptive.
type AdaptiveOption func(*Adaptive)

// StartAt sets the first limit. Without it that is the least.
func StartAt(n int) AdaptiveOption { return func(a *Adaptive) { a.limit = float64(n) } }

// Overload says which errors speak of too much load. Without it all do but
// context.Canceled. Calls with another error are not counted at all.
func Overload(is func(error) bool) AdaptiveOption { return func(a *Adaptive) { a.overload = is } }

// NewAdaptive returns a limit of least to most calls that drive is told of: at once, and
// whenever it changes. Set is called by one goroutine at a time; it must not block, nor
// call the Adaptive. A law with a state, as Gradient has one, is for one Adaptive. It
// panics if drive or law is nil, and unless 1 ≤ least ≤ StartAt ≤ most.
func NewAdaptive(drive Setter, law Law, least, most int, opts ...AdaptiveOption) *Adaptive {
	const fn = "NewAdaptive"
	if drive == nil || law == nil {
		panic(fmt.Sprintf("backpressure.%s: drive is %v, law is %v, neither may be nil", fn, drive, law))
	}
	if c, ok := law.(interface{ check() }); ok {
		c.check()
	}
	check(fn, "most", most, 1, maxPermits)
	check(fn, "least", least, 1, most)
	a := &Adaptive{
		drive: drive, law: law, least: float64(least), most: float64(most), limit: float64(least),
		overload: func(err error) bool { return !errors.Is(err, context.Canceled) },
	}
	for i, o := range opts {
		if o == nil {
			panic(fmt.Sprintf("backpressure.%s: option %d is nil", fn, i))
		}
		o(a)
	}
	check(fn, "StartAt", int(a.limit), least, most)
	if a.overload == nil {
		panic("backpressure.Overload: is is nil")
	}
	drive.Set(int(a.limit))
	return a
}

// Limit returns the limit as it is now.
func (a *Adaptive) Limit() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return int(a.limit)
}

// Observe tells of one call: how long it took, and how it ended. It takes it that the
// limit was used to the full; where it may not have been, use Do or Watch. Never blocks.
func (a *Adaptive) Observe(latency time.Duration, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen.Full = true
	a.note(latency, err)
}

// Do calls f and observes the call. It does not wait: what bounds the calls is what the
// Adaptive drives. A call that panics, or ends its goroutine, is not counted.
func (a *Adaptive) Do(ctx context.Context, f func(context.Context) error) error {
	a.mu.Lock()
	a.inFlight++
	if float64(a.inFlight) >= math.Floor(a.limit) {
		a.seen.Full = true
	}
	a.mu.Unlock()
	returned, err, start := false, error(nil), time.Now()
	defer func() {
		latency := time.Since(start)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.inFlight--
		if returned {
			a.note(latency, err)
		}
	}()
	err = f(ctx)
	returned = true
	return err
}

// Watch returns f, with its calls observed by a as Do does: to be given to a stage whose
// parallelism a drives.
func Watch[A, B any](a *Adaptive, f func(context.Context, A) (B, error)) func(context.Context, A) (B, error) {
	if a == nil || f == nil {
		panic(fmt.Sprintf("backpressure.Watch: a is nil: %v, f is nil: %v, neither may be", a == nil, f == nil))
	}
	return func(ctx context.Context, v A) (b B, err error) {
		err = a.Do(ctx, func(ctx context.Context) (err error) {
			b, err = f(ctx, v)
			return err
		})
		return b, err
	}
}

// note adds a call to the round, and ends that when it is complete. The lock is held.
func (a *Adaptive) note(latency time.Duration, err error) {
	switch {
	case err == nil:
		a.seen.OK++
		latency = max(0, latency)
		a.sum = min(a.sum, math.MaxInt64-latency) + latency // "for ever" may be told of more than once
	case a.overload(err):
		a.seen.Failed++
	default:
		return
	}
	if a.seen.OK+a.seen.Failed < max(minRound, int(a.limit)) {
		return
	}
	if a.seen.OK > 0 {
		a.seen.Mean = a.sum / time.Duration(a.seen.OK)
	}
	next := a.law.Next(a.limit, a.seen)
	a.seen, a.sum = Seen{}, 0
	if math.IsNaN(next) {
		return
	}
	before := int(a.limit)
	a.limit = min(max(next, a.least), a.most)
	if int(a.limit) != before {
		a.drive.Set(int(a.limit))
	}
}
