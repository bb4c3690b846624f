package keyed

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// RunningError says that the context of a call of [Owners] ended while the
// function ran. The function goes on; Done and Wait tell of its end.
type RunningError struct {
	cause   error
	done    <-chan struct{}
	outcome *error
}

// Error says why the call did not wait.
func (e *RunningError) Error() string {
	return "keyed: function is still running: " + e.cause.Error()
}

// Unwrap returns the cause of the context that ended.
func (e *RunningError) Unwrap() error { return e.cause }

// Done is closed when the function has returned.
func (e *RunningError) Done() <-chan struct{} { return e.done }

// Wait blocks until the function has returned, and returns what the call would
// have: nil, or its error, or a [*stage.Panic] as an error. If ctx ends first it
// returns e.
func (e *RunningError) Wait(ctx context.Context) error {
	select {
	case <-e.done:
		return *e.outcome
	default:
	}
	select {
	case <-e.done:
		return *e.outcome
	case <-ctx.Done():
		return e
	}
}

// task is a function on its way to its states. A task is at first waiting; whoever
// sets begun runs it, whoever sets gone takes it back.
type task[K comparable, S any] struct {
	key  K
	f    func(*S) error
	seat seat[K, S]

	keys  []K // of Atomically, or nil
	all   func([]*S) error
	seats []seat[K, S]

	posted   bool
	entered  time.Duration
	done     chan struct{} // closed in the end, unless posted
	err      error
	panicked *stage.Panic

	mu      sync.Mutex
	stage   taskStage
	missing int // seats whose lane is not yet held
}

type taskStage uint8

const (
	taskWaiting taskStage = iota
	taskBegun
	taskGone
)

// seat is a task's place in the queue of a lane.
type seat[K comparable, S any] struct {
	task *task[K, S]
	lane *ownersLane[K, S]
	held bool // the lane is the task's; under the task's mu

	// Under the lane's mu.
	prev, next *seat[K, S]
	queued     bool
}

func newTask[K comparable, S any](key K, f func(*S) error) *task[K, S] {
	t := &task[K, S]{key: key, f: f, done: make(chan struct{}), entered: now()}
	t.seat.task = t
	return t
}

// arrive is called when a seat is at the head of its lane, by whoever runs the
// lane. It reports whether the task can run, because this was its last lane; and
// if not, whether the lane is held for it.
func (t *task[K, S]) arrive(s *seat[K, S]) (run, held bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stage != taskWaiting {
		return false, false
	}
	s.held = true
	if t.missing--; t.missing > 0 {
		return false, true
	}
	t.stage = taskBegun
	return true, true
}

// begin is arrive for a task with one seat.
func (t *task[K, S]) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stage != taskWaiting {
		return false
	}
	t.stage = taskBegun
	return true
}

// withdraw takes back a task that has not begun, and reports whether it could. The
// lanes that were held for it go on at once.
func (o *Owners[K, S]) withdraw(t *task[K, S]) bool {
	t.mu.Lock()
	if t.stage != taskWaiting {
		t.mu.Unlock()
		return false
	}
	t.stage = taskGone
	t.mu.Unlock()
	if t.all == nil {
		t.seat.lane.remove(&t.seat)
	}
	for i := range t.seats {
		if s := &t.seats[i]; s.held {
			o.release(s.lane)
		} else {
			s.lane.remove(s)
		}
	}
	o.mu.Lock()
	o.counts.withdrawn++
	o.mu.Unlock()
	o.leave()
	return true
}

// call runs the function of a task, with its lanes held.
func (o *Owners[K, S]) call(t *task[K, S]) {
	defer func() {
		if v := recover(); v != nil {
			t.panicked = &stage.Panic{Stage: o.name, Value: v, Stack: debug.Stack()}
			t.err = t.panicked
		}
	}()
	if t.all != nil {
		t.err = o.callAll(t)
		return
	}
	s, err := t.seat.lane.state(o, t.key)
	if err == nil {
		err = t.f(s)
	}
	t.err = err
}

// settle tells of a task that has run. Its lanes are still held.
func (o *Owners[K, S]) settle(t *task[K, S]) {
	if t.posted && t.err != nil {
		o.mu.Lock()
		o.counts.failed++
		if o.failure == nil {
			o.failure = t.err
		}
		o.mu.Unlock()
	}
	if t.posted {
		*t = task[K, S]{}
		o.posts.Put(t)
	} else {
		close(t.done)
	}
	o.leave()
}

// state returns the state of a key, a new one if need be. The lane is held.
func (l *ownersLane[K, S]) state(o *Owners[K, S], key K) (*S, error) {
	if s := l.states[key]; s != nil {
		return s, nil
	}
	v, err := o.newS(context.Background(), key)
	if err != nil {
		return nil, err
	}
	if l.states == nil {
		l.states = map[K]*S{}
	}
	l.states[key] = &v
	l.keys.Add(1)
	return &v, nil
}
