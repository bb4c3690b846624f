package ordered

import (
	"sync"

	"github.com/seed95b73fdc/sluice/stage"
)

// desk is what the ways see of the line: the lock and the reader.
type desk struct {
	mu     sync.Mutex // never held while anybody waits
	cons   *stage.Waiter
	hungry bool // the reader waits
	room   int  // what it asks for
}

// feed wakes the reader, if it waits. Under mu.
func (d *desk) feed() {
	if d.hungry {
		d.hungry = false
		d.cons.Wake()
	}
}

// maxRoom is the most items of a stream that are moved at once.
const maxRoom = 64

// way is a strategy at work: how results come to the reader in the order in which
// their items have entered.
type way[B any] interface {
	// enter gives an item its place: the one after the place given out before.
	// Under mu.
	enter(t *ticket[B])
	// put brings results of the item in the place to the reader; last says that
	// there will be no more. It blocks until they may be put there, at least until
	// the places before have room for them; false means that the stage is closed.
	put(t *ticket[B], w *stage.Waiter, items []stage.Try[B], last bool) bool
	// take moves results to dst, as many as there are, and returns how many, and
	// how many places it has passed. Never blocks. Under mu.
	take(dst []stage.Try[B]) (k, passed int)
	// close forgets what has not been taken. Nobody is in put any more.
	close()
}

// ticket is an item's place in the order, in the words of each strategy.
type ticket[B any] struct {
	mine, next *permission // PermissionPassing
	reply      *reply[B]   // ReplyTo
	number     uint64      // Cond
}
