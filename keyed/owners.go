package keyed

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/seed95b73fdc/sluice/stage"
)

// ownersWindow is the window of Owners without a Window.
const ownersWindow = 1024

// Owners keeps a state of type S for each key and runs functions on them for any
// number of callers, one function at a time for a key: it stands where else a lock
// around each state would. Keys fall on lanes by their hash. Up to n functions run
// at once, on different lanes. Those for one key run in the order of the calls, as far
// as these have one: when one call has returned before another one begins.
//
// The state of a key is made when the first function for it is about to run, and
// kept. A function must not keep the pointer that it is given, and must not call
// Do, Post, Atomically, Resize or Close of the same Owners, which could wait for the
// function itself. Stats, Epoch and Len are fine.
//
// Methods may be called by any number of goroutines at once. There are goroutines
// only while there is something to do, at most n. Call [Owners.Close] in the end.
type Owners[K comparable, S any] struct {
	name string
	newS func(context.Context, K) (S, error)
	hash func(K) uint64
	most int64 // the window
	_    [lineSize]byte

	books   atomic.Int64 // admitted and not ended; see owners_admit.go
	running atomic.Int64 // permits out
	waiting atomic.Int64 // turns in ready
	n       atomic.Int64 // permits there are
	table   atomic.Pointer[ownersTable[K, S]]
	_       [lineSize]byte

	mu      sync.Mutex // never held while a function runs, or while anybody waits
	ready   []turn[K, S]
	workers int
	queue   []*admission
	closed  bool
	paused  bool
	quiet   chan struct{} // closed when nothing is admitted any more; nil if nobody asks
	over    chan struct{} // closed when all is done after Close
	ended   bool          // it has been
	failure error         // the first one of a posted function
	counts  ownersCounts

	posts   sync.Pool     // tasks of Post
	resizer chan struct{} // full while nobody resizes
}

// NewOwners returns Owners, as in
//
//	accounts := keyed.NewOwners[string, Account](4, func(id string) Account { return Account{ID: id} })
//
// that run up to n ≥ 1 functions at once and make states
// with newState. Options are [stage.Name], which stands in panics, and
// [stage.Window], the number of functions that are admitted and have not ended, 1024
// if not given: when there are so many, callers wait to be admitted, first come,
// first served. It panics on a bad argument. It starts no goroutine.
func NewOwners[K comparable, S any, N NewState[K, S]](n int, newState N, opts ...stage.Option) *Owners[K, S] {
	const fn = "keyed.NewOwners"
	stage.CheckN(fn, n, opts...)
	stage.CheckSize(fn, "n", n, 1)
	c := stage.Configure(fn, opts...)
	o := &Owners[K, S]{
		name: c.Name, newS: stateMaker[K, S](fn, newState), hash: hasher[K](), most: ownersWindow,
		over: make(chan struct{}), resizer: make(chan struct{}, 1),
	}
	if o.name == "" {
		o.name = "owners"
	}
	if c.Window > 0 {
		o.most = int64(c.Window)
	}
	o.n.Store(int64(n))
	o.table.Store(newOwnersTable[K, S](n, 1))
	o.resizer <- struct{}{}
	return o
}

// Do runs f on the state of key, and returns when it has run, with its error.
//
// It blocks while the window is full, and then until f has had its turn and has
// returned. What it returns is exact:
//
//   - nil: f has run, and returned nil.
//   - [ErrClosed], or the cause of ctx, as it is: f has not run and never will.
//   - a [*RunningError]: ctx ended while f ran. It has not been interrupted; the
//     error tells the outcome once it is known. errors.Is finds the cause of ctx
//     in it.
//   - any other error: that of newState, or of f, which has run.
//
// A panic of f is raised again here, as a [*stage.Panic]; the state is left as f
// left it. With a ctx that can never end f may run in the caller's goroutine.
func (o *Owners[K, S]) Do(ctx context.Context, key K, f func(state *S) error) error {
	stage.CheckFunc("keyed.Owners.Do", "f", f == nil)
	if err := o.admit(ctx); err != nil {
		return err
	}
	l := o.lane(key)
	l.mu.Lock()
	if !l.busy && ctx.Done() == nil && o.permit() {
		l.busy = true
		l.mu.Unlock()
		return o.inline(l, key, f)
	}
	t := newTask(key, f)
	o.submit(l, t)
	return o.await(ctx, t)
}

// Post has f run on the state of key, and does not wait for that. With nil f will
// run, exactly once, after what was admitted for the key before; also if Close is
// called meanwhile. With [ErrClosed], or the cause of ctx, it never will. Post blocks
// while the window is full; after that ctx makes no difference.
//
// An error of f, or of newState, or a panic, is counted in the Stats, and the first
// one is what Close returns.
func (o *Owners[K, S]) Post(ctx context.Context, key K, f func(state *S) error) error {
	stage.CheckFunc("keyed.Owners.Post", "f", f == nil)
	if err := o.admit(ctx); err != nil {
		return err
	}
	l := o.lane(key)
	t, _ := o.posts.Get().(*task[K, S])
	if t == nil {
		t = &task[K, S]{}
	}
	t.key, t.f, t.posted, t.entered, t.seat.task = key, f, true, now(), t
	l.mu.Lock()
	o.submit(l, t)
	return nil
}

// Epoch returns how often the lanes have been laid out: 1, and one more after each
// Resize. It never goes back. Never blocks.
func (o *Owners[K, S]) Epoch() uint64 { return o.table.Load().epoch }

// Len returns the number of keys that have a state. It waits for no function.
func (o *Owners[K, S]) Len() int {
	k := 0
	for i := range o.table.Load().lanes {
		k += int(o.table.Load().lanes[i].keys.Load())
	}
	return k
}

// inline runs f in the goroutine of the caller, who has the lane and a permit.
func (o *Owners[K, S]) inline(l *ownersLane[K, S], key K, f func(*S) error) (err error) {
	begun := l.begin(key, 0)
	returned := false
	defer func() {
		var p *stage.Panic
		if !returned {
			if v := recover(); v != nil {
				p = &stage.Panic{Stage: o.name, Value: v, Stack: debug.Stack()}
			} // else runtime.Goexit, of the caller's own goroutine
		}
		l.end(begun)
		o.release(l)
		o.permitBack()
		o.leave()
		if p != nil {
			panic(p)
		}
	}()
	s, err := l.state(o, key)
	if err == nil {
		err = f(s)
	}
	returned = true
	return err
}

// submit puts a task into a lane, whose mu is held, and gives that up.
func (o *Owners[K, S]) submit(l *ownersLane[K, S], t *task[K, S]) {
	first := l.push(&t.seat)
	l.mu.Unlock()
	if first {
		o.schedule(turn[K, S]{lane: l})
	}
}

// await blocks until t is done, or ctx is.
func (o *Owners[K, S]) await(ctx context.Context, t *task[K, S]) error {
	select {
	case <-t.done:
	case <-ctx.Done():
		if o.withdraw(t) {
			return context.Cause(ctx)
		}
		select {
		case <-t.done:
		default:
			return &RunningError{cause: context.Cause(ctx), done: t.done, outcome: &t.err}
		}
	}
	if p := t.panicked; p != nil {
		panic(p)
	}
	return t.err
}
