package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed95b73fdc/sluice/bench/internal/measure"
)

// record is what the logs and stores of the sink rows hold: 32 bytes.
type record struct{ ID, Key, Value, Check uint64 }

const recordBytes = 32

func recordOf(i int) record {
	id := uint64(i)
	return record{id, id % 997, id * 3, ^id}
}

// storage is what a contender of the sink rows writes to.
type storage struct {
	name string
	// write stores n records in a new file at path, handed over in chunks by so
	// many writers at once; item i goes to writer i·writers/n.
	write func(path string, n, chunk, writers int, item func(i int) (record, error)) error
	// read hands out what write has stored.
	read func(path string, take func(record)) error
}

// entry makes a way to do a job of it: f's results become the records of a new
// file in dir, which is removed in the end. The consumer sees what was handed over,
// and once the file is read back and compared with that.
func (s storage) entry(dir string, chunk, writers int) entry {
	checked := false
	return entry{s.name, func(ctx context.Context, j job, take func(int)) error {
		own, err := os.MkdirTemp(dir, "sluice-bench")
		if err != nil {
			return err
		}
		defer os.RemoveAll(own)
		path := filepath.Join(own, "store")
		results := make([]int, len(j.items))
		err = s.write(path, len(j.items), chunk, writers, func(i int) (record, error) {
			r, err := j.f(ctx, j.items[i])
			results[i] = r
			return recordOf(r), err
		})
		if err == nil && !checked {
			checked = true
			err = s.compare(path, results, writers)
		}
		for _, r := range results {
			take(r)
		}
		return err
	}, inOrder}
}

// compare reads a file back.
func (s storage) compare(path string, results []int, writers int) error {
	var want, got measure.Tally
	wrong := 0
	err := s.read(path, func(r record) {
		if r != recordOf(int(r.ID)) || writers == 1 && got.Count < len(results) && int(r.ID) != results[got.Count] {
			wrong++
		}
		got.AnyOrder(int(r.ID))
	})
	for _, r := range results {
		want.AnyOrder(r)
	}
	if err == nil && (wrong > 0 || got.Count != want.Count || got.Sum != want.Sum) {
		err = fmt.Errorf("%d records in the file, %d of them wrong, of %d", got.Count, wrong, want.Count)
	}
	return err
}

// memoryDir is a directory in memory, where there is one: so that it is not the
// disk that is measured.
func memoryDir() string {
	const shm = "/dev/shm"
	if st, err := os.Stat(shm); err == nil && st.IsDir() {
		return shm
	}
	return os.TempDir()
}

func storeRow(name, dir string, n, chunk, writers int, subject string, stores ...storage) measure.Row {
	entries := make([]entry, len(stores))
	for i, s := range stores {
		entries[i] = s.entry(dir, chunk, writers)
	}
	return job{upTo(n), writers, noop}.row(name, subject, entries...)
}

// sinkRows: what does a record cost that survives the process?
func sinkRows(c config) measure.Group {
	const chunk, batch, syncs, atMost = 128, 100, 200, 25
	n := 4 * c.items
	mem, disk := memoryDir(), os.TempDir()
	name := func(form string, args ...any) string { return fmt.Sprintf(form, args...) }
	chunks := name("chunks of %d", chunk)
	g := measure.Group{
		Key:   "sink",
		Title: "Records of 32 bytes into a file",
		Job: "A new file, records written to it by the number of writers given, closed, removed; on a file system in memory, so that the disk is not measured. " +
			"The bare loop writes into a map of the file and does no more: no checksum, no length, nothing that could be recovered. " +
			"Buffered write collects 256 KiB, which are lost if the process is killed. Write at once is one write for each record or chunk, under a mutex: like a record of the Log it then survives the process. " +
			"The rows \"on disk\" end each chunk with what makes it durable there.",
		Drawn: []string{chunks},
		Rows: []measure.Row{
			storeRow("one by one", mem, n, 1, 1, sluiceLog.name, append(bareMaps(), sluiceLog, writtenRecords, bufferedRecords, binaryRecords)...),
			storeRow(chunks, mem, n, chunk, 1, sluiceLog.name, append(bareMaps(), sluiceLog, writtenRecords, bufferedRecords, binaryRecords)...),
			storeRow("stores, "+chunks, mem, c.items/4, chunk, 1, sluiceLog.name, sluiceLog, boltBatches, sqliteBatches),
			storeRow("2 writers, "+chunks, mem, n, chunk, 2, sluiceLog.name, sluiceLog, lockedRecords),
			storeRow("4 writers, "+chunks, mem, n, chunk, 4, sluiceLog.name, sluiceLog, lockedRecords),
			storeRow("2 writers, one by one", mem, n, 1, 2, sluiceLog.name, sluiceLog, writtenRecords, lockedRecords),
			storeRow("4 writers, one by one", mem, n, 1, 4, sluiceLog.name, sluiceLog, writtenRecords, lockedRecords),
			storeRow(name("on disk, durable each %d", batch), disk, syncs*batch, batch, 1, sluiceEverySync.name, sluiceEverySync, syncedRecords, boltDurable, sqliteDurable),
			storeRow("on disk, buffered and Interval", disk, n, chunk, 1, sluiceLog.name, sluiceLog, sluiceInterval),
		},
		Targets: []measure.Target{measure.NanosAtMost(chunks, sluiceLog.name, atMost)},
	}
	return g
}

// sinkReadRows: and to get it back?
func sinkReadRows(c config) measure.Group {
	n := 4 * c.items
	g := measure.Group{
		Key:   "sinkread",
		Title: "Reading records of 32 bytes, and recovery",
		Job: "A log in memory, written before. Each record is handed to f; 32 ÷ ns/item is GB/s. " +
			"Recovery opens a log whose process was killed before any Sync, so that all of it has to be checked, twenty times over, and reads it once. " +
			"Its ns/item are to be the same for every size.",
	}
	records := readLog("sluice Records", recordsOf)
	g.Rows = append(g.Rows, job{upTo(n), 1, noop}.row("read", records.name, records,
		readLog("sluice BlocksFrom", blocksOf), readLog("read of 256 KiB, no checksums", bareRead)))
	for _, part := range []int{16, 4, 1} {
		k := max(n/part, 1)
		r := job{upTo(k), 1, noop}.row(fmt.Sprintf("recover %d", k), "", recovery())
		r.Items *= opens
		g.Rows = append(g.Rows, r)
	}
	return g
}
