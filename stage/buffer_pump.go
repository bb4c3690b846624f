package stage

import "github.com/seed95b73fdc/sluice/backpressure"

func (b *buffer[T]) begin() {
	b.begun = true
	b.prod = b.sub.NewWaiter(b.name, func() string { return "buffer is full, its reader waits elsewhere" })
	b.sub.Go(b.name, func() {
		defer close(b.over)
		defer b.prod.Free()
		b.pump()
		// Not deferred: a panic is not the end of the items, and cancels the run.
		b.ended.Store(true)
		b.cons.Wake()
	})
}

// pump brings items from upstream to the store until there are no more.
func (b *buffer[T]) pump() {
	buf := make([]Try[T], min(b.size, maxGrain))
	for {
		free := b.store.free()
		if free == 0 && b.overflow == backpressure.Block {
			if !b.waitRoom() {
				return
			}
			continue
		}
		// What there is room for at once, or the one that overflows.
		if b.counted {
			b.waits.begin(false)
		}
		k := b.up.Next(buf[:max(1, min(free, len(buf)))])
		if b.counted {
			b.waits.end()
		}
		if k == 0 {
			return
		}
		b.in.Add(uint64(k))
		if free == 0 {
			if !b.squeeze(buf[:1]) {
				return
			}
		} else {
			b.store.put(buf[:k])
		}
		clear(buf[:k])
		b.cons.Wake()
	}
}

// waitRoom blocks until there is room; false means that the run has ended.
func (b *buffer[T]) waitRoom() bool {
	if b.counted {
		b.waits.begin(true)
		defer b.waits.end()
	}
	for round := 0; b.store.free() == 0; {
		if yield(&round) {
			continue
		}
		b.prod.Arm()
		if b.store.free() > 0 {
			b.prod.Disarm()
			break
		}
		if !b.prod.Park() {
			return false
		}
	}
	return true
}

// squeeze brings in the one item that has come when the store was full; false
// means that it is the last one.
func (b *buffer[T]) squeeze(one []Try[T]) bool {
	item := &one[0]
	var none T
	for b.store.free() == 0 {
		if item.Error != nil {
			if !b.waitRoom() {
				return false
			}
			continue
		}
		switch b.overflow {
		case backpressure.DropNewest:
			b.drop(item.Value, none)
			return true
		case backpressure.Fail:
			b.drop(item.Value, none)
			b.failed = &stageError{b.name, backpressure.ErrOverflow}
			b.sub.Cancel(b.failed)
			return false
		}
		gone, into, done := b.store.(*shelf[T]).replace(item.Value, b.overflow == backpressure.Latest)
		if done {
			b.drop(gone, into)
			return true
		}
		// It is not full any more, or full of errors.
		if b.store.free() == 0 && !b.waitRoom() {
			return false
		}
	}
	b.store.put(one)
	return true
}

// drop counts v, which has been dropped, or merged into another value.
func (b *buffer[T]) drop(v, into T) {
	b.dropped.Add(1)
	if b.onDrop != nil && !b.sub.Stopped() {
		b.onDrop(v)
	}
	lost(v, into)
}
