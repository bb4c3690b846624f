package stage

import "github.com/seed95b73fdc/sluice/lockfree"

// pad keeps what two goroutines write apart.
type pad [lockfree.CacheLine]byte

// forget clears items that have been handed on, so that they keep nothing
// alive. Values without references need none of that; an error among them stays
// until its slot is used again.
func forget[T any](items []Try[T], refs bool) {
	if refs {
		clear(items)
	}
}
