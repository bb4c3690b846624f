package ordered

import "github.com/seed95b73fdc/sluice/stage"

// Merge merges streams that are sorted by cmp into one that is: it emits, again
// and again, the smallest of the first items of its inputs. cmp returns a negative
// number if a comes before b, a positive one if b does, and 0 if they are equal.
// Of equal values that of the earlier input comes first, and those of one input
// keep their order: the merge is stable. Merge of nothing is empty.
//
// An error is passed on as soon as it is the first item of its input, so it stays
// in its place there, and is the same one in every run. If an input is not sorted
// by cmp, the output is not either, but nothing is lost.
//
// Merge runs in the goroutine of whoever pulls, with cmp, and holds at most one
// chunk of each input: as many items as its reader asks for at a time, one while
// that is slow. It cannot tell which item is the smallest before it has one of
// each input that has not ended; so it blocks while any of them has none, the
// first time in the order of the inputs. It ends when all have ended; each is
// closed when it has ended itself. A nil cmp panics.
func Merge[T any](cmp func(a, b T) int, ins ...stage.Stream[T]) stage.Stream[T] {
	stage.CheckFunc("ordered.Merge", "cmp", cmp == nil)
	ins = append([]stage.Stream[T](nil), ins...)
	return stage.New(func(s *stage.Scope) stage.Reader[T] {
		m := &merge[T]{scope: s, cmp: cmp, ins: make([]mergeIn[T], len(ins))}
		for i, in := range ins {
			m.ins[i].up = stage.Open(s, in)
		}
		m.name = s.Label("", "merge")
		return m
	})
}

// merge keeps a heap of inputs, the one with the smallest first item on top. An
// input that has ended is in it no more. The input on top stays there after its
// first item has been emitted, until its next item has been looked at, which may
// take upstream: then it finds its new place.
//
// Invariant: but for the top while stale is set, the heap is one by less, and each
// input in it has an item.
type merge[T any] struct {
	scope *stage.Scope
	cmp   func(a, b T) int
	name  string
	ins   []mergeIn[T]
	ready int // inputs that have been looked at for the first time
	heap  []int
	stale bool // the first item of the top has been emitted
	room  int
}

type mergeIn[T any] struct {
	up    stage.Reader[T]
	chunk []stage.Try[T]
	at    int
	have  int
}

func (in *mergeIn[T]) first() *stage.Try[T] { return &in.chunk[in.at] }

func (in *mergeIn[T]) take() stage.Try[T] {
	item := *in.first()
	*in.first() = stage.Try[T]{}
	in.at++
	return item
}

// fill sees to it that the input has an item; false means that it has ended.
func (in *mergeIn[T]) fill(room int) bool {
	if in.at < in.have {
		return true
	}
	if len(in.chunk) < room {
		in.chunk = make([]stage.Try[T], room)
	}
	in.at, in.have = 0, 0 // also if Next panics
	in.have = in.up.Next(in.chunk[:room])
	return in.have > 0
}

func (m *merge[T]) Next(dst []stage.Try[T]) (k int) {
	defer stage.Tag(m.name)
	m.room = min(len(dst), maxRoom)
	for k < len(dst) {
		if m.scope.Stopped() {
			return k + m.errors(dst[k:])
		}
		if !m.settle(k > 0) || len(m.heap) == 0 {
			break
		}
		dst[k] = m.ins[m.heap[0]].take()
		k++
		m.stale = true
	}
	return k
}

// errors is what is left to say when the run has been cancelled: cmp is called no
// more, but an error that has come goes on.
func (m *merge[T]) errors(dst []stage.Try[T]) (k int) {
	for i := range m.ins {
		for in := &m.ins[i]; k < len(dst) && in.at < in.have && in.first().Error != nil; k++ {
			dst[k] = in.take()
		}
	}
	return k
}

// settle makes the heap one, so that its top is what comes next. If hurry is set,
// it does not take from upstream, which may block, but reports false.
func (m *merge[T]) settle(hurry bool) bool {
	for m.ready < len(m.ins) {
		if m.ins[m.ready].fill(m.room) {
			m.heap = append(m.heap, m.ready)
		} else {
			m.ins[m.ready].up.Close()
		}
		if m.ready++; m.ready == len(m.ins) {
			for i := len(m.heap)/2 - 1; i >= 0; i-- {
				m.down(i)
			}
		}
	}
	if !m.stale {
		return true
	}
	top := &m.ins[m.heap[0]]
	if hurry && top.at == top.have {
		return false
	}
	if !top.fill(m.room) {
		top.up.Close()
		last := len(m.heap) - 1
		m.heap[0] = m.heap[last]
		m.heap = m.heap[:last]
	}
	m.stale = false
	m.down(0)
	return true
}

// down moves the input at i of the heap to its place below.
func (m *merge[T]) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(m.heap) {
			return
		}
		if right := child + 1; right < len(m.heap) && m.less(m.heap[right], m.heap[child]) {
			child = right
		}
		if !m.less(m.heap[child], m.heap[i]) {
			return
		}
		m.heap[i], m.heap[child] = m.heap[child], m.heap[i]
		i = child
	}
}

// less reports whether the first item of input i comes before that of j. Errors
// come before values, and who comes earlier decides where nothing else does.
func (m *merge[T]) less(i, j int) bool {
	a, b := m.ins[i].first(), m.ins[j].first()
	if a.Error != nil || b.Error != nil {
		if (a.Error != nil) != (b.Error != nil) {
			return a.Error != nil
		}
		return i < j
	}
	if c := m.cmp(a.Value, b.Value); c != 0 {
		return c < 0
	}
	return i < j
}

func (m *merge[T]) Close() {
	for i := range m.ins {
		m.ins[i].up.Close()
		m.ins[i].chunk, m.ins[i].at, m.ins[i].have = nil, 0, 0
	}
	m.heap, m.ready, m.stale = nil, len(m.ins), false
}
