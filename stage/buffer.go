package stage

import (
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed95b73fdc/sluice/backpressure"
)

// Buffer reads in ahead of downstream, in a goroutine of its own, and holds up
// to size items. overflow says what becomes of a value that comes while it is
// full:
//
//   - [backpressure.Block]: nothing comes, for in is not asked: it pushes back.
//   - [backpressure.DropOldest]: the oldest value in the buffer is dropped.
//   - [backpressure.DropNewest]: the value that has come is dropped.
//   - [backpressure.Latest]: it is merged with the newest value in the buffer, by
//     the function that [Conflate] gives, or takes its place.
//   - [backpressure.Fail]: in is closed, and an error that wraps
//     [backpressure.ErrOverflow] is the last item, behind those in the buffer.
//
// All but Block ask in for one more item when they are full. Errors are never
// dropped nor merged: one that comes to a full buffer waits for room, and in
// with it. What is dropped, and what is merged away, is counted in
// [StageStats.Dropped] and told to the function given with [OnDrop].
//
// It emits what it holds as soon as that is asked for, and ends after in has
// ended and the buffer is empty. A size below 1, and an overflow that is none of
// these, panics. [Over] says what the buffer is made of for Block, DropNewest and
// Fail; the others need a lock on either side, and ignore it.
func Buffer[T any](in Stream[T], size int, overflow backpressure.Overflow, opts ...Option) Stream[T] {
	const fn = "stage.Buffer"
	CheckSize(fn, "size", size, 1)
	if !overflow.Valid() {
		argPanic(fn, "overflow is %v, want Block, DropOldest, DropNewest, Latest or Fail", overflow)
	}
	c := Configure(fn, opts...)
	onDrop := typed[func(T)](fn, "OnDrop", c.Value(onDropKey{}))
	merge := typed[func(old, new T) T](fn, "Conflate", c.Value(conflateKey{}))
	transport, _ := c.Value(overKey{}).(backpressure.Transport)
	return New(func(s *Scope) Reader[T] {
		sub := s.Child()
		b := &buffer[T]{scope: s, sub: sub, up: Open(sub, in), size: size, overflow: overflow, onDrop: onDrop, over: make(chan struct{}), counted: s.Counted()}
		b.name = s.Label(c.Name, "buffer")
		b.cons = s.NewWaiter(b.name, func() string { return "its reader waits for an item" })
		if overflow == backpressure.DropOldest || overflow == backpressure.Latest {
			b.store = &shelf[T]{size: size, merge: merge}
		} else {
			b.store = newLink[T](transport, size)
		}
		s.Report(b.snapshot)
		return b
	})
}

type (
	onDropKey   struct{}
	conflateKey struct{}
	overKey     struct{}
)

// OnDrop has f called for each value that a [Buffer], [Debounce] or [Sample]
// drops or merges away, in the operator's own goroutine, one call at a time. T
// must be that of the stream; another one panics where the stream is described.
func OnDrop[T any](f func(T)) Option {
	CheckFunc("stage.OnDrop", "f", f == nil)
	return With(onDropKey{}, f)
}

// Conflate gives a [Buffer] with [backpressure.Latest] the function that makes
// one value of the newest in the buffer and the one that has come.
func Conflate[T any](merge func(old, new T) T) Option {
	CheckFunc("stage.Conflate", "merge", merge == nil)
	return With(conflateKey{}, merge)
}

// Over says what transports the items between the goroutines of the links
// that have a transport of their own: [backpressure.Ring], which is what they have
// without it, or [backpressure.Chan].
func Over(transport backpressure.Transport) Option {
	if !transport.Valid() {
		argPanic("stage.Over", "transport is %v, want Ring or Chan", transport)
	}
	return With(overKey{}, transport)
}

// typed returns the function that an option carries as an F, or nil if it
// was not given.
func typed[F any](fn, option string, v any) (f F) {
	if v == nil {
		return f
	}
	f, ok := v.(F)
	if !ok {
		argPanic(fn, "%s has a %T, want a %v", option, v, reflect.TypeFor[F]())
	}
	return f
}

// buffer has a pump, which brings items from upstream to the store, and a
// reader, which takes them out. The pump waits in prod for room, the reader in
// cons for items; each wakes the other after what it has done.
type buffer[T any] struct {
	scope    *Scope
	sub      *Scope // of the pump, which cancels it when it fails: the reader goes on
	up       Reader[T]
	name     string
	size     int
	overflow backpressure.Overflow
	onDrop   func(T)
	store    store[T]
	cons     *Waiter
	prod     *Waiter
	over     chan struct{} // closed when the pump has returned
	begun    bool
	counted  bool        // someone looks at the Stats
	failed   error       // what the stream ends with; set before ended
	ended    atomic.Bool // no more items come

	in, out, errs, dropped atomic.Uint64
	waits                  clock
}

// clock adds up how long a goroutine waits: for its input, and for room.
type clock struct {
	mu      sync.Mutex
	starved time.Duration
	blocked time.Duration
	since   time.Duration // of the wait that is under way, or 0
	forRoom bool          // which one that is
}

func (c *clock) begin(forRoom bool) {
	c.mu.Lock()
	c.since, c.forRoom = now(), forRoom
	c.mu.Unlock()
}

func (c *clock) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starved, c.blocked = c.total()
	c.since = 0
}

// total is what there is up to now. Under mu.
func (c *clock) total() (starved, blocked time.Duration) {
	starved, blocked = c.starved, c.blocked
	switch {
	case c.since == 0:
	case c.forRoom:
		blocked += now() - c.since
	default:
		starved += now() - c.since
	}
	return starved, blocked
}

func (b *buffer[T]) snapshot() StageStats {
	s := StageStats{Name: b.name, Window: b.size, Out: b.out.Load(), Errors: b.errs.Load(), Dropped: b.dropped.Load(), In: b.in.Load()}
	s.InFlight = max(0, int(s.In-s.Dropped-s.Out))
	b.waits.mu.Lock()
	s.Starved, s.Blocked = b.waits.total()
	b.waits.mu.Unlock()
	return s
}

func (b *buffer[T]) Next(dst []Try[T]) int {
	if !b.begun {
		if b.scope.Stopped() {
			return 0
		}
		b.begin()
	}
	for round := 0; ; {
		k := b.store.take(dst)
		if k > 0 {
			b.prod.Wake()
			b.out.Add(uint64(k))
			b.errs.Add(uint64(countErrors(dst[:k])))
			return k
		}
		if b.ended.Load() && b.store.empty() {
			return b.last(dst)
		}
		if b.scope.Stopped() {
			return 0
		}
		if yield(&round) {
			continue
		}
		b.cons.Arm()
		if !b.store.empty() || b.ended.Load() {
			b.cons.Disarm()
			continue
		}
		if !b.cons.Park() && b.store.empty() {
			return 0
		}
	}
}

// last is the end of the stream, once with what it failed with.
func (b *buffer[T]) last(dst []Try[T]) int {
	if b.failed == nil {
		return 0
	}
	dst[0] = Try[T]{Error: b.failed}
	b.failed = nil
	b.errs.Add(1)
	return 1
}

func (b *buffer[T]) Close() {
	b.sub.Cancel(ErrClosed)
	b.cons.Free()
	if b.begun && !b.sub.Await(b.over) {
		return
	}
	b.up.Close()
	b.store.clear()
	b.failed = nil
	b.ended.Store(true)
}
