package sink

import (
	"errors"
	"fmt"
	"io"
)

// Recovery is what Open has found.
type Recovery struct {
	Records uint64 // records that are good
	Checked uint64 // how many of them were checked now, because nothing vouched for them
	Cut     uint64 // records that were begun behind them, and are not whole: they were cut off
	Clean   bool   // the log had been closed, and has not changed
}

// String says it in a line.
func (r Recovery) String() string {
	if r.Clean {
		return fmt.Sprintf("%d records, closed cleanly", r.Records)
	}
	return fmt.Sprintf("%d records, %d of them checked, %d cut off", r.Records, r.Checked, r.Cut)
}

// verifyBytes is up to what size of its records Open reads all of a log, and not
// only what no checkpoint vouches for.
const verifyBytes = 64 << 20

// valid returns how many records of a block are good, and the checksum of these:
// as many as the largest of its words that holds. If the live word is one of
// those that do not, the fine sums may tell of more, which are in the header that head
// returns. claimed is how many the block says that there are. It does not change anything.
func (l *core) valid(b uint64, block []byte, head func() []byte) (n uint64, sum uint32, claimed uint64) {
	if len(block) < wordsLen {
		return 0, 0, 0
	}
	most := min(l.geo.per, uint64(len(block)-wordsLen)/uint64(l.geo.rec))
	for i := range anchorWords + anchorCount {
		w := loadWord(block, i)
		if w.count() > n && w.count() <= most && l.sumOf(b, block, w.count()) == w.sum() {
			n, sum = w.count(), w.sum()
		}
	}
	live := loadWord(block, liveWord)
	claimed = min(live.count(), l.geo.per)
	if live == 0 || live == makeWord(n, sum) {
		return n, sum, claimed
	}
	at, fine := seed(l.id, b), head()
	for k := range most {
		from := wordsLen + int(k)*l.geo.rec
		at = fold(at, block[from:from+l.geo.rec])
		if k+1 > n && loadFine(fine, k+1) == at {
			n, sum = k+1, at
		}
	}
	return n, sum, max(claimed, 1)
}

func (l *core) sumOf(b uint64, block []byte, count uint64) uint32 {
	return fold(seed(l.id, b), block[wordsLen:wordsLen+int(count)*l.geo.rec])
}

// found is what scan has found.
type found struct {
	n       uint64 // good records
	sum     uint32 // of those in the last block, if that is not full
	checked uint64
	cut     uint64
	live    word // the last block's
	spare   int  // which of its anchors may be written over
	proved  bool // the other one vouches for all of its good records
}

// scan reads the log from record from on, which is the first of its block, and
// returns where its good prefix ends. It reads one block that is not full, and
// those behind it that say they hold something.
func (l *core) scan(from uint64, size int64) (found, error) {
	b, _ := l.geo.at(from)
	r := found{n: from, proved: true}
	blocks := (size - l.geo.blockOffset(b) + int64(l.geo.block) - 1) / int64(l.geo.block)
	window := aligned(int(max(min(blocks, int64(windowBytes/l.geo.block)), 1)) * l.geo.block)
	ended := false
	for ; ; b += uint64(len(window) / l.geo.block) {
		off := l.geo.blockOffset(b)
		if off >= size {
			return r, nil
		}
		got, err := l.f.ReadAt(window[:min(int64(len(window)), size-off)], off)
		if err != nil && !errors.Is(err, io.EOF) {
			return r, pathError("read", l.path, err)
		}
		for i := 0; i < got; i += l.geo.block {
			block := window[i:min(i+l.geo.block, got)]
			n, sum, claimed := l.valid(b+uint64(i/l.geo.block), block, func() []byte { return l.head })
			if ended {
				r.cut += max(n, claimed)
				if max(n, claimed) == 0 {
					return r, nil
				}
				continue
			}
			r.n, r.checked = r.n+n, r.checked+n
			if ended = n < l.geo.per; ended {
				r.sum, r.cut = sum, max(claimed, n)-n
				if len(block) >= wordsLen {
					r.live = loadWord(block, liveWord)
					r.spare, r.proved = l.anchors(b+uint64(i/l.geo.block), block, n)
				}
			}
		}
	}
}

// anchors returns which anchor of a block may be written over, since it is not the
// one that vouches for the most, and whether that one vouches for all n good records.
func (l *core) anchors(b uint64, block []byte, n uint64) (spare int, proved bool) {
	most := uint64(0)
	for i := range anchorCount {
		w := loadWord(block, anchorWords+i)
		if w.count() > most && w.count() <= n && l.sumOf(b, block, w.count()) == w.sum() {
			most, spare = w.count(), (i+1)%anchorCount
		}
	}
	return spare, most == n
}

// recover finds the good prefix of the file and, unless it is open for reading
// only, cuts the file to it. To be interrupted in this, and to begin again, is to
// do the same. Records that a checkpoint vouches for must be there, unless the
// file itself is too short for them: then somebody has cut it.
func (l *core) recover(size int64) error {
	point := decodeCheckpoint(l.head, l.id)
	l.sync.point = point
	l.first.Store(point.first)
	from := point.synced
	if (point.synced-point.first)*uint64(l.geo.rec) <= verifyBytes {
		from = point.first
	}
	if l.geo.end(from) > size {
		from = max(point.first, min(from, l.whole(size)))
	}
	from -= from % l.geo.per
	r, err := l.scan(from, size)
	if err != nil {
		return err
	}
	clean := r.n == point.synced && size == l.geo.end(r.n) && r.cut == 0
	if r.n < point.synced && size >= l.geo.end(point.synced) {
		if l.droppedSince(point) {
			return l.again()
		}
		return &CorruptError{Path: l.path, Record: r.n, Offset: l.geo.offset(r.n)}
	}
	r.cut = max(r.cut, point.synced-min(point.synced, r.n))
	l.first.Store(min(point.first, r.n)) // a file may have been cut below what was dropped
	l.recovery = Recovery{Records: r.n - min(r.n, point.first), Checked: r.checked, Cut: r.cut, Clean: clean}
	l.reserved.Store(r.n)
	l.published.Store(r.n)
	l.durable.Store(r.n)
	l.tip.sum = r.sum
	l.sync.anchor = r.spare
	if l.conf.readOnly || clean && r.proved {
		return nil
	}
	return l.repair(r)
}

// droppedSince reports whether the process that writes the log has dropped records
// since point was read: what is missing may be those.
func (l *core) droppedSince(point checkpoint) bool {
	l.refresh()
	return l.first.Load() > point.first
}

// again is recover with what the file says now.
func (l *core) again() error {
	size, err := l.f.Size()
	if err != nil {
		return pathError("stat", l.path, err)
	}
	if _, err := l.f.ReadAt(l.head, 0); err != nil {
		return pathError("read", l.path, err)
	}
	return l.recover(size)
}

// whole is how many records of a file of that size could be there, in full blocks.
func (l *core) whole(size int64) uint64 {
	if size < int64(l.geo.header) {
		return 0
	}
	return uint64(size-int64(l.geo.header)) / uint64(l.geo.block) * l.geo.per
}

// repair cuts the file to its good prefix. What lies behind it is removed first:
// else a block of this log's past could be taken for a good one when the new
// records have reached it. The records of the last block get an anchor: they are
// durable from now on, and its live word will move on. The anchor that was made
// last stays until then, as what this one says may not be durable yet.
func (l *core) repair(r found) error {
	if err := l.f.Truncate(l.geo.end(r.n)); err != nil {
		return pathError("cut", l.path, err)
	}
	b, k := l.geo.at(r.n)
	w := makeWord(k, r.sum)
	write := func(i int) error {
		mem := aligned(wordBytes)
		storeWord(mem, 0, w)
		_, err := l.f.WriteAt(mem, l.geo.blockOffset(b)+int64(i*wordBytes))
		return pathError("write", l.path, err)
	}
	if k > 0 && r.live != w {
		if err := write(liveWord); err != nil {
			return err
		}
	}
	if k > 0 && !r.proved {
		if err := write(anchorWords + r.spare); err != nil {
			return err
		}
		l.sync.anchor = (r.spare + 1) % anchorCount
	}
	if err := l.f.Sync(); err != nil {
		return pathError("sync", l.path, err)
	}
	return l.mark(r.n, min(l.first.Load(), r.n))
}
