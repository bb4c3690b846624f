package stage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed95b73fdc/sluice/lockfree"
)

// drive is the frame of every terminal: it opens in, calls loop in the
// caller's goroutine, and comes back, by whatever road, only when the run has
// ended. If body is not nil and true when a panic passes, that panic is not
// the run's and goes on unchanged.
func drive[T any](ctx context.Context, operator string, in Stream[T], c Config, body *bool, loop func(s *Scope, name string, rd Reader[T]) error) (err error) {
	r := newRun(ctx, operator)
	name := operator
	var rd Reader[T]
	returned := false
	defer func() {
		foreign := body != nil && *body
		if !returned && !foreign {
			if v := recover(); v != nil {
				r.fail(newPanic(name, v))
			}
		}
		r.settle(func() {
			if rd != nil {
				rd.Close()
			}
		})
		if r.panic != nil && !foreign {
			panic(r.panic)
		}
		if err == nil {
			err = r.failure // of a goroutine that had delivered all it had
		}
	}()
	rd = Open(r.root, in)
	name = r.root.Label(c.Name, operator)
	err = loop(r.root, name, rd)
	returned = true
	return err
}

// settle ends the run: it cancels what still runs, closes the readers, and
// waits for the run's goroutines; after a panic for no longer than PanicGrace.
func (r *run) settle(closeAll func()) {
	defer func() {
		if v := recover(); v != nil { // of a reader's Close
			r.fail(newPanic("close", v))
		}
		gone := r.goes.wait(r)
		if !gone {
			time.Sleep(unwind)
		}
		r.mu.Lock()
		if r.grace != nil {
			r.grace.Stop()
		}
		if !gone {
			r.panic.Running = int(r.alive.Load())
		}
		r.mu.Unlock()
		r.report()
	}()
	r.root.Cancel(ErrEnded)
	closeAll()
}

// cause is what the terminal returns when a reader has ended: nil, or why the
// run was cancelled.
func (s *Scope) cause() error {
	if s.Stopped() {
		<-s.done // Stopped is told first; the context follows at once
	}
	return context.Cause(s.ctx)
}

// verdict is what the terminal returns for err, the first error it met, or nil
// at the end of the stream: if the run was cancelled and err only says so, what
// late finds among the items that are left.
func (s *Scope) verdict(err error, late func() error) error {
	if (err == nil || isCancel(err)) && s.Stopped() {
		return late()
	}
	return err
}

func isCancel(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// pace chooses how much room whoever pulls offers: one item until what it does
// with them proves cheap, so that a slow consumer holds one item and not a
// chunk of large ones. Once it is sure, it looks at the clock only now and then.
type pace struct {
	grain int
	skip  int
	began time.Duration
}

const paceSample = 8

func (p *pace) start() {
	if p.skip == 0 {
		p.began = now()
	}
}

func (p *pace) took(items int) {
	if p.skip > 0 {
		p.skip--
		return
	}
	d := now() - p.began
	switch {
	case d < cheapCell && items >= p.grain:
		if p.grain == maxGrain {
			p.skip = paceSample
		}
		p.grain = min(2*p.grain, maxGrain)
	case d > slowCell:
		p.grain = max(1, min(p.grain/2, int(int64(items)*int64(slowCell)/int64(d))))
	}
}

// pull calls visit for each chunk of rd, in the caller's goroutine, until it
// returns an error or false, or rd ends. When the run is cancelled, an error
// that is already there is not masked by the cancellation.
func pull[T any](s *Scope, rd Reader[T], visit func([]Try[T]) (more bool, err error)) error {
	p := pace{grain: 1}
	buf := make([]Try[T], 1)
	keep := lockfree.HoldsPointers[T]()
	for {
		if len(buf) < p.grain {
			buf = make([]Try[T], p.grain)
		}
		k := rd.Next(buf[:p.grain])
		if k == 0 {
			return s.verdict(nil, func() error { return lateError(s, rd, buf, 0) })
		}
		p.start()
		more, err := visit(buf[:k])
		if err != nil {
			return s.verdict(err, func() error { return lateError(s, rd, buf, k) })
		}
		if !more {
			return nil
		}
		forget(buf[:k], keep)
		p.took(k)
	}
}

// errAborted tells pull that the run was cancelled among the items of a chunk.
var errAborted = fmt.Errorf("stage: aborted: %w", context.Canceled)

// lateError looks through what a cancelled run has left, first the k items in
// buf, for an error that is not a cancellation; without one it returns the
// cause. Readers of a cancelled scope give only what is there, so it ends; the
// bound is for those that do not.
func lateError[T any](s *Scope, rd Reader[T], buf []Try[T], k int) error {
	for range maxLate {
		for i := range buf[:k] {
			if err := buf[i].Error; err != nil && !isCancel(err) {
				return err
			}
		}
		if k = rd.Next(buf); k == 0 {
			break
		}
	}
	return s.cause()
}

const maxLate = 1024

// eachValue is pull with a visit that calls f for each value, until the run is
// cancelled, f or the stream has an error, or f has enough.
func eachValue[T any](s *Scope, rd Reader[T], f func(T) (more bool, err error)) error {
	refs := lockfree.HoldsPointers[T]()
	return pull(s, rd, func(chunk []Try[T]) (bool, error) {
		for i := range chunk {
			if err := chunk[i].Error; err != nil {
				return false, err
			}
			if s.Stopped() {
				return false, errAborted
			}
			v := chunk[i].Value
			if refs {
				chunk[i] = Try[T]{} // f may be long with those behind it
			}
			if more, err := f(v); err != nil || !more {
				return false, err
			}
		}
		return true, nil
	})
}
