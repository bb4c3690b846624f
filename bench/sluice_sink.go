package main

import (
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
	"unsafe"

	"github.com/seed95b73fdc/sluice/bench/internal/measure"
	"github.com/seed95b73fdc/sluice/sink"
)

// sluice's log.

var (
	sluiceLog       = storage{"sluice Log", logWrite(sink.Buffered), logRead}
	sluiceEverySync = storage{"sluice Log, EverySync", logWrite(sink.EverySync), logRead}
	sluiceInterval  = storage{"sluice Log, Interval(100ms)", logWrite(sink.Interval(100 * time.Millisecond)), logRead}
)

func logWrite(level sink.Durability) func(path string, n, chunk, writers int) error {
	return func(path string, n, chunk, writers int) error {
		log, err := sink.Create[record](path, level)
		if err != nil {
			return err
		}
		err = inChunks(n, chunk, writers, func(recs []record) error {
			_, err := log.Append(recs...)
			return err
		})
		if cerr := log.Close(); err == nil {
			err = cerr
		}
		return err
	}
}

// inChunks has so many writers hand over their shares of n records.
func inChunks(n, chunk, writers int, put func([]record) error) error {
	errs := make(chan error, writers)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			recs := make([]record, chunk)
			for i, end := w*n/writers, (w+1)*n/writers; i < end; {
				k := min(chunk, end-i)
				for j := range recs[:k] {
					recs[j] = recordOf(i + j)
				}
				if err := put(recs[:k]); err != nil {
					errs <- err
					return
				}
				i += k
			}
		})
	}
	wg.Wait()
	close(errs)
	return <-errs
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

// ready is a log that was written before; it is made when it is needed first.
type ready struct {
	once sync.Once
	n    int
	log  *sink.Log[record]
	file *os.File
	err  error
}

func (r *ready) make() {
	dir, err := os.MkdirTemp(memoryDir(), "sluice-bench")
	if err != nil {
		r.err = err
		return
	}
	defer os.RemoveAll(dir) // the file lives as long as it is open
	path := filepath.Join(dir, "log")
	if r.err = logWrite(sink.Buffered)(path, r.n, 128, 1); r.err != nil {
		return
	}
	if r.log, r.err = sink.Open[record](path, sink.ReadOnly()); r.err == nil {
		r.file, r.err = os.Open(path)
	}
}

// reading is a way to read a log.
type reading struct {
	name string
	do   logReader
	from *ready
}

func readLog(name string, do logReader, n int) measure.Contender {
	return reading{name, do, &ready{n: n}}
}

func (r reading) Name() string { return r.name }

func (r reading) Run() (t measure.Tally, err error) {
	if r.from.once.Do(r.from.make); r.from.err != nil {
		return t, r.from.err
	}
	return t, r.do(r.from.log, r.from.file, func(rec record) { t.InOrder(rec.id()) })
}

// recovering opens the log of a process that was killed, often enough that to put
// its file there does not count.
type recovering struct {
	n     int
	image *[]byte
}

const opens = 20

func (r recovering) Name() string { return "sluice Open" }

func (r recovering) Run() (t measure.Tally, err error) {
	dir, err := os.MkdirTemp(memoryDir(), "sluice-bench")
	if err != nil {
		return t, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "log")
	if *r.image == nil {
		if *r.image, err = killedLog(path, r.n); err != nil {
			return t, err
		}
	}
	if err := os.WriteFile(path, *r.image, 0o600); err != nil {
		return t, err
	}
	for range opens {
		log, err := sink.Open[record](path, sink.ReadOnly())
		if err != nil {
			return t, err
		}
		t = measure.Tally{}
		for i := range int(log.Len()) {
			t.InOrder(i)
		}
		if err := log.Close(); err != nil {
			return t, err
		}
	}
	return t, nil
}

// killedLog is the file of a log of n records as a process leaves it that is
// killed.
func killedLog(path string, n int) ([]byte, error) {
	defer os.Remove(path)
	log, err := sink.Create[record](path)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	err = inChunks(n, 128, 1, func(recs []record) error {
		_, err := log.Append(recs...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}
