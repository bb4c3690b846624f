package stage

// Of is the stream of the items given, as [FromSlice] of them.
func Of[T any](items ...T) Stream[T] { return FromSlice(items) }

// FromSlice emits the elements of s, which must not change while a run reads
// them, and ends after the last one. Never blocks. A non-nil err becomes the only
// item, so that FromSlice(os.ReadDir(d)) fits as it stands; more than one err
// panics.
func FromSlice[T any](s []T, err ...error) Stream[T] {
	if e := given("stage.FromSlice", err); e != nil {
		return Failed[T](e)
	}
	return New(func(sc *Scope) Reader[T] { return &sliceReader[T]{scope: sc, s: s} })
}

// Failed is the stream of one error. A nil err makes an empty stream.
func Failed[T any](err error) Stream[T] {
	if err == nil {
		return Stream[T]{}
	}
	return New(func(sc *Scope) Reader[T] { return &failedReader[T]{scope: sc, err: err} })
}

// given returns the error that came with a source's values.
func given(fn string, err []error) error {
	if len(err) > 1 {
		argPanic(fn, "%d errors, want at most 1", len(err))
	}
	if len(err) == 0 {
		return nil
	}
	return err[0]
}

type sliceReader[T any] struct {
	scope *Scope
	s     []T
}

func (r *sliceReader[T]) Next(dst []Try[T]) int {
	if r.scope.Stopped() {
		return 0
	}
	k := min(len(dst), len(r.s))
	for i, v := range r.s[:k] {
		dst[i] = Try[T]{Value: v}
	}
	r.s = r.s[k:]
	return k
}

// NextValues makes it a [ValueReader].
func (r *sliceReader[T]) NextValues(dst []T) int {
	if r.scope.Stopped() {
		return 0
	}
	k := copy(dst, r.s)
	r.s = r.s[k:]
	return k
}

func (r *sliceReader[T]) Close() { r.s = nil }

type failedReader[T any] struct {
	scope *Scope
	err   error
}

func (r *failedReader[T]) Next(dst []Try[T]) int {
	if r.err == nil || r.scope.Stopped() {
		return 0
	}
	dst[0] = Try[T]{Error: r.err}
	r.err = nil
	return 1
}

func (r *failedReader[T]) Close() { r.err = nil }
