package sink

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"runtime"
	"time"
)

// Readers read the file, with pread, and not through the map of the writers: a
// file that somebody cuts is a short read then and not a fault, nothing has to be
// kept mapped for them, and what is handed out is a copy that was checked.

// windowBytes is how much is read at once.
const windowBytes = 256 << 10

// reader goes through the records of a log, block by block.
type reader struct {
	l      *core
	next   uint64 // the record to be read next
	window []byte
	base   uint64 // first block in it
	blocks uint64 // how many of its blocks are complete, and so need not be read again
	ahead  int    // how many blocks to read: more while they are complete
}

func (l *core) reader(from uint64) *reader {
	return &reader{l: l, next: max(from, l.first.Load())}
}

// more returns the next records, all of one block, as they lie in the reader's
// memory until the next call; none if there are no more at present.
func (r *reader) more() (first uint64, records []byte, err error) {
	l := r.l
	if r.next < l.first.Load() {
		return 0, nil, ErrDropped
	}
	if !l.conf.readOnly && r.next >= l.visible() {
		return r.next, nil, nil
	}
	b, k := l.geo.at(r.next)
	n, block, err := r.block(b)
	if err != nil {
		return 0, nil, err
	}
	if !l.conf.readOnly {
		n = min(n, l.visible()-b*l.geo.per)
		if n <= k {
			return 0, nil, &CorruptError{Path: l.path, Record: r.next, Offset: l.geo.offset(r.next)}
		}
	}
	if n <= k { // none yet, or dropped by the process that writes
		if l.refresh(); r.next < l.first.Load() {
			return 0, nil, ErrDropped
		}
		return r.next, nil, nil
	}
	first = r.next
	r.next = b*l.geo.per + n
	if l.conf.readOnly {
		l.saw(r.next)
	}
	return first, block[wordsLen+int(k)*l.geo.rec : wordsLen+int(n)*l.geo.rec], nil
}

// saw remembers, in a log that is open for reading, how far it goes.
func (l *core) saw(n uint64) {
	for {
		old := l.published.Load()
		if old >= n || l.published.CompareAndSwap(old, n) {
			return
		}
	}
}

// block returns a block and how many of its records are good, from the window
// while it is complete there.
func (r *reader) block(b uint64) (n uint64, block []byte, err error) {
	size := r.l.geo.block
	if b-r.base < r.blocks {
		return r.l.geo.per, r.window[(b-r.base)*uint64(size):][:size], nil
	}
	// A block that is being written changes while it is read: its word may be older
	// or newer than its records. A few more looks settle that.
	const looks = 8
	known := uint64(0) // to be durable, before the block was read
	for range looks {
		known = r.l.durable.Load()
		if n, err = r.load(b); err != nil || r.settled(b, n) {
			break
		}
		runtime.Gosched()
	}
	if err != nil {
		return 0, nil, err
	}
	if start := b * r.l.geo.per; n < r.l.geo.per && start+n < known {
		// A block of which a part has been dropped is still there.
		if r.l.refresh(); r.next < r.l.first.Load() {
			return 0, nil, ErrDropped
		}
		return 0, nil, &CorruptError{Path: r.l.path, Record: start + n, Offset: r.l.geo.offset(start + n)}
	}
	return n, r.window[:size], nil
}

// refresh learns what the process that writes the log has dropped since it was
// opened for reading.
func (l *core) refresh() {
	if !l.conf.readOnly {
		return
	}
	head := make([]byte, fineOffset)
	if _, err := l.f.ReadAt(head, 0); err == nil {
		l.first.Store(max(l.first.Load(), decodeCheckpoint(head, l.id).first))
	}
}

// load reads the window from block b on, and returns how many records of b are good.
func (r *reader) load(b uint64) (n uint64, err error) {
	size := r.l.geo.block
	r.ahead = max(r.ahead, 1)
	if len(r.window) < r.ahead*size {
		r.window = aligned(r.ahead * size)
	}
	got, err := r.l.f.ReadAt(r.window[:r.ahead*size], r.l.geo.blockOffset(b))
	switch {
	case errors.Is(err, fs.ErrClosed):
		return 0, ErrClosed
	case err != nil && !errors.Is(err, io.EOF):
		return 0, pathError("read", r.l.path, err)
	}
	r.base, r.blocks = b, 0
	n, _, _ = r.l.valid(b, r.window[:min(got, size)], r.head)
	for i := 0; i+size <= got; i += size {
		at := b + uint64(i/size)
		w := loadWord(r.window[i:], liveWord)
		if w.count() != r.l.geo.per || r.l.sumOf(at, r.window[i:i+size], w.count()) != w.sum() {
			break
		}
		r.blocks++
	}
	if r.ahead = 1; r.blocks > 0 {
		r.ahead = max(1, min(2*int(r.blocks), windowBytes/size))
	}
	return n, nil
}

// head returns the header. The map of it is the writers': Close takes it away, and there are
// no pages if somebody has cut the file. Without a header there are no fine sums.
func (r *reader) head() []byte {
	if !r.l.mapped {
		return r.l.head
	}
	head := aligned(len(r.l.head))
	if _, err := r.l.f.ReadAt(head, 0); err != nil {
		clear(head)
	}
	return head
}

// settled reports whether a block that holds n good records needs no second look.
func (r *reader) settled(b, n uint64) bool {
	claimed := min(loadWord(r.window, liveWord).count(), r.l.geo.per)
	return n >= claimed && (r.l.conf.readOnly || b*r.l.geo.per+n >= min(r.l.visible(), (b+1)*r.l.geo.per))
}

// end keeps err as the reason why a loop over records has ended.
func (l *core) end(err error) {
	if err != nil {
		l.readErr.CompareAndSwap(nil, &err)
	}
}

// Err is what ended a loop over records before their end, the first such error:
// ErrCorrupt, ErrShrunk, ErrDropped, ErrClosed, an error of reading. Look at it
// after a loop; nil means that the loop has seen all.
func (l *Log[T]) Err() error {
	if err := l.core.readErr.Load(); err != nil {
		return *err
	}
	return nil
}

// Records ranges over the records and their indices, from the first that has not
// been dropped to the last one that is there when the loop comes to it. It reads
// the file, checks each block, and does not block writers nor wait for them.
// Append, Drop and Close may be called in the loop, or meanwhile; Close ends it.
// An early end is told by Err.
func (l *Log[T]) Records() iter.Seq2[uint64, T] { return l.RecordsFrom(0) }

// RecordsFrom is Records from the record of index from on; if that has been
// dropped, from the first one that has not.
func (l *Log[T]) RecordsFrom(from uint64) iter.Seq2[uint64, T] {
	return func(yield func(uint64, T) bool) {
		for i, recs := range l.BlocksFrom(from) {
			for k := range recs {
				if !yield(i+uint64(k), recs[k]) {
					return
				}
			}
		}
	}
}

// BlocksFrom is RecordsFrom, but hands out all records of a block at once, with
// the index of the first. The slice is the loop's memory, and is valid until the
// body returns: copy what is to be kept.
func (l *Log[T]) BlocksFrom(from uint64) iter.Seq2[uint64, []T] {
	return func(yield func(uint64, []T) bool) {
		r := l.core.reader(from)
		for {
			first, records, err := r.more()
			l.core.end(err)
			if err != nil || len(records) == 0 || !yield(first, recordsOf[T](records)) {
				return
			}
		}
	}
}

// Follow ranges over the records as Records does, and then waits for more, until
// ctx is done. In the Log that writes, a record comes when it and all before it are
// complete, which with EverySync is before it is on the disk and acknowledged; Close ends
// the loop. In one opened ReadOnly, records come that another process
// writes: it looks for them every PollEvery. A file that becomes shorter than
// what has been seen of it ends the loop with ErrShrunk.
func (l *Log[T]) Follow(ctx context.Context) iter.Seq2[uint64, T] { return l.FollowFrom(ctx, 0) }

// FollowFrom is Follow from the record of index from on.
func (l *Log[T]) FollowFrom(ctx context.Context, from uint64) iter.Seq2[uint64, T] {
	return func(yield func(uint64, T) bool) {
		r := l.core.reader(from)
		for ctx.Err() == nil {
			first, records, err := r.more()
			if err == nil && len(records) == 0 {
				if err = r.await(ctx); err == nil {
					continue
				}
			}
			if errors.Is(err, ErrClosed) || errors.Is(err, errOver) {
				return
			}
			l.core.end(err)
			if err != nil {
				return
			}
			for k, rec := range recordsOf[T](records) {
				if !yield(first+uint64(k), rec) {
					return
				}
			}
		}
	}
}

// errOver: there is nothing more to wait for.
var errOver = errors.New("sink: over")

// await blocks until there may be more records, or ctx is done.
func (r *reader) await(ctx context.Context) error {
	l := r.l
	if !l.conf.readOnly {
		l.complete.wait(ctx, r.next+1, func() bool { return l.visible() > r.next })
		if l.visible() <= r.next && ctx.Err() == nil {
			return errOver
		}
		return nil
	}
	size, err := l.f.Size()
	switch {
	case errors.Is(err, fs.ErrClosed):
		return ErrClosed
	case err != nil:
		return pathError("read", l.path, err)
	case size < l.geo.end(r.next):
		return pathError("follow", l.path, ErrShrunk)
	}
	t := time.NewTimer(l.conf.poll)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return nil
}
