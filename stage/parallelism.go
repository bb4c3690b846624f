package stage

import (
	"sync"
	"sync/atomic"
)

// Parallelism is the n of stages that were given it with [Resizable], for
// somebody to change while they run: a user, a schedule, or a rule that follows
// the latency of a server. The zero Parallelism leaves each stage the n that it
// was described with until the first Set. It may be used by any goroutine, and
// by any number of stages and runs at once.
type Parallelism struct {
	n atomic.Int64

	mu    sync.Mutex
	last  int
	tells map[int]func()
}

// NewParallelism returns a Parallelism set to n, 1 to 1,048,576; another n
// panics.
func NewParallelism(n int) *Parallelism {
	p := &Parallelism{}
	p.n.Store(checkedSize("stage.NewParallelism", n))
	return p
}

// Set changes n for all stages that have p: those that run follow at once upward,
// and downward as calls end, for none is interrupted. An n that is not 1 to
// 1,048,576 panics. It never blocks on a call.
func (p *Parallelism) Set(n int) {
	p.n.Store(checkedSize("stage.Parallelism.Set", n))
	p.mu.Lock()
	tells := make([]func(), 0, len(p.tells))
	for _, tell := range p.tells {
		tells = append(tells, tell)
	}
	p.mu.Unlock()
	for _, tell := range tells {
		tell()
	}
}

func checkedSize(fn string, n int) int64 {
	if n < 1 || n > maxN {
		argPanic(fn, "n is %d, want 1 to %d", n, maxN)
	}
	return int64(n)
}

// N returns what was set last, or 0 before the first Set of a zero Parallelism.
func (p *Parallelism) N() int { return int(p.n.Load()) }

// Notify has f called after each Set, by the goroutine that called that, until
// stop is called; a call that is under way then may still end after it. It is for
// engines of one's own: f is to look at N, and not to block.
func (p *Parallelism) Notify(f func()) (stop func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tells == nil {
		p.tells = make(map[int]func())
	}
	p.last++
	id := p.last
	p.tells[id] = f
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.tells, id)
	}
}

// Resizable puts a stage's n into the hands of p. Up to p.N() calls run at
// once; order, and an explicit [Window], are kept; without one the window
// follows n. The goroutines of a larger n stay, parked, until the run has ended.
// A nil p panics, and so does a stage with [Inline], which has no goroutines to
// change the number of. [Split], [Partition], [Tee] and [Balance] ignore it.
func Resizable(p *Parallelism) Option {
	CheckFunc("stage.Resizable", "p", p == nil)
	return func(c *Config) { c.Parallelism = p }
}

// size is the present n of a stage that was described with n.
func (c *Config) size(n int) int {
	if c.Parallelism != nil {
		if now := c.Parallelism.N(); now > 0 {
			return now
		}
	}
	return n
}

// checkResizable panics if a stage without goroutines is to be resized.
func (c *Config) checkResizable(fn string, n int) {
	if n == Inline && c.Parallelism != nil {
		argPanic(fn, "n is 0 (Inline), which cannot be resized")
	}
}
