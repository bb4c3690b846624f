package sink

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

// append writes n records, which lie in b, and returns the index of the first.
func (l *core) append(b []byte, n uint64) (first uint64, err error) {
	if len(b) <= shortAppend && l.crowd.busy.Load() {
		l.crowd.enter()
		first, err = l.write(b, n)
		l.crowd.leave()
	} else {
		first, err = l.write(b, n)
	}
	if err != nil {
		return 0, err
	}
	if l.limit.Load() < first+n {
		return 0, l.stopped()
	}
	if l.conf.durability == EverySync {
		if err := l.syncTo(first + n); err != nil {
			return 0, err
		}
	}
	return first, nil
}

// write puts the records into the log, and returns when they are published.
func (l *core) write(b []byte, n uint64) (uint64, error) {
	first, err := l.reserve(n)
	if err != nil {
		return 0, err
	}
	t := turn{first: first, end: first + n, records: b, mine: first + n}
	for !l.place(&t) {
		// A fault has ended the log. What was reserved is completed nevertheless.
	}
	if !t.had {
		l.await(t.mine)
	}
	return first, nil
}

// reserve takes the next n records. It asks for room before, and not, as an
// atomic add would, after: so a full disk leaves no gap that somebody has but
// cannot fill.
func (l *core) reserve(n uint64) (first uint64, err error) {
	for {
		first := l.reserved.Load()
		if first&stopBit != 0 {
			return 0, l.stopped()
		}
		if first+n > l.capacity.Load() {
			if err := l.grow(first + n); err != nil {
				return 0, err
			}
			continue
		}
		if l.reserved.CompareAndSwap(first, first+n) {
			if first+n > l.scant.Load() {
				l.help()
			}
			return first, nil
		}
	}
}

// turn is a call's way through the log.
type turn struct {
	first, end uint64 // what is being completed: its own range, then others'
	mine       uint64 // the end of its own range
	records    []byte // what is to be copied
	copied     bool
	has        bool // it is its turn
	had        bool // it was
}

// place copies the records and completes the range. It returns false if the
// memory of the file was not there, because somebody has cut the file: the log is
// frozen then, and place is to be called again to complete without touching it.
func (l *core) place(t *turn) (done bool) {
	defer l.catch(t, debug.SetPanicOnFault(true))
	if !t.copied {
		l.copyTo(t.first, t.records)
		t.copied = true
	}
	if t.has || l.take(t) {
		l.publish(t)
	}
	return true
}

// catch makes an error of a fault. A fault is what the runtime says of an address,
// and of nothing else.
func (l *core) catch(t *turn, old bool) {
	debug.SetPanicOnFault(old)
	switch r := recover().(type) {
	case nil:
	case interface {
		runtime.Error
		Addr() uintptr
	}:
		t.copied = true
		l.freeze(t.first, l.fault())
	default:
		panic(r)
	}
}

// fault is what an access to the map that has failed means: the file is shorter than
// what was allocated of it, or the system has no page, since the disk or the file system
// is broken, or, where it writes each change to another place, full.
func (l *core) fault() error {
	end := l.geo.blockOffset(l.capacity.Load() / l.geo.per) // before the size, as both grow
	if size, err := l.f.Size(); err == nil && size >= end {
		return fmt.Errorf("sink: %s: the system had no page of it to write to", l.path)
	}
	return fmt.Errorf("%w: %s", ErrShrunk, l.path)
}

// copyTo writes records from first on, block by block.
func (l *core) copyTo(first uint64, records []byte) {
	segs := l.segs.Load()
	for b, k := l.geo.at(first); len(records) > 0; b, k = b+1, 0 {
		mem := segs.block(l.geo.blockOffset(b), l.segBytes, l.geo.block)
		records = records[copy(mem[wordsLen+int(k)*l.geo.rec:wordsLen+int(l.geo.per)*l.geo.rec], records):]
	}
}

// take reports whether it is t's turn. If it is not, t's range is left in the
// marks, where the one whose turn it is finds it: at the place of its first
// record, its end. Whoever stores published looks at the mark afterwards, and
// whoever stores a mark at published: so one of them sees the other, or both, and
// then who takes the mark has the turn.
func (l *core) take(t *turn) bool {
	if l.published.Load() != t.first {
		l.crowd.seen()
		// A mark of a range that lies a ring further on must not be taken for one here.
		l.await(t.first - min(t.first, markCount-1))
		mark := &l.marks[t.first%markCount]
		mark.Store(t.end)
		if l.published.Load() != t.first || !mark.CompareAndSwap(t.end, 0) {
			return false
		}
	}
	t.has, t.had = true, true
	return true
}

// publish makes t's range visible, and those after it that are complete.
func (l *core) publish(t *turn) {
	for more := true; more; more = l.lookOn(t) {
		if l.limit.Load() > t.first {
			l.fold(t.first, t.end)
		}
		l.published.Store(t.end)
		l.complete.reached(t.end)
	}
}

// lookOn moves t to the range behind the one that it has published, if that is
// complete and has been left to it.
func (l *core) lookOn(t *turn) bool {
	mark := &l.marks[t.end%markCount]
	end := mark.Load()
	// If published has moved on, another one has had the turn meanwhile, and the mark
	// may be that of a range one ring further on.
	if end == 0 || l.published.Load() != t.end || !mark.CompareAndSwap(end, 0) {
		return false
	}
	t.first, t.end = t.end, end
	return true
}

// tip is the block that the next record is folded into. Whoever has the turn has it.
type tip struct {
	mem   []byte // nil before the first record, and behind the last of a block
	block uint64
	count uint64 // its records that are folded
	sum   uint32 // of these
}

// fold adds the records of a range to the checksums of their blocks. A word is
// stored after all that it vouches for: so a process that is killed leaves no
// block that says more than is there.
func (l *core) fold(first, end uint64) {
	t := &l.tip
	for first < end {
		if t.mem == nil {
			t.block, t.count = l.geo.at(first)
			t.mem = l.segs.Load().block(l.geo.blockOffset(t.block), l.segBytes, l.geo.block)
			if t.count == 0 {
				t.sum = seed(l.id, t.block)
			}
		}
		n := min(l.geo.per-t.count, end-first)
		from, to := wordsLen+int(t.count)*l.geo.rec, wordsLen+int(t.count+n)*l.geo.rec
		t.sum = fold(t.sum, t.mem[from:to])
		t.count += n
		storeFine(l.head, t.count, t.sum)
		if l.mapped {
			storeWord(t.mem, liveWord, makeWord(t.count, t.sum))
		} else if err := l.writeFolded(t, from, to); err != nil {
			l.freeze(first, pathError("write", l.path, err))
			return
		}
		first += n
		if t.count == l.geo.per {
			t.mem = nil
		}
	}
}

// writeFolded puts bytes from to to of the tip, and then its word, into a file that
// is not mapped.
func (l *core) writeFolded(t *tip, from, to int) error {
	off := l.geo.blockOffset(t.block)
	if _, err := l.f.WriteAt(t.mem[from:to], off+int64(from)); err != nil {
		return err
	}
	storeWord(t.mem, liveWord, makeWord(t.count, t.sum))
	_, err := l.f.WriteAt(t.mem[:wordBytes], off)
	return err
}

// await blocks until the records before n have been completed. Those who are
// waited for only copy memory, so it is worth to let them run before parking.
func (l *core) await(n uint64) {
	const yields = 16
	for range yields {
		if l.published.Load() >= n {
			return
		}
		runtime.Gosched()
	}
	l.complete.wait(context.Background(), n, func() bool { return l.published.Load() >= n })
}
