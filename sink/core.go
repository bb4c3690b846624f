package sink

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// core is a Log without the type of its records.
//
// Invariants:
//
//   - published ≤ reserved ≤ capacity, in records; none of them falls.
//   - Records in [published, reserved) belong to the one call that reserved them.
//     It copies them, and then completes its range: ranges are completed in any
//     order, and published in that of the file.
//   - At any time one goroutine at most has the turn: the one whose range begins at
//     published. It alone folds checksums and stores published.
//   - A record below published is never written again, so it is the same for every
//     reader at any time, and so is every word that has been stored for it.
//   - Whoever has reserved completes, also when copying has failed: then limit has
//     been set to the first record that is not there, nobody sees a record from
//     limit on, and no call that reaches beyond it is acknowledged.
//
// Who waits for whom: a call of Append for those that have reserved before it, and
// for grow, and a short one at times for another short one, which has the crowd's lock
// and waits as they all do; Close for all that have reserved, and for help; with
// EverySync, Append for Sync. So in the end all wait for copies of memory, or for the
// disk.
type core struct {
	path     string
	conf     logConfig
	geo      geometry
	id       uint64
	f        file
	mapped   bool
	segBytes int64
	marks    []atomic.Uint64 // ranges completed out of turn; see turn

	_         pad
	reserved  atomic.Uint64 // next record that nobody has, and stopBit
	_         pad
	published atomic.Uint64 // records that are complete, as are all before them
	tip       tip
	_         pad

	capacity atomic.Uint64 // records that there is room for
	scant    atomic.Uint64 // when reserved is beyond it, room is made ahead; see ahead
	segs     atomic.Pointer[segments]
	limit    atomic.Uint64 // no record from here on is shown to anyone
	durable  atomic.Uint64 // records that Sync has put on the disk
	first    atomic.Uint64 // the first record that has not been dropped
	failed   atomic.Pointer[error]
	readErr  atomic.Pointer[error]

	head []byte // the header's memory, for the fine sums

	complete waitlist // for published
	crowd    crowd    // of writers

	growing chan struct{}  // held by whoever changes segs, allocated, or maps
	helping sync.WaitGroup // for the goroutine that makes room ahead
	syncing chan struct{}  // held by whoever syncs or changes the header; taken before growing

	allocated int64 // bytes of the file that there are blocks for; under growing
	least     int64 // the file's size, unless somebody else has cut it; under growing
	sync      syncState

	closing  atomic.Bool
	closed   chan struct{}
	closeErr error
	stop     context.CancelFunc // ends the goroutine of Interval
	ticked   chan struct{}      // closed when that has ended

	recovery Recovery
}

// stopBit in reserved ends reservations, for good.
const stopBit = 1 << 63

// pad keeps what one goroutine changes away from what others read.
type pad [128]byte

const markCount = 1 << 10

func newCore(path string, conf logConfig, f file) *core {
	l := &core{
		path: path, conf: conf, f: f,
		marks:   make([]atomic.Uint64, markCount),
		growing: make(chan struct{}, 1),
		syncing: make(chan struct{}, 1),
		closed:  make(chan struct{}),
	}
	l.limit.Store(math.MaxUint64)
	l.scant.Store(math.MaxUint64)
	l.segs.Store(&segments{})
	return l
}

// visible is how many records there are for readers.
func (l *core) visible() uint64 { return min(l.published.Load(), l.limit.Load()) }

// fail ends the log: err is what every later call returns.
func (l *core) fail(err error) {
	l.failed.CompareAndSwap(nil, &err)
	l.reserved.Or(stopBit)
}

// freeze ends the log at record i, which is not there.
func (l *core) freeze(i uint64, err error) {
	for {
		old := l.limit.Load()
		if old <= i || l.limit.CompareAndSwap(old, i) {
			break
		}
	}
	l.fail(err)
}

// stopped is why nothing can be reserved any more.
func (l *core) stopped() error {
	if err := l.failed.Load(); err != nil {
		return *err
	}
	return ErrClosed
}

// failure is why the log is broken, nil if it is not.
func (l *core) failure() error {
	if err := l.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// every syncs every d until ctx is done.
func (l *core) every(ctx context.Context, d time.Duration) {
	defer close(l.ticked)
	t := time.NewTicker(d)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			l.syncTo(l.visible()) // its error is kept, and returned by what comes next
		}
	}
}

// close is Log.Close. The order at the end is that of Windows (C89, which no test can
// show elsewhere; it is only compiled here): no map may be left when the file is cut.
func (l *core) close() error {
	if !l.closing.CompareAndSwap(false, true) {
		<-l.closed
		return l.closeErr
	}
	defer close(l.closed)
	end := l.reserved.Or(stopBit) &^ stopBit
	l.complete.wait(context.Background(), end, func() bool { return l.published.Load() >= end })
	l.complete.close()
	l.helping.Wait()
	if l.stop != nil {
		l.stop()
		<-l.ticked
	}
	if l.conf.readOnly {
		l.closeErr = pathError("close", l.path, l.f.Close())
		return l.closeErr
	}
	l.syncing <- struct{}{} // for good: whoever comes later sees the stopBit first
	defer func() { <-l.syncing }()
	err := l.failure()
	if err == nil {
		err = l.syncNow()
	}
	l.growing <- struct{}{}
	defer func() { <-l.growing }()
	errs := []error{err, l.release(l.segs.Swap(&segments{}).list)}
	if l.mapped {
		errs = append(errs, l.f.Unmap(l.head))
	}
	if err == nil {
		errs = append(errs, l.f.Truncate(l.geo.end(l.published.Load())), l.f.Sync())
	}
	l.closeErr = pathError("close", l.path, errors.Join(append(errs, l.f.Close())...))
	return l.closeErr
}
