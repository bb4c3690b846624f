package ordered

import (
	"sync/atomic"

	"github.com/seed95b73fdc/sluice/stage"
)

// passing is PermissionPassing. Each item gets two permissions when it is taken:
// its own, for which it waits before it writes, and that of the item behind it,
// which it gives when it has written. The own one of an item is the next one of
// the item before it, so they make a chain through which one permission runs:
//
//	item     1          2          3
//	mine     a ──╮      b ──╮      c ──╮
//	next     b   ╰─write╯   ╰─write╯   ╰─ …
//
// In the textbook a permission is a channel, made for each item. Here it is a
// Waiter with a flag, so that a worker that waits for it is seen by cancellation
// and the search for stalls, and it goes back to a pool when its item has written.
//
// Invariants:
//
//   - Exactly one permission is given and not used up, or its holder is about to
//     give the next one. So there is one writer, in the order of the items.
//   - Nobody but the item that it belongs to looks at a permission that has been
//     given, except for the Wake of who gave it. That may come late, when the
//     permission already belongs to another item: then this one is woken in vain,
//     sees that nothing was given, and waits on.
//
// permission.pml is a model of it.
type passing[B any] struct {
	outlet[B]
	sub  *stage.Scope
	name string

	// Under mu.
	last *permission   // of the item that will be taken next
	pool []*permission // of nobody
	all  []*permission
}

type permission struct {
	wait  *stage.Waiter
	given atomic.Bool
}

func newPassing[B any](d *desk, sub *stage.Scope, name string, chunks bool) *passing[B] {
	p := &passing[B]{outlet: outlet[B]{desk: d, chunks: chunks}, sub: sub, name: name}
	p.last = p.get()
	p.last.given.Store(true) // the first item waits for nobody
	return p
}

// get returns a permission that has not been given.
func (p *passing[B]) get() *permission {
	if k := len(p.pool) - 1; k >= 0 {
		m := p.pool[k]
		p.pool = p.pool[:k]
		m.given.Store(false)
		return m
	}
	m := &permission{wait: p.sub.NewWaiter(p.name, func() string { return "" })}
	p.all = append(p.all, m)
	return m
}

func (p *passing[B]) enter(t *ticket[B]) {
	t.mine = p.last
	p.last = p.get()
	t.next = p.last
}

func (p *passing[B]) put(t *ticket[B], w *stage.Waiter, items []stage.Try[B], last bool) bool {
	if !t.mine.await() {
		return false
	}
	p.mu.Lock()
	ok := p.outlet.put(w, items, last)
	if ok && last {
		p.pool = append(p.pool, t.mine)
	}
	p.mu.Unlock()
	if ok && last {
		t.next.give()
	}
	return ok
}

// await blocks until the permission is given; false means that it will not be.
func (m *permission) await() bool {
	for !m.given.Load() {
		m.wait.Arm()
		if m.given.Load() {
			m.wait.Disarm()
			break
		}
		if !m.wait.Park() {
			return m.given.Load()
		}
	}
	return true
}

func (m *permission) give() {
	m.given.Store(true)
	m.wait.Wake()
}

func (p *passing[B]) close() {
	for _, m := range p.all {
		m.wait.Free()
	}
	p.all, p.pool = nil, nil
	p.forget()
}
