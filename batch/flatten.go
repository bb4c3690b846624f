package batch

import "github.com/seed95b73fdc/sluice/stage"

// Flatten emits the values of each batch, one by one and in order, and errors in
// their place: it is what undoes [Chunk]. Empty batches emit nothing. It runs in
// the goroutine of whoever pulls, blocks only in its input, holds one batch while
// its reader is slow, and changes none.
func Flatten[T any](in stage.Stream[[]T]) stage.Stream[T] {
	return stage.New(func(s *stage.Scope) stage.Reader[T] {
		return &flattenReader[T]{scope: s, up: stage.Open(s, in), length: 1}
	})
}

type flattenReader[T any] struct {
	scope  *stage.Scope
	up     stage.Reader[[]T]
	buf    []stage.Try[[]T] // buf[at:end] are the batches that are left
	at     int
	end    int
	from   int // values before it of buf[at] have been emitted
	length int // of the last batch: the next ones are likely to be like it
}

func (r *flattenReader[T]) Next(dst []stage.Try[T]) int {
	for late := 0; late < maxLate; {
		if k := r.emit(dst); k > 0 {
			return k
		}
		if r.scope.Stopped() {
			late++
		}
		if !r.refill(len(dst)) {
			return 0
		}
	}
	return 0
}

// NextValues makes it a [stage.ValueReader].
func (r *flattenReader[T]) NextValues(dst []T) int {
	for !r.scope.Stopped() {
		for r.at < r.end {
			b := &r.buf[r.at]
			if b.Error != nil {
				return 0
			}
			if k := copy(dst, b.Value[r.from:]); k > 0 {
				r.from += k
				return k
			}
			r.over()
		}
		if !r.refill(len(dst)) {
			return 0
		}
	}
	return 0
}

// refill asks for batches that have about so many values; false means that there are
// none.
func (r *flattenReader[T]) refill(values int) bool {
	room := max(1, min(values, chunk)/max(1, r.length))
	if len(r.buf) < room {
		r.buf = make([]stage.Try[[]T], room)
	}
	r.at, r.end = 0, r.up.Next(r.buf[:room])
	return r.end > 0
}

// over goes on to the next batch, or error.
func (r *flattenReader[T]) over() {
	if b := &r.buf[r.at]; b.Error == nil {
		r.length = len(b.Value)
	}
	r.buf[r.at] = stage.Try[[]T]{}
	r.at, r.from = r.at+1, 0
}

// emit moves what is there to dst.
func (r *flattenReader[T]) emit(dst []stage.Try[T]) (k int) {
	for r.at < r.end && k < len(dst) {
		b := &r.buf[r.at]
		if b.Error != nil {
			dst[k] = stage.Try[T]{Error: b.Error}
			k++
		} else {
			values := b.Value[r.from:]
			values = values[:min(len(values), len(dst)-k)]
			for i, v := range values {
				dst[k+i] = stage.Try[T]{Value: v}
			}
			k += len(values)
			if r.from += len(values); r.from < len(b.Value) {
				break
			}
		}
		r.over()
	}
	return k
}

func (r *flattenReader[T]) Close() {
	r.buf, r.at, r.end = nil, 0, 0
	r.up.Close()
}
