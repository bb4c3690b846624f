package sink

import "errors"

// Drop gives up the records before index before: readers begin behind them, and
// the blocks that hold no others are given back to the disk. Indices and the
// length of the file stay as they are. It makes durable first what it keeps, so
// it blocks as Sync does. An index beyond Len drops all there is.
//
// Where the system or the file system cannot give back a part of a file, the
// records are dropped and the space stays in use. A loop over records that is
// still among those dropped ends with ErrDropped.
func (l *Log[T]) Drop(before uint64) error { return l.core.drop(before) }

func (l *core) drop(before uint64) error {
	before = min(before, l.visible())
	if err := l.syncTo(before); err != nil {
		return err
	}
	l.syncing <- struct{}{}
	defer func() { <-l.syncing }()
	switch {
	case l.failure() != nil:
		return l.failure()
	case l.closing.Load():
		return ErrClosed
	case before <= l.first.Load():
		return nil
	}
	if err := l.intact(); err != nil {
		return err
	}
	// A block must be known as dropped, for good, before it is emptied: else it
	// would be missed after a power cut. Both checkpoints know it: one may be damaged.
	for range 2 {
		if err := l.mark(l.durable.Load(), before); err != nil {
			return err
		}
		if err := l.f.Sync(); err != nil {
			l.fail(pathError("sync", l.path, err))
			return l.failure()
		}
	}
	l.first.Store(before)
	b, _ := l.geo.at(before)
	from := int64(l.geo.header)
	if n := l.geo.blockOffset(b) - from; n > 0 {
		if err := l.f.Punch(from, n); err != nil && !errors.Is(err, ErrNotSupported) {
			return pathError("drop", l.path, err)
		}
	}
	return nil
}
