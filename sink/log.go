package sink

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"time"
)

// Log is a file of records of type T, written through a memory map by one process
// and read by any number. T has neither pointers nor padding. A record is known
// by its index, which begins at 0 and never changes.
//
// All methods may be called by any number of goroutines at once. Close it in the
// end.
type Log[T any] struct{ core *core }

// Create makes a new log and opens it for writing. It fails with fs.ErrExist if
// there is a file of that name; else the name appears together with a complete
// header, so that a process that is killed leaves a log or nothing under it. The
// file can be read and written by its owner alone. A T with pointers or padding
// panics.
func Create[T any](path string, opts ...LogOption) (*Log[T], error) {
	conf, lay := configureLog("sink.Create", opts), layoutOf("sink.Create", reflect.TypeFor[T]())
	if conf.readOnly {
		panic("sink.Create: option ReadOnly is for Open")
	}
	l, err := create(path, conf, lay)
	if err != nil {
		return nil, pathError("create", path, err)
	}
	return &Log[T]{l}, nil
}

// Open opens a log for writing, behind its last record. If it was not closed, it
// is recovered first: what is not a whole prefix of what was written is cut off,
// as Log.Recovery tells. What is then in the log is durable.
//
// To read takes time in proportion to what no Sync of the past vouches for. A
// log with up to 64 MiB of records is read whole; of a larger one that has been
// synced, only the rest is, and its older blocks are checked when they are read.
//
// Errors: ErrNotLog, ErrLayout if the records are not T's, ErrCorrupt if durable
// records are damaged, ErrLocked if it is open for writing elsewhere,
// ErrNotRegular if path is no file or a symbolic link.
func Open[T any](path string, opts ...LogOption) (*Log[T], error) {
	conf, lay := configureLog("sink.Open", opts), layoutOf("sink.Open", reflect.TypeFor[T]())
	l, err := open(path, conf, lay)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	return &Log[T]{l}, nil
}

// create writes the header under another name, and then gives it its own.
func create(path string, conf logConfig, lay layout) (*core, error) {
	var id [8]byte
	rand.Read(id[:])
	h := header{lay, binary.NativeEndian.Uint64(id[:])}
	geo := geometryOf(lay.size)
	head := make([]byte, geo.header)
	copy(head, h.encode(geo))
	copy(head[checkpointOffset+checkpointStride:], checkpoint{serial: 1}.encode(h.id))
	if err := appear(conf.sys, path, head); err != nil {
		return nil, err
	}
	return open(path, conf, lay)
}

// appear makes a new file with the content given: durable, and whole under its
// name or not there.
func appear(sys system, path string, content []byte) error {
	temp := tempName(path)
	f, err := sys.Open(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(content, 0)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = christen(sys, temp, path)
	}
	if err != nil {
		return errors.Join(err, sys.Remove(temp))
	}
	return sys.SyncDir(dirOf(path))
}

func open(path string, conf logConfig, lay layout) (_ *core, err error) {
	flag := os.O_RDWR
	if conf.readOnly {
		flag = os.O_RDONLY
	}
	f, err := conf.sys.Open(path, flag)
	if err != nil {
		return nil, err
	}
	l := newCore(path, conf, f)
	defer func() {
		if err != nil {
			l.unmapHead()
			err = errors.Join(err, f.Close())
		}
	}()
	if !conf.readOnly {
		if err := f.Lock(); err != nil {
			return nil, err
		}
	}
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	l.geo = geometryOf(lay.size)
	l.head = aligned(l.geo.header)
	got, err := f.ReadAt(l.head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	h, err := decodeHeader(l.head[:got], lay)
	if err != nil {
		return nil, err
	}
	if size < int64(l.geo.header) {
		return nil, fmt.Errorf("%w: its header is cut off", ErrCorrupt)
	}
	l.id = h.id
	if err := l.recover(size); err != nil {
		return nil, err
	}
	if err := l.begin(); err != nil { // not before, as a map has no pages of a file that is cut
		return nil, err
	}
	if conf.readOnly {
		return l, nil
	}
	b, _ := l.geo.at(l.published.Load())
	l.allocated, l.least = l.geo.blockOffset(b), l.geo.end(l.published.Load())
	l.capacity.Store(b * l.geo.per)
	l.start()
	return l, nil
}

// begin finds out whether the file can be mapped.
func (l *core) begin() error {
	group := int64(mapBlocks * l.geo.block)
	l.segBytes = (int64(l.conf.segment) + group - 1) / group * group
	if l.conf.readOnly {
		return nil
	}
	head, err := l.f.Map(0, l.geo.header)
	if errors.Is(err, errNoMap) {
		return nil
	}
	if err == nil {
		l.head, l.mapped = head, true
	}
	return err
}

func (l *core) unmapHead() {
	if l.mapped {
		l.f.Unmap(l.head)
	}
}

func (l *core) start() {
	if d := time.Duration(l.conf.durability); d > 0 {
		ctx, stop := context.WithCancel(context.Background())
		l.stop, l.ticked = stop, make(chan struct{})
		go l.every(ctx, d)
	}
}

// Append writes records, side by side in the order given, and returns the index
// of the first. When it returns nil they are acknowledged: they, and all records
// before them, have what the log's Durability promises. It blocks while records
// before them are being copied by other calls, while the file grows, and with
// EverySync until they are on the disk.
//
// With an error none of recs is acknowledged. A full disk, or a file that cannot
// grow for another reason, leaves the log as it was: nothing of recs is in it,
// and Append may be called again. Any other error is for good: ErrClosed, that
// of a Sync which has failed, ErrShrunk. Append of no records does nothing.
//
// One call that writes many records costs less than many calls. All of recs is
// mapped at once.
func (l *Log[T]) Append(recs ...T) (first uint64, err error) {
	if l.core.conf.readOnly {
		return 0, ErrReadOnly
	}
	if len(recs) == 0 {
		return l.core.visible(), nil
	}
	return l.core.append(bytesOf(recs), uint64(len(recs)))
}

// Sync returns when all records that were acknowledged before the call are
// durable: they survive a power cut. If it fails, the log is at its end: what the
// disk holds is unknown until the log has been closed and opened again.
func (l *Log[T]) Sync() error {
	select {
	case <-l.core.closed:
		return l.core.stopped()
	default:
		return l.core.syncTo(l.core.visible())
	}
}

// Close ends the log: calls of Append that have begun are finished, later ones
// return ErrClosed. All records are made durable, and the file is cut to its
// records; nil says that all this went well. Further calls return the same. A
// Log that was opened ReadOnly is only closed.
func (l *Log[T]) Close() error { return l.core.close() }

// Len is the number of records that have been written, dropped ones included:
// the index that the next one will have. It never blocks. Of a log that is open
// for reading it is the number found by Open, or by reading since.
func (l *Log[T]) Len() uint64 { return l.core.visible() }

// First is the index of the first record that has not been dropped.
func (l *Log[T]) First() uint64 { return l.core.first.Load() }

// Recovery tells what Open has found, and what it cut off.
func (l *Log[T]) Recovery() Recovery { return l.core.recovery }
