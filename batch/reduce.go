package batch

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"github.com/seed95b73fdc/sluice/stage"
)

// Adder is a function that adds something to a state: plainly, or with an error,
// or with a context too.
type Adder[S, T any] interface {
	~func(S, T) S | ~func(S, T) (S, error) | ~func(context.Context, S, T) (S, error)
}

// adder returns the one of its three forms that f has in the last one.
func adder[S, T any, F Adder[S, T]](fn, arg string, f F) func(context.Context, S, T) (S, error) {
	v := reflect.ValueOf(f)
	stage.CheckFunc(fn, arg, v.IsNil())
	if g, ok := as[func(S, T) S](v); ok {
		return func(_ context.Context, s S, t T) (S, error) { return g(s, t), nil }
	}
	if g, ok := as[func(S, T) (S, error)](v); ok {
		return func(_ context.Context, s S, t T) (S, error) { return g(s, t) }
	}
	g, _ := as[func(context.Context, S, T) (S, error)](v)
	return g
}

// as converts a function to a type that it may have, also when its own has a name.
func as[F any](v reflect.Value) (f F, ok bool) {
	t := reflect.TypeFor[F]()
	if !v.Type().ConvertibleTo(t) {
		return f, false
	}
	return v.Convert(t).Interface().(F), true
}

// Reduce adds up items. Each worker adds items that follow one another to a state
// of its own, which begins as zero, and merge puts the states of neighbouring
// pieces together, the earlier one first, until one is left. So merge must be
// associative, but need not be commutative, and zero must be neutral:
// merge(zero, s) = s. Which pieces there are differs from call to call; there
// are few, so merges are few. Merges run at once with each other and with the
// additions that are left. Without items the result is zero.
//
// zero is copied by assignment, and every worker begins from it. So it must not
// refer to memory that add could change: a pointer, a map, a slice or a channel
// in it that is not nil panics. Give a nil map and make one in add, or use [Fold].
// S is the type of zero: with an untyped constant write float64(0), not 0.
//
// It runs as [Each] does. The error is the first one of add in the order of items,
// if there is none, one of merge; with an error the result is the zero value of S.
func Reduce[S, T any, A Adder[S, T], M Adder[S, S]](ctx context.Context, items []T, workers int, zero S, add A, merge M) (S, error) {
	const fn = "batch.Reduce"
	if shares(reflect.ValueOf(&zero).Elem()) {
		panic(fmt.Sprintf("%s: zero refers to memory that all workers would share: %v", fn, zero))
	}
	return fold(ctx, fn, items, workers, func() S { return zero }, adder[S, T](fn, "add", add), adder[S, S](fn, "merge", merge))
}

// Fold is [Reduce] with states that begin as what newState returns, which must be
// neutral too: for those that add changes in place, such as maps. newState is
// called by the workers, several at once.
func Fold[S, T any, A Adder[S, T], M Adder[S, S]](ctx context.Context, items []T, workers int, newState func() S, add A, merge M) (S, error) {
	const fn = "batch.Fold"
	stage.CheckFunc(fn, "newState", newState == nil)
	return fold(ctx, fn, items, workers, newState, adder[S, T](fn, "add", add), adder[S, S](fn, "merge", merge))
}

// shares reports whether copies of v have memory in common that can be changed.
func shares(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Chan, reflect.UnsafePointer:
		return !v.IsNil()
	case reflect.Slice:
		return v.Cap() > 0
	case reflect.Interface:
		return !v.IsNil() && shares(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if shares(v.Field(i)) {
				return true
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			if shares(v.Index(i)) {
				return true
			}
		}
	}
	return false
}

func fold[S, T any](ctx context.Context, fn string, items []T, workers int, newState func() S,
	add func(context.Context, S, T) (S, error), merge func(context.Context, S, S) (S, error),
) (result S, err error) {
	s := newCrew(ctx, fn, len(items), workers)
	p := &pieces[S]{ends: make(map[int]*piece[S]), begins: make(map[int]*piece[S])}
	if len(items) == 0 { // a worker makes the state, as it makes all others
		err = s.run(1, func(w *worker) {
			if _, ok := w.next(); ok {
				p.begins[0] = &piece[S]{state: newState()}
			}
		})
	} else {
		err = s.run(len(items), func(w *worker) {
			for {
				if i, ok := w.next(); ok {
					mine := &piece[S]{from: i, state: newState()}
					if addAll(w, mine, items, add) {
						join(w, p, mine, merge)
					}
				}
				if !w.steal() {
					return
				}
			}
		})
	}
	if err != nil {
		return result, err
	}
	return p.begins[0].state, nil
}

// piece is what items from to to-1 add up to.
type piece[S any] struct {
	from, to int
	state    S
}

// pieces are those whose neighbours are not there yet.
type pieces[S any] struct {
	mu           sync.Mutex // never held while somebody waits
	begins, ends map[int]*piece[S]
}

// addAll adds the items that the worker gets one after the other, from the first
// one on, which it has. False means that one has failed.
func addAll[S, T any](w *worker, mine *piece[S], items []T, add func(context.Context, S, T) (S, error)) bool {
	i, ok := mine.from, true
	for ; ok; i, ok = w.next() {
		state, err := add(w.ctx, mine.state, items[i])
		if err != nil {
			w.fail(i, err)
			return false
		}
		mine.state, mine.to = state, i+1
	}
	return true
}

// join merges a piece with its neighbours, as long as there are any, and leaves
// it to whoever brings the next one.
func join[S any](w *worker, p *pieces[S], mine *piece[S], merge func(context.Context, S, S) (S, error)) {
	s := w.s
	for {
		left, right := p.neighbours(mine)
		if left == nil || s.refuses() {
			return
		}
		w.merges = true
		state, err := merge(s.ctx, left.state, right.state)
		w.merges = false
		if err != nil {
			s.failLast(err)
			return
		}
		mine = &piece[S]{left.from, right.to, state}
	}
}

// neighbours takes a piece that is next to mine off the books and returns both in
// their order; if there is none, it puts mine on them.
func (p *pieces[S]) neighbours(mine *piece[S]) (left, right *piece[S]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	left, right = p.ends[mine.from], mine
	if left == nil {
		left, right = mine, p.begins[mine.to]
	}
	if right == nil {
		p.begins[mine.from], p.ends[mine.to] = mine, mine
		return nil, nil
	}
	for _, q := range [...]*piece[S]{left, right} {
		delete(p.begins, q.from)
		delete(p.ends, q.to)
	}
	return left, right
}
