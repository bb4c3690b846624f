package stage

import (
	"context"
	"runtime/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// PanicGrace is how long a terminal waits, after a panic in one of a run's
// functions, for calls that ignore their context, before it raises the panic
// although they still run. It is the one case in which a terminal leaves
// goroutines behind.
const PanicGrace = 500 * time.Millisecond

// unwind is the part of PanicGrace that is left to those who waited for the
// goroutines that are given up, so that only these are counted.
const unwind = time.Millisecond

// run is one execution of what a terminal reaches.
type run struct {
	root  *Scope
	stats *Stats
	user  context.Context // the terminal's, or nil if it cannot be cancelled

	live  atomic.Int64 // goroutines not parked in a Waiter; see wait.go
	goes  crew
	alive atomic.Int64 // goroutines started and not ended
	opens atomic.Int64 // operators named so far

	mu      sync.Mutex
	waiters *Waiter
	panic   *Panic // the first one
	failure error  // the first one
	reports []func() StageStats

	grace     *time.Timer   // set at the first panic
	abandoned chan struct{} // closed PanicGrace later
}

func newRun(ctx context.Context, operator string) *run {
	if ctx == nil {
		argPanic("stage", "the context of %s is nil", operator)
	}
	r := &run{stats: statsOf(ctx), abandoned: make(chan struct{})}
	if r.stats != nil {
		ctx = context.WithValue(ctx, statsKey{}, (*Stats)(nil)) // not for runs within this one
	}
	if ctx.Done() != nil {
		r.user = ctx
	}
	r.live.Store(1)
	r.root = newScope(ctx, r, nil, &family{})
	r.root.family.base = r.root
	return r
}

// Scope is the part of a run that one stage works in: its context, its
// goroutines, its books. Cancelling a scope ends the scopes below it. The
// function given to [New] gets one. All methods may be called by any goroutine,
// until the run has ended.
type Scope struct {
	run     *run
	ctx     context.Context
	cancel  context.CancelCauseFunc
	done    <-chan struct{}
	stopped atomic.Bool // by Cancel, here or above
	watched bool        // the user's context can be cancelled
	family  *family

	// Under run.mu: the scopes below that have not been cancelled.
	parent, first, prev, next *Scope
}

func newScope(ctx context.Context, r *run, parent *Scope, f *family) *Scope {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &Scope{run: r, ctx: ctx, cancel: cancel, done: ctx.Done(), family: f, watched: r.user != nil}
	if parent == nil {
		return s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if parent.stopped.Load() {
		s.stopped.Store(true)
		return s
	}
	s.parent, s.next = parent, parent.first
	if s.next != nil {
		s.next.prev = s
	}
	parent.first = s
	return s
}

// Context is the context that functions called by this stage must be given. It
// ends with the run, when the run's context does, and when downstream needs no
// more; context.Cause tells which.
func (s *Scope) Context() context.Context { return s.ctx }

// Stopped reports whether the scope's context is done. It is exact: once a
// cancel function has returned, or Cancel has, it reports true. It is what to
// ask before each call of a function: it reads a flag that tells of the run's
// own cancellations, and asks the context of the terminal only if that can be
// cancelled. Never blocks.
func (s *Scope) Stopped() bool {
	return s.stopped.Load() || s.watched && s.userDone()
}

//go:noinline
func (s *Scope) userDone() bool { return s.run.user.Err() != nil }

// Child returns a scope below s that can be cancelled on its own. A stage
// whose goroutines pull, or that ends before its input does, opens its input
// with a child, to cancel it in Close or earlier. Every child must be cancelled
// in the end.
func (s *Scope) Child() *Scope { return newScope(s.ctx, s.run, s, s.family) }

// Cancel ends the context of s, and of the scopes below it, with the cause
// given; of several calls the first one counts. Never blocks. A scope that was
// not made with [Scope.Child] belongs to who made it: end a run with
// [Scope.Fail].
func (s *Scope) Cancel(cause error) {
	r := s.run
	r.mu.Lock()
	if p := s.parent; p != nil {
		if p.first == s {
			p.first = s.next
		} else if s.prev != nil {
			s.prev.next = s.next
		}
		if s.next != nil {
			s.next.prev = s.prev
		}
		s.parent, s.prev, s.next = nil, nil, nil
	}
	s.mark()
	r.mu.Unlock()
	s.cancel(cause)
}

// mark sets stopped, here and below. Under run.mu.
func (s *Scope) mark() {
	s.stopped.Store(true)
	for c := s.first; c != nil; c = c.next {
		c.mark()
	}
}

// Fail ends the whole run; its terminal returns err unless it met an error
// of the stream first. Of several calls the first one counts. Never blocks. It is
// for what belongs to no item; an error of an item is better an item.
func (s *Scope) Fail(err error) {
	r := s.run
	r.mu.Lock()
	if r.failure == nil {
		r.failure = err
	}
	r.mu.Unlock()
	r.root.Cancel(err)
}

// Label names a stage: the name given, or if that is "" the operator with its
// number in the run, as in "map#2". Call it once for each stage, after its inputs
// have been opened, so that numbers go downstream.
func (s *Scope) Label(name, operator string) string {
	k := s.run.opens.Add(1)
	if name != "" {
		return name
	}
	return operator + "#" + strconv.FormatInt(k, 10)
}

// labelled returns the context with the pprof label that goroutines of the
// stage carry.
func labelled(ctx context.Context, name string) context.Context {
	return pprof.WithLabels(ctx, pprof.Labels("sluice.stage", name))
}

// Go runs f in a goroutine that belongs to the run: the terminal returns only
// after it has ended. It has name as its pprof label sluice.stage. A panic of f
// is raised in the terminal's goroutine, with the name of the stage;
// runtime.Goexit fails the run with ErrGoexit. Go never blocks; it is called from
// Next, or by another goroutine of the run, not before the first Next. Where f
// waits for another goroutine of the run it must do so in a [Waiter]: any other
// wait counts as work, and hides a stall.
func (s *Scope) Go(name string, f func()) {
	s.run.live.Add(1)
	s.spawn(labelled(s.ctx, name), f, true, func(v any) { s.lost(name, v) })
}

// lost fails the run for a goroutine that has not returned: v is the value of
// its panic, or nil after runtime.Goexit.
func (s *Scope) lost(name string, v any) {
	if v != nil {
		s.run.fail(newPanic(name, v))
		return
	}
	s.Fail(Goexit(name))
}

// spawn starts a goroutine of the run. If f does not return, lost is called in
// its stead, with the value of the panic or nil. live says whether the stall
// detection counts the goroutine.
func (s *Scope) spawn(lctx context.Context, f func(), live bool, lost func(v any)) {
	r := s.run
	r.alive.Add(1)
	r.goes.add()
	go func() {
		returned := false
		defer func() {
			if !returned {
				lost(recover())
			}
			if live && r.live.Add(-1) == 0 {
				r.stall()
			}
			r.alive.Add(-1)
			r.goes.done()
		}()
		pprof.SetGoroutineLabels(lctx)
		f()
		returned = true
	}()
}

// fail records a panic, the first one of the run, and cancels it.
func (r *run) fail(p *Panic) {
	r.mu.Lock()
	if r.panic == nil {
		r.panic = p
		r.grace = time.AfterFunc(PanicGrace-unwind, func() { close(r.abandoned) })
	}
	r.mu.Unlock()
	r.root.Cancel(p)
}

// stageError puts a stage's name before an error.
type stageError struct {
	stage string
	err   error
}

func (e *stageError) Error() string { return e.stage + ": " + e.err.Error() }
func (e *stageError) Unwrap() error { return e.err }

// family holds what the streams of a run share, such as the one upstream of
// the branches of a Split, under the identity of the node that they share.
type family struct {
	base  *Scope // what they share lives as long as this
	mu    sync.Mutex
	nodes map[any][]any
}

// Shared returns the run's instance of a node that several streams of a run
// have in common. It is called while streams are opened, by functions given to
// [New]. key is the node's identity: a pointer, made when the streams are
// described. use is called with each instance that exists, in order, and says
// whether the caller can take part in it; if none will do, create makes another
// one, with a scope of its own that ends with the run and not with the caller,
// and use is called for that too.
func Shared[N any](s *Scope, key any, use func(N) bool, create func(*Scope) N) N {
	f := s.family
	f.mu.Lock()
	for _, n := range f.nodes[key] {
		if n := n.(N); use(n) {
			f.mu.Unlock()
			return n
		}
	}
	f.mu.Unlock()
	// create opens streams, which may share nodes themselves. Opening is done
	// by one goroutine, so nobody comes in between.
	n := create(f.base.Child())
	use(n)
	f.mu.Lock()
	if f.nodes == nil {
		f.nodes = make(map[any][]any)
	}
	f.nodes[key] = append(f.nodes[key], n)
	f.mu.Unlock()
	return n
}
