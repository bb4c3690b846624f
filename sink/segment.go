package sink

import (
	"errors"
	"fmt"
	"io"
	"syscall"
)

// segment is a part of the file that is being written: a map of it, or, where
// there are no maps, a buffer of which each block is written when it changes.
type segment struct{ mem []byte }

// segments are those that writers may touch, side by side in the file. A value
// is never changed, but replaced.
type segments struct {
	base int64 // number of the first one
	list []segment
}

// block returns the memory of the block at off.
func (s *segments) block(off, segBytes int64, size int) []byte {
	number := off / segBytes
	at := off - number*segBytes
	return s.list[number-s.base].mem[at : at+int64(size) : at+int64(size)]
}

// grow makes room for records up to n, and gives segments back that all writers
// have left. Only here is the file made larger. It blocks while another
// goroutine does the same. If there is no room, nothing has changed, but that
// some of it may have been found; a later call tries again.
func (l *core) grow(n uint64) error {
	l.growing <- struct{}{}
	defer func() { <-l.growing }()
	if l.reserved.Load()&stopBit != 0 {
		return l.stopped()
	}
	for l.capacity.Load() < n {
		if err := l.extend(); err != nil {
			return pathError("grow", l.path, err)
		}
	}
	return l.retire()
}

const (
	leastGrowth = 256 << 10 // what a small log grows by at least, in bytes
	mostGrowth  = 512 << 10 // and a large one at most, if a block is not larger
)

// extend doubles the file, up to mostGrowth and to the end of the segment, or, on a
// disk that is almost full, by as many blocks as there are. Allocating comes before
// the first access through the map: a page for which the disk has no block is a
// fault.
func (l *core) extend() error {
	if err := l.uncut(); err != nil {
		return err
	}
	number, block := l.allocated/l.segBytes, int64(l.geo.block)
	room := (number+1)*l.segBytes - l.allocated
	room = min(room, max(min(l.allocated, mostGrowth)/block*block, leastGrowth/block*block, block))
	for {
		err := l.f.Allocate(l.allocated, room)
		if err == nil {
			break
		}
		room = room / 2 / block * block
		if !noSpace(err) || room == 0 {
			return err
		}
	}
	if err := l.mapSegment(number); err != nil {
		return err
	}
	if segs := l.segs.Load(); l.mapped {
		at := l.allocated % l.segBytes
		l.f.Warm(segs.list[number-segs.base].mem[at : at+room])
	}
	l.allocated += room
	l.least = l.allocated
	l.capacity.Store(uint64(l.allocated-int64(l.geo.header)) / uint64(l.geo.block) * l.geo.per)
	l.watch()
	return nil
}

// uncut fails, and ends the log, if somebody has cut the file: who made it longer
// again would put zeros where records were. It is called with growing held.
func (l *core) uncut() error {
	size, err := l.f.Size()
	if err != nil {
		return pathError("stat", l.path, err)
	}
	if size < l.least {
		l.fail(fmt.Errorf("%w: %s", ErrShrunk, l.path))
		return l.failure()
	}
	return nil
}

// intact is uncut for who does not hold growing.
func (l *core) intact() error {
	l.growing <- struct{}{}
	defer func() { <-l.growing }()
	return l.uncut()
}

func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, errQuota)
}

// mapSegment makes a segment accessible to writers, unless it is.
func (l *core) mapSegment(number int64) error {
	old := l.segs.Load()
	if k := len(old.list); k > 0 && number < old.base+int64(k) {
		return nil
	}
	mem, err := l.memory(number*l.segBytes, int(l.segBytes))
	if err != nil {
		return err
	}
	next := &segments{base: old.base, list: append(old.list[:len(old.list):len(old.list)], segment{mem})}
	if len(old.list) == 0 {
		next.base = number
	}
	l.segs.Store(next)
	return nil
}

// memory returns the bytes of the file from off on, mapped or copied.
func (l *core) memory(off int64, n int) ([]byte, error) {
	if l.mapped {
		return l.f.Map(off, n)
	}
	mem := aligned(n)
	if _, err := l.f.ReadAt(mem, off); err != nil && err != io.EOF {
		return nil, err
	}
	return mem, nil
}

// retire unmaps the segments that lie before all that is yet to be written.
// Nobody reads through them: readers read the file.
func (l *core) retire() error {
	old := l.segs.Load()
	b, _ := l.geo.at(l.published.Load())
	gone := min(l.geo.blockOffset(b)/l.segBytes-old.base, int64(len(old.list)))
	if gone <= 0 {
		return nil
	}
	l.segs.Store(&segments{old.base + gone, append([]segment(nil), old.list[gone:]...)})
	return l.release(old.list[:gone])
}

func (l *core) release(list []segment) error {
	if !l.mapped {
		return nil
	}
	var errs []error
	for _, s := range list {
		errs = append(errs, l.f.Unmap(s.mem))
	}
	return errors.Join(errs...)
}
