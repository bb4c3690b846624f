package stage

// Stream describes a flow of items. It is cold: nothing runs, and nothing is
// held, until a terminal such as [ForEach] is called with it, and each such
// call runs it anew. A Stream may be used by any number of goroutines and runs
// at once, as far as what it was made of may. The zero Stream is empty.
type Stream[T any] struct {
	open func(*Scope) Reader[T]
}

// Reader is the pull end of an open stream.
//
// Next fills the beginning of dst, which must not be empty, with at least one
// item and returns how many, or 0 at the end of the stream and from then on. It
// moves what is there and blocks only while nothing is. Once the context of the
// scope that it was opened with is done, it blocks no more: it may return what
// is there, and then returns 0. It does not keep dst.
//
// Close ends what feeds the reader and waits for that. It may be called more
// than once; whoever opened the reader must call it, also after the end. After
// Close, Next returns 0.
//
// Next and Close are called by one goroutine at a time. To end a Next that
// blocks in another goroutine, cancel the scope first.
type Reader[T any] interface {
	Next(dst []Try[T]) int
	Close()
}

// ValueReader is a [Reader] whose values lie side by side, so that they need not be
// taken apart for an operator that wants nothing else. NextValues is Next for values
// alone: it fills the beginning of dst with at least one of them and returns how many;
// 0 says that an error comes next, or the end, and that Next is to be asked.
//
// An operator need not know of it, and finds out by a type assertion. Both methods
// may be called in turn.
type ValueReader[T any] interface {
	Reader[T]
	NextValues(dst []T) int
}

// New returns the stream whose runs read what open returns. It is where an
// operator of one's own begins; see the example. open is called once for each
// time that the stream appears in a run, before any item moves: it opens the
// streams that it reads with [Open], and must neither block nor start
// goroutines; the reader's first Next does that. What a run changes belongs into
// the reader, not into variables around open, for a stream may run many times
// and at once. A nil open panics.
func New[T any](open func(*Scope) Reader[T]) Stream[T] {
	if open == nil {
		argPanic("stage.New", "open is nil")
	}
	return Stream[T]{open}
}

// Open opens in as part of the run of s, for the function given to [New]. It
// never blocks, and moves no item. Whoever calls it must Close the reader. The
// zero Stream opens as a reader that is at its end.
func Open[T any](s *Scope, in Stream[T]) Reader[T] {
	if in.open == nil {
		return emptyReader[T]{}
	}
	return in.open(s)
}

type emptyReader[T any] struct{}

func (emptyReader[T]) Next([]Try[T]) int { return 0 }
func (emptyReader[T]) Close()            {}
