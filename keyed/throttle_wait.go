package keyed

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/seed95b73fdc/sluice/stage"
)

// delay is an item with its time.
type delay[A any] struct {
	item   stage.Try[A]
	at     time.Duration
	number uint64
	token  rate.Reservation
}

// give moves what is due. Under mu.
func (t *delays[A, K]) give(dst []stage.Try[A]) (k int, next time.Duration) {
	if len(t.waiting) > 0 {
		t.ripen(now())
	}
	if k = t.due.pop(dst); k == 0 && len(t.waiting) > 0 {
		next = t.waiting[0].at
	}
	return k, next
}

// ripen moves those whose time has come to the due ones. Under mu.
func (t *delays[A, K]) ripen(at time.Duration) {
	for len(t.waiting) > 0 && t.waiting[0].at <= at {
		t.due.push(t.first().item)
	}
}

// wait puts a delay into the heap. Under mu.
func (t *delays[A, K]) wait(d delay[A]) {
	t.waiting = append(t.waiting, d)
	h := t.waiting
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(&h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

// first takes the earliest one off the heap. Under mu.
func (t *delays[A, K]) first() delay[A] {
	h := t.waiting
	d, end := h[0], len(h)-1
	h[0] = h[end]
	h[end] = delay[A]{}
	h = h[:end]
	t.waiting = h
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < end; c++ {
			if h[c].before(&h[least]) {
				least = c
			}
		}
		if least == i {
			return d
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

func (d *delay[A]) before(e *delay[A]) bool {
	return d.at < e.at || d.at == e.at && d.number < e.number
}

// fifo is a queue of items that grows as need be.
type fifo[A any] struct {
	items []stage.Try[A]
	taken int
}

func (q *fifo[A]) push(item stage.Try[A]) {
	if len(q.items) == cap(q.items) && 2*q.taken >= len(q.items) {
		k := copy(q.items, q.items[q.taken:])
		clear(q.items[k:])
		q.items, q.taken = q.items[:k], 0
	}
	q.items = append(q.items, item)
}

func (q *fifo[A]) pop(dst []stage.Try[A]) int {
	k := copy(dst, q.items[q.taken:])
	clear(q.items[q.taken : q.taken+k])
	if q.taken += k; q.taken == len(q.items) {
		q.items, q.taken = q.items[:0], 0
	}
	return k
}
