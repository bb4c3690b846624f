package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
	"unsafe"

	"github.com/seed95b73fdc/sluice/sink"
)

// sluice's log.

var (
	sluiceLog       = storage{"sluice Log", logWrite(sink.Buffered), logRead}
	sluiceEverySync = storage{"sluice Log, EverySync", logWrite(sink.EverySync), logRead}
	sluiceInterval  = storage{"sluice Log, Interval(100ms)", logWrite(sink.Interval(100 * time.Millisecond)), logRead}
)

func logWrite(level sink.Durability) func(path string, n, chunk, writers int, item func(int) (record, error)) error {
	return func(path string, n, chunk, writers int, item func(int) (record, error)) error {
		log, err := sink.Create[record](path, level)
		if err != nil {
			return err
		}
		err = inChunks(n, chunk, writers, item, func(recs []record) error {
			_, err := log.Append(recs...)
			return err
		})
		return errors.Join(err, log.Close())
	}
}

// inChunks has so many writers hand over their shares of n records.
func inChunks(n, chunk, writers int, item func(int) (record, error), put func([]record) error) error {
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() { errs[w] = share(w*n/writers, (w+1)*n/writers, chunk, item, put) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func share(from, to, chunk int, item func(int) (record, error), put func([]record) error) (err error) {
	recs := make([]record, chunk)
	for i := from; i < to; {
		k := min(chunk, to-i)
		for j := range recs[:k] {
			if recs[j], err = item(i + j); err != nil {
				return err
			}
		}
		if err := put(recs[:k]); err != nil {
			return err
		}
		i += k
	}
	return nil
}

func logRead(path string, take func(record)) error {
	log, err := sink.Open[record](path, sink.ReadOnly())
	if err != nil {
		return err
	}
	defer log.Close()
	return recordsOf(log, nil, take)
}

type logReader func(log *sink.Log[record], file *os.File, take func(record)) error

func recordsOf(log *sink.Log[record], _ *os.File, take func(record)) error {
	for _, r := range log.Records() {
		take(r)
	}
	return log.Err()
}

func blocksOf(log *sink.Log[record], _ *os.File, take func(record)) error {
	for _, recs := range log.BlocksFrom(0) {
		for i := range recs {
			take(recs[i])
		}
	}
	return log.Err()
}

// bareRead reads the file of a log as if it were nothing but records and their
// blocks' first 32 bytes, and checks nothing.
func bareRead(log *sink.Log[record], f *os.File, take func(record)) error {
	const block = 4096
	buf, left := make([]byte, 64*block), log.Len()
	for at := int64(block); left > 0; at += int64(len(buf)) {
		got, err := f.ReadAt(buf, at)
		if err != nil && err != io.EOF {
			return err
		}
		for b := 0; b < got; b += block {
			recs := unsafe.Slice((*record)(unsafe.Pointer(&buf[b])), block/recordBytes)[1:]
			recs = recs[:min(uint64(len(recs)), left)]
			for i := range recs {
				take(recs[i])
			}
			left -= uint64(len(recs))
		}
	}
	return nil
}

// ready is a log that was written before, of the items it was asked for last.
type ready struct {
	items []int
	log   *sink.Log[record]
	file  *os.File
}

// of makes the log, unless it is there.
func (r *ready) of(items []int) error {
	if r.log != nil && len(r.items) == len(items) && &r.items[0] == &items[0] {
		return nil
	}
	dir, err := os.MkdirTemp(memoryDir(), "sluice-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // the file lives as long as it is open
	path := filepath.Join(dir, "log")
	const chunk = 128
	if err := logWrite(sink.Buffered)(path, len(items), chunk, 1, itemsOf(items)); err != nil {
		return err
	}
	if r.log, err = sink.Open[record](path, sink.ReadOnly()); err != nil {
		return err
	}
	r.items = items
	r.file, err = os.Open(path)
	return err
}

func itemsOf(items []int) func(int) (record, error) {
	return func(i int) (record, error) { return recordOf(items[i]), nil }
}

// readLog is a way to read a log: each record is handed to f.
func readLog(name string, do logReader) entry {
	var from ready
	return entry{name, func(ctx context.Context, j job, take func(int)) error {
		if err := from.of(j.items); err != nil {
			return err
		}
		var failed error
		err := do(from.log, from.file, func(rec record) {
			r, err := j.f(ctx, int(rec.ID))
			if err != nil {
				failed = err
			}
			take(r)
		})
		return errors.Join(err, failed)
	}, inOrder}
}

const opens = 20

// recovery opens the log of a process that was killed, often enough that to put
// its file there, and to read it, does not count much.
func recovery() entry {
	var items []int
	var image []byte
	return entry{"sluice Open", func(ctx context.Context, j job, take func(int)) error {
		dir, err := os.MkdirTemp(memoryDir(), "sluice-bench")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "log")
		if len(items) != len(j.items) || &items[0] != &j.items[0] {
			if image, err = killedLog(path, j.items); err != nil {
				return err
			}
			items = j.items
		}
		if err := os.WriteFile(path, image, 0o600); err != nil {
			return err
		}
		for range opens - 1 {
			log, err := sink.Open[record](path, sink.ReadOnly())
			if err != nil {
				return err
			}
			if err := log.Close(); err != nil {
				return err
			}
		}
		var failed error
		err = logRead(path, func(rec record) {
			r, err := j.f(ctx, int(rec.ID))
			if err != nil {
				failed = err
			}
			take(r)
		})
		return errors.Join(err, failed)
	}, inOrder}
}

// killedLog is the file of a log as a process leaves it that is killed.
func killedLog(path string, items []int) ([]byte, error) {
	defer os.Remove(path)
	log, err := sink.Create[record](path)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	const chunk = 128
	err = inChunks(len(items), chunk, 1, itemsOf(items), func(recs []record) error {
		_, err := log.Append(recs...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}
