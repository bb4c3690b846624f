package sink

import "runtime/debug"

// syncState is what Sync remembers; it is held with syncing.
type syncState struct {
	point   checkpoint
	anchor  int    // which of the anchors is to be written next
	block   uint64 // the fine sums of this block have been written
	fine    uint64 // up to this record of it
	fineSum uint32
}

// syncTo returns when the first n records are durable. Who waits while another
// one syncs usually finds its own records among those.
func (l *core) syncTo(n uint64) error {
	if l.conf.readOnly {
		return ErrReadOnly
	}
	l.syncing <- struct{}{}
	defer func() { <-l.syncing }()
	switch {
	case l.failure() != nil:
		return l.failure()
	case l.durable.Load() >= n:
		return nil // also after Close, unless that has failed
	}
	return l.syncNow()
}

// syncNow makes durable what is published, and with it, before it, what proves
// it: an anchor, for the records of a block that will go on to be written. A disk
// that has failed to sync may have dropped what it was to write, and would report
// success the next time: so one failure is the end of the log.
func (l *core) syncNow() error {
	n, anchored, err := l.prove()
	if err == nil {
		err = l.f.Sync()
	}
	if err != nil {
		l.fail(pathError("sync", l.path, err))
		return l.failure()
	}
	if anchored {
		l.sync.anchor = (l.sync.anchor + 1) % anchorCount
	}
	l.durable.Store(n)
	if n == l.sync.point.synced {
		return nil
	}
	return l.mark(n, l.first.Load())
}

// mark writes a checkpoint. It says nothing that is not durable, so it need not
// be durable itself: one that is lost with the power is the last Sync's.
func (l *core) mark(synced, first uint64) error {
	next := checkpoint{serial: l.sync.point.serial + 1, synced: synced, first: first}
	if _, err := l.f.WriteAt(next.encode(l.id), next.slot()); err != nil {
		l.fail(pathError("write", l.path, err))
		return l.failure()
	}
	l.sync.point = next
	return nil
}

// prove writes what says that the published records of the last block are good,
// and returns how many records will be durable with that.
func (l *core) prove() (n uint64, anchored bool, err error) {
	l.growing <- struct{}{}
	defer func() { <-l.growing }()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			err = l.fault()
		}
	}()
	if err := l.uncut(); err != nil {
		return 0, false, err
	}
	n = l.visible()
	b, k := l.geo.at(n)
	off := l.geo.blockOffset(b)
	segs := l.segs.Load()
	if k == 0 || n <= l.durable.Load() || len(segs.list) == 0 {
		return n, false, nil
	}
	mem := segs.block(off, l.segBytes, l.geo.block)
	w := loadWord(mem, liveWord) // of k records, or of more that have been added since
	l.refine(b, mem, w.count())
	i := anchorWords + l.sync.anchor
	storeWord(mem, i, w)
	if !l.mapped {
		_, err = l.f.WriteAt(mem[i*wordBytes:(i+1)*wordBytes], off+int64(i*wordBytes))
		if err == nil {
			_, err = l.f.WriteAt(l.fineSums(), fineOffset)
		}
	}
	return b*l.geo.per + w.count(), true, err
}

// fineSums is a copy of the fine sums, as writers go on to store some while they are
// written.
func (l *core) fineSums() []byte {
	head := aligned(len(l.head))
	for k := range l.geo.per + 1 {
		storeFine(head, k, loadFine(l.head, k))
	}
	return head[fineOffset:]
}

// refine completes the fine sums of a block: those between the ends of what calls
// of Append have written.
func (l *core) refine(b uint64, mem []byte, count uint64) {
	s := &l.sync
	if s.block != b || s.fine == 0 {
		s.block, s.fine, s.fineSum = b, 0, seed(l.id, b)
	}
	for ; s.fine < count; s.fine++ {
		from := wordsLen + int(s.fine)*l.geo.rec
		s.fineSum = fold(s.fineSum, mem[from:from+l.geo.rec])
		storeFine(l.head, s.fine+1, s.fineSum)
	}
}
