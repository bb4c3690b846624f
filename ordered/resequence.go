package ordered

import (
	"errors"
	"fmt"

	"github.com/seed95b73fdc/sluice/stage"
)

// Reported by [Resequence], in place; errors.Is finds them in what is emitted.
var (
	// ErrGap stands for numbers that have not come: see [GapError].
	ErrGap = errors.New("ordered: gap in the sequence")
	// ErrDuplicate stands for an item whose number had its place already: see
	// [DuplicateError].
	ErrDuplicate = errors.New("ordered: number came again")
)

// GapError says which numbers have not come while there was room to wait for
// them.
type GapError[N Integer] struct {
	First, Last N // all from First to Last, both included
}

// Error says which numbers.
func (e *GapError[N]) Error() string {
	if e.First == e.Last {
		return fmt.Sprintf("%v: %d is missing", ErrGap, e.First)
	}
	return fmt.Sprintf("%v: %d to %d are missing", ErrGap, e.First, e.Last)
}

// Unwrap returns ErrGap.
func (e *GapError[N]) Unwrap() error { return ErrGap }

// DuplicateError says that an item came whose number had been emitted, or reported
// missing, or lies before the first one. The item is not emitted.
type DuplicateError[N Integer] struct {
	Number N
}

// Error says which number.
func (e *DuplicateError[N]) Error() string {
	return fmt.Sprintf("%v, or too late: %d", ErrDuplicate, e.Number)
}

// Unwrap returns ErrDuplicate.
func (e *DuplicateError[N]) Unwrap() error { return ErrDuplicate }

// Integer is what items can be numbered with.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

// Resequence puts numbered items back in order. seq tells the number of an item;
// the sequence begins with first, or 0 if none is given, and goes on by one. An
// item whose number comes next is emitted at once; one that is early is held until
// those before it have come. At most window items are held, so an item may be
// overtaken by window-1 others.
//
// When window items are held, or in has ended, and the next number is not among
// them, it is not waited for any longer: a [*GapError] is emitted in the place of
// all the numbers that are missing there, and the sequence goes on behind them. An
// item whose place has been passed, because it came before or was reported
// missing, is no item but a [*DuplicateError], in the place of its number, or at
// once if that has been passed. Errors of in have no number; they are passed on as
// they come.
//
// Resequence runs in the goroutine of whoever pulls, with seq. It blocks while
// nothing is to be emitted and in has nothing, and ends when in has ended and all
// that was held is emitted. A nil seq, a window < 1 and more than one first panic.
func Resequence[T any, N Integer](in stage.Stream[T], seq func(T) N, window int, first ...N) stage.Stream[T] {
	const fn = "ordered.Resequence"
	stage.CheckFunc(fn, "seq", seq == nil)
	stage.CheckSize(fn, "window", window, 1)
	if len(first) > 1 {
		panic(fmt.Sprintf("%s: %d firsts, want at most 1", fn, len(first)))
	}
	var next N
	if len(first) == 1 {
		next = first[0]
	}
	return stage.New(func(s *stage.Scope) stage.Reader[T] {
		r := &resequence[T, N]{scope: s, up: stage.Open(s, in), seq: seq, window: window, next: next}
		r.name = s.Label("", "resequence")
		return r
	})
}

// resequence holds items in a heap by their numbers. What has the next number, or
// one that has been passed, does not stay there.
type resequence[T any, N Integer] struct {
	scope  *stage.Scope
	up     stage.Reader[T]
	seq    func(T) N
	name   string
	window int
	next   N
	past   bool // the largest N has been passed: there is no next
	ended  bool // upstream has
	buf    []stage.Try[T]
	at     int // items of buf have been looked at, of have
	have   int
	held   []numbered[T, N]
	age    uint64
}

type numbered[T any, N Integer] struct {
	number N
	age    uint64 // of equal numbers, the one that came first is emitted
	value  T
}

func (r *resequence[T, N]) Next(dst []stage.Try[T]) (k int) {
	defer stage.Tag(r.name)
	for {
		for k < len(dst) && r.ready() {
			dst[k] = r.emit()
			k++
		}
		switch {
		case k == len(dst):
			return k
		case r.at < r.have:
			if a := r.buf[r.at]; a.Error != nil {
				dst[k] = stage.Try[T]{Error: a.Error}
				k++
			} else if !r.scope.Stopped() {
				r.push(numbered[T, N]{r.seq(a.Value), r.age, a.Value})
			}
			r.buf[r.at] = stage.Try[T]{}
			r.at++
		case k > 0 || r.ended || r.scope.Stopped():
			return k
		default:
			r.pull(len(dst))
		}
	}
}

// pull takes items from upstream, no more than can be held.
func (r *resequence[T, N]) pull(room int) {
	room = min(room, maxRoom, r.window-len(r.held))
	if len(r.buf) < room {
		r.buf = make([]stage.Try[T], room)
	}
	r.at, r.have = 0, 0
	r.have = r.up.Next(r.buf[:room])
	r.ended = r.have == 0 && !r.scope.Stopped()
}

// ready reports whether something is to be emitted for the first of what is held.
func (r *resequence[T, N]) ready() bool {
	if len(r.held) == 0 {
		return false
	}
	return r.past || r.held[0].number <= r.next || len(r.held) == r.window || r.ended
}

// emit returns what comes next.
func (r *resequence[T, N]) emit() stage.Try[T] {
	top := r.held[0]
	if !r.past && top.number > r.next {
		gap := &GapError[N]{First: r.next, Last: top.number - 1}
		r.next = top.number
		return stage.Try[T]{Error: gap}
	}
	r.pop()
	if r.past || top.number < r.next {
		return stage.Try[T]{Error: &DuplicateError[N]{top.number}}
	}
	r.next++
	r.past = r.next < top.number
	return stage.Try[T]{Value: top.value}
}

func (r *resequence[T, N]) push(item numbered[T, N]) {
	r.age++
	r.held = append(r.held, item)
	for i := len(r.held) - 1; i > 0; {
		parent := (i - 1) / 2
		if !r.less(i, parent) {
			return
		}
		r.held[i], r.held[parent] = r.held[parent], r.held[i]
		i = parent
	}
}

// pop takes the first item off the heap.
func (r *resequence[T, N]) pop() {
	last := len(r.held) - 1
	r.held[0] = r.held[last]
	r.held[last] = numbered[T, N]{}
	r.held = r.held[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return
		}
		if child+1 < last && r.less(child+1, child) {
			child++
		}
		if !r.less(child, i) {
			return
		}
		r.held[i], r.held[child] = r.held[child], r.held[i]
		i = child
	}
}

func (r *resequence[T, N]) less(i, j int) bool {
	a, b := &r.held[i], &r.held[j]
	return a.number < b.number || a.number == b.number && a.age < b.age
}

func (r *resequence[T, N]) Close() {
	r.up.Close()
	r.held, r.buf, r.at, r.have, r.ended = nil, nil, 0, 0, true
}
