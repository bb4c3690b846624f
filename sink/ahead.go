package sink

import "math"

// To make room costs the kernel several times what it takes to fill it. So a log
// that has grown beyond its first steps has that done in a goroutine of its own,
// one step ahead of the writers, while they fill the last one. The goroutine lives
// as long as it takes to make that room, and Close waits for it. Who needs room that
// is not there makes it, as in a small log, and is the one who hears of a failure.

// ahead is how many records there is to be room for behind those that are reserved.
func (l *core) ahead() uint64 {
	return max(mostGrowth/uint64(l.geo.block), 1) * l.geo.per
}

// watch says when the goroutine is needed. It is called with growing held.
func (l *core) watch() {
	if l.allocated-int64(l.geo.header) > leastGrowth && l.mapped {
		room := l.capacity.Load()
		l.scant.Store(room - min(room, l.ahead()))
	}
}

// help starts the goroutine, if nobody else does. The caller has reserved records
// and has not completed them, so Close does not wait for the goroutine yet.
func (l *core) help() {
	if at := l.scant.Load(); at != math.MaxUint64 && l.scant.CompareAndSwap(at, math.MaxUint64) {
		l.helping.Go(func() {
			for l.growAhead() {
			}
		})
	}
}

// growAhead makes the file one step larger, and reports whether there may be more to
// do. It gives growing back after each step, since a Sync may wait for it. A failure is
// for the writer that needs the room, which meets it again; an address that could not
// be given back harms nobody.
func (l *core) growAhead() bool {
	l.growing <- struct{}{}
	defer func() { <-l.growing }()
	reserved := l.reserved.Load()
	if reserved&stopBit != 0 || l.capacity.Load() >= reserved+l.ahead() || l.extend() != nil {
		return false
	}
	return l.retire() == nil
}
