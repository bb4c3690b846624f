package stage

import "context"

// Until passes in on until stop is closed or receives; then in is cancelled
// and, for downstream, has ended: what has been taken from it is finished, and
// partial batches are flushed. Put it right behind the source; what stands
// between the source and Until is cancelled with it, and its errors that only
// say so are dropped. To abort instead of to finish, cancel the context of the
// run.
//
// A nil stop never fires. One that has yet to fire does not keep a run going that
// waits for itself: that ends with [ErrStalled].
func Until[T any](in Stream[T], stop <-chan struct{}) Stream[T] {
	return New(func(s *Scope) Reader[T] {
		sub := s.Child()
		return &untilReader[T]{sub: sub, up: Open(sub, in), stop: stop, name: s.Label("", "until")}
	})
}

type untilReader[T any] struct {
	sub   *Scope
	up    Reader[T]
	stop  <-chan struct{}
	name  string
	begun bool
}

func (r *untilReader[T]) Next(dst []Try[T]) int {
	if !r.begun && !r.sub.Stopped() {
		r.begun = true
		select {
		case <-r.stop:
			r.sub.Cancel(ErrUntil)
		default:
			r.watch()
		}
	}
	for {
		k := r.up.Next(dst)
		if k == 0 || !r.sub.Stopped() {
			return k
		}
		if k = r.kept(dst[:k]); k > 0 {
			return k
		}
	}
}

// kept removes the errors that only say that stop has fired.
func (r *untilReader[T]) kept(items []Try[T]) (k int) {
	<-r.sub.done // Stopped may be ahead of it
	fired := context.Cause(r.sub.ctx) == ErrUntil
	for i := range items {
		if err := items[i].Error; fired && err != nil && r.sub.saysStopped(err) {
			continue
		}
		items[k] = items[i]
		k++
	}
	clear(items[k:])
	return k
}

// watch waits for stop in a goroutine that the stall detection does not count:
// it never waits for the run.
func (r *untilReader[T]) watch() {
	r.sub.spawn(labelled(r.sub.ctx, r.name), func() {
		select {
		case <-r.stop:
			r.sub.Cancel(ErrUntil)
		case <-r.sub.done:
		}
	}, false, func(v any) { r.sub.lost(r.name, v) })
}

func (r *untilReader[T]) Close() {
	r.sub.Cancel(ErrClosed)
	r.up.Close()
}
