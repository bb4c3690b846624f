//go:build sluicedebug

package lockfree

import "sync/atomic"

// guard panics when a call begins while another one of the same side runs.
type guard struct{ inside atomic.Bool }

func (g *guard) enter(what string) {
	if !g.inside.CompareAndSwap(false, true) {
		panic(what)
	}
}

func (g *guard) leave() { g.inside.Store(false) }

const guarded = "sluicedebug"
