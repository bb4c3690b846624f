//go:build race && !sluicedebug

package lockfree

// guard is for the race detector: a variable that each call writes before it touches
// anything atomic. The atomics of the ring would order two misusers that come one
// after the other, and so hide them; this does not.
type guard struct{ calls int }

func (g *guard) enter(string) { g.calls++ }
func (*guard) leave()         {}

const guarded = "race"
