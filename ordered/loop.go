package ordered

import (
	"sync"
	"sync/atomic"

	"github.com/seed95b73fdc/sluice/stage"
)

// Loop calls f for each value that comes from in, n calls at once, for code on
// plain channels. What f does before it receives from canWrite runs concurrently;
// what it does after that runs alone, in the order of the values: the permission
// to go on is handed from call to call. So a map sends its result after the
// receive, a filter sends or does not, a split sends to one channel or the other.
//
// f must receive from canWrite exactly once, and must not touch it after it has
// returned. A call that returns without having received, or that receives again,
// would leave the order to chance: Loop panics in a goroutine of its own, with a
// text that says which, and that ends the program. It does so when the call
// returns, and when one hangs in a third receive, within seconds.
//
// Loop returns at once. When in has been closed and all calls have returned, it
// closes done: usually the channel that f sends to, or one that is made to tell;
// it may be nil. Nothing else closes or stops anything: a call that blocks, for
// instance because nobody takes what it sends, holds up all behind it, and the n
// goroutines stay until in is closed and what f sends is taken.
//
// A panic of f is that of a goroutine, and ends the program. A call that ends its
// goroutine with runtime.Goexit counts as one that has returned, also if it has
// not received: its place in the order is passed by, and no goroutine is lost.
//
// Nothing is allocated per value. n < 1, a nil in and a nil f panic.
func Loop[A, B any](in <-chan A, done chan<- B, n int, f func(a A, canWrite <-chan struct{})) {
	const fn = "ordered.Loop"
	stage.CheckSize(fn, "n", n, 1)
	stage.CheckN(fn, n)
	stage.CheckFunc(fn, "in", in == nil)
	stage.CheckFunc(fn, "f", f == nil)
	l := &loop[A, B]{in: in, done: done, f: f, chain: make(chan *permit, 1), pool: make(chan *permit, n)}
	first := newPermit()
	for range n {
		l.pool <- newPermit()
	}
	l.alive.Store(int64(n))
	l.watch.pass(first)
	l.chain <- first
	for range n {
		go l.work()
	}
}

// loop is a permission chain. A worker takes the permit out of chain, which is at
// once the right to receive from in, receives a value, to which this permit
// belongs, and puts the permit of the next value into chain.
//
// Who waits for whom: a worker waits for the permit in chain; the one that has it
// waits for a value; a call waits in f for its permit to be given, by the call
// before it, which has its own already. So the first call never waits for a later
// one.
//
// Invariants:
//
//   - Of n+1 permits, each belongs to a call, or is in chain, or is in pool. There
//     are at most n calls, so pool is not empty when a worker needs a permit.
//   - A permit is given by the call before, once that has returned.
//
// loop.pml is a model of it, and of the calls that break their contract.
type loop[A, B any] struct {
	in    <-chan A
	done  chan<- B
	f     func(A, <-chan struct{})
	chain chan *permit // one: that of the next value
	pool  chan *permit
	alive atomic.Int64
	watch watch
}

// work is the life of a worker.
func (l *loop[A, B]) work() {
	for {
		mine := <-l.chain
		a, ok := <-l.in
		if !ok {
			l.chain <- mine // so that the others see it too
			break
		}
		next := <-l.pool
		l.chain <- next
		l.call(a, mine, next)
	}
	if l.alive.Add(-1) == 0 {
		l.watch.end()
		if l.done != nil {
			close(l.done)
		}
	}
}

// call calls f, and then hands the permission on.
func (l *loop[A, B]) call(a A, mine, next *permit) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			panic(v)
		}
		// f has called Goexit, and this goroutine ends with it.
		mine.settle()
		l.hand(mine, next)
		go l.work()
	}()
	l.f(a, mine.tokens)
	returned = true
	l.hand(mine, next)
}

func (l *loop[A, B]) hand(mine, next *permit) {
	mine.take()
	l.watch.pass(next)
	l.pool <- mine
}

// permit is the permission of one call. It is given as two tokens: one for f to
// receive, and one that must be left when f has returned. So it can be seen how
// often f has received, and a second receive hangs nobody.
type permit struct {
	mu     sync.Mutex // given and the tokens change together
	given  bool
	tokens chan struct{}
}

const (
	tokensGiven = 2
	tokensLeft  = 1
)

func newPermit() *permit { return &permit{tokens: make(chan struct{}, tokensGiven)} }

func (p *permit) give() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.given = true
	for range tokensGiven {
		p.tokens <- struct{}{}
	}
}

// take takes the permission back from a call that has returned.
func (p *permit) take() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch left := len(p.tokens); {
	case !p.given, left > tokensLeft:
		panic("ordered.Loop: f returned without having received from canWrite")
	case left < tokensLeft:
		panic(twice)
	}
	<-p.tokens
	p.given = false
}

const twice = "ordered.Loop: f received from canWrite more than once"

// settle receives for a call that has ended itself, if it has not yet. It blocks
// until the permission is given.
func (p *permit) settle() {
	p.mu.Lock()
	given := p.given
	if given && len(p.tokens) == tokensGiven {
		<-p.tokens
	}
	p.mu.Unlock()
	if !given {
		<-p.tokens
	}
}
