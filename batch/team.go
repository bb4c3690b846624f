package batch

import (
	"context"
	"fmt"
	"runtime/debug"
	"runtime/pprof"
	"sync"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// A team is the goroutines of one call of a function over a finite slice. The
// caller waits for all of them; after a panic for no longer than
// [stage.PanicGrace], as the terminals of package stage do.
type team struct {
	name string
	user context.Context // the caller's, or nil if it cannot be cancelled
	ctx  context.Context // ends with user, after a panic, and with the call
	end  context.CancelCauseFunc
	tags context.Context // with the pprof label
	halt func()          // called at a panic: nothing more is to begin

	mu     sync.Mutex // never held while somebody waits
	n      int
	gone   chan struct{} // closed when n falls to 0
	panic  *stage.Panic  // the first one
	raised chan struct{} // closed at the first panic
}

func newTeam(ctx context.Context, name string) *team {
	if ctx == nil {
		panic(name + ": the context is nil")
	}
	t := &team{name: name, halt: func() {}, raised: make(chan struct{})}
	if ctx.Done() != nil {
		t.user = ctx
	}
	t.ctx, t.end = context.WithCancelCause(ctx)
	t.tags = pprof.WithLabels(ctx, pprof.Labels("sluice.stage", name))
	return t
}

// stopped reports whether the caller's context has ended. It is exact: it is
// true from the moment that the cancel function returns.
func (t *team) stopped() bool { return t.user != nil && t.user.Err() != nil }

// start runs f in a goroutine. goexit is called in its stead if a function of
// the user ends the goroutine with runtime.Goexit.
func (t *team) start(f, goexit func()) {
	t.mu.Lock()
	if t.n++; t.n == 1 {
		t.gone = make(chan struct{})
	}
	t.mu.Unlock()
	go func() {
		returned := false
		defer func() {
			if !returned {
				if v := recover(); v != nil {
					t.panicked(v)
				} else {
					goexit()
				}
			}
			t.mu.Lock()
			if t.n--; t.n == 0 {
				close(t.gone)
			}
			t.mu.Unlock()
		}()
		pprof.SetGoroutineLabels(t.tags)
		f()
		returned = true
	}()
}

// panicked records a panic. It is called by the deferred function itself, so
// that the stack is that of the panic.
func (t *team) panicked(v any) {
	p := &stage.Panic{Stage: t.name, Value: v, Stack: debug.Stack()}
	t.mu.Lock()
	if t.panic == nil {
		t.panic = p
		close(t.raised)
	}
	t.mu.Unlock()
	t.halt()
	t.end(p)
}

// goexit is the error of an item whose call has ended its goroutine.
func (t *team) goexit() error { return fmt.Errorf("%s: %w", t.name, stage.ErrGoexit) }

// wait blocks until all goroutines have ended, and raises their panic.
func (t *team) wait() {
	t.mu.Lock()
	gone := t.gone
	t.mu.Unlock()
	select {
	case <-gone:
	case <-t.raised:
		grace := time.NewTimer(stage.PanicGrace)
		defer grace.Stop()
		select {
		case <-gone:
		case <-grace.C:
		}
	}
	t.mu.Lock()
	p := t.panic
	if p != nil {
		p.Running = t.n
	}
	t.mu.Unlock()
	if p != nil {
		panic(p)
	}
}
