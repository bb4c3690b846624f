package stage

// What operators with goroutines need besides Go, Label and Report.

// GoElse is [Scope.Go] for an operator that answers for f itself: if f does not
// return, lost is called in its stead, in the same goroutine, with the panic, or
// with nil after runtime.Goexit. It may start another goroutine that goes on with
// the work, and make the item's error of the panic; false means that the run is
// to fail, as with Go.
func (s *Scope) GoElse(name string, f func(), lost func(p *Panic) (settled bool)) {
	s.run.live.Add(1)
	s.spawn(labelled(s.ctx, name), f, true, func(v any) {
		var p *Panic
		if v != nil {
			p = newPanic(name, v)
		}
		if !lost(p) {
			s.lost(name, v)
		}
	})
}

// Goexit returns the error of an item whose function has ended its goroutine
// with runtime.Goexit in the stage of that name: an [ErrGoexit].
func Goexit(name string) error { return &stageError{name, ErrGoexit} }

// Await blocks until done is closed: it is what a Close waits with for the
// goroutines of its operator, once it has cancelled them. False means that the
// run has given up on whoever should close it, because a function ignores its
// context for longer than [PanicGrace] after a panic; then Close returns and
// leaves what they use as it is.
func (s *Scope) Await(done <-chan struct{}) bool { return s.run.await(done) }

// Nested returns a child for streams that come up during the run, such as the
// inner ones of a FlatMap: what they share among themselves, by [Shared], they do
// not share with the run around them.
func (s *Scope) Nested() *Scope {
	n := newScope(s.ctx, s.run, s, &family{})
	n.family.base = n
	return n
}

// Counted reports whether anybody looks at the Stats of the run, so that an
// operator need not count, nor read the clock, if not.
func (s *Scope) Counted() bool { return s.run.stats != nil }
