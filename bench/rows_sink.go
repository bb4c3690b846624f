package main

import (
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

// id returns which record it is, or -1 if it is none that was written.
func (r record) id() int {
	if r != recordOf(int(r.ID)) {
		return -1
	}
	return int(r.ID)
}

// storage is what a contender of the sink rows writes to.
type storage struct {
	name string
	// write stores n records in a new file at path, handed over in chunks by so
	// many writers at once; that of item i goes to writer i·writers/n.
	write func(path string, n, chunk, writers int) error
	// read hands out what write has stored.
	read func(path string, take func(record)) error
}

// storing is one storage with a job. Making the file and removing it is part of
// the job, and so is Close; what was written is read back once.
type storing struct {
	storage
	dir               string
	n, chunk, writers int
	want              measure.Tally
	checked           *bool
}

func (s storing) Name() string { return s.name }

func (s storing) Run() (t measure.Tally, err error) {
	dir, err := os.MkdirTemp(s.dir, "sluice-bench")
	if err != nil {
		return t, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "store")
	if err := s.write(path, s.n, s.chunk, s.writers); err != nil || *s.checked {
		return s.want, err
	}
	*s.checked = true
	take := t.AnyOrder
	if s.writers == 1 {
		take = t.InOrder
	}
	return t, s.read(path, func(r record) { take(r.id()) })
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
	row := measure.Row{Name: name, Items: n, Want: measure.WantTally(n), Subject: subject}
	for _, s := range stores {
		row.Contenders = append(row.Contenders, storing{s, dir, n, chunk, writers, row.Want, new(bool)})
	}
	return row
}

// sinkRows: what does a record cost that survives the process?
func sinkRows(c config) measure.Group {
	const chunk, batch, atMost = 128, 100, 25
	n := 4 * c.items
	mem, disk := memoryDir(), os.TempDir()
	name := func(form string, args ...any) string { return fmt.Sprintf(form, args...) }
	chunks := name("chunks of %d", chunk)
	g := measure.Group{
		Key:   "sink",
		Title: "Records of 32 bytes into a file",
		Job: "A new file, records written to it by the number of writers given, closed, removed; on a file system in memory, so that the disk is not measured. " +
			"The bare loop writes into a map of the file and does no more: no checksum, no length, nothing that could be recovered. " +
			"Buffered write collects 256 KiB. " +
			"The rows \"on disk\" end each chunk with what makes it durable there.",
		Drawn: []string{chunks},
		Rows: []measure.Row{
			storeRow("one by one", mem, n, 1, 1, sluiceLog.name, append(bareMaps(), sluiceLog, bufferedRecords, binaryRecords)...),
			storeRow(chunks, mem, n, chunk, 1, sluiceLog.name, append(bareMaps(), sluiceLog, bufferedRecords, binaryRecords)...),
			storeRow("stores, "+chunks, mem, c.items/4, chunk, 1, sluiceLog.name, sluiceLog, boltBatches, sqliteBatches),
			storeRow("2 writers, "+chunks, mem, n, chunk, 2, sluiceLog.name, sluiceLog, lockedRecords),
			storeRow("4 writers, "+chunks, mem, n, chunk, 4, sluiceLog.name, sluiceLog, lockedRecords),
			storeRow("4 writers, one by one", mem, n, 1, 4, sluiceLog.name, sluiceLog, lockedRecords),
			storeRow(name("on disk, durable each %d", batch), disk, 20*batch, batch, 1, sluiceEverySync.name, sluiceEverySync, syncedRecords, boltDurable, sqliteDurable),
			storeRow("on disk, buffered and Interval", disk, n, chunk, 1, sluiceLog.name, sluiceLog, sluiceInterval),
		},
		Targets: []measure.Target{measure.NanosAtMost(chunks, sluiceLog.name, atMost)},
	}
	return g
}

// sinkReadRows: and to get it back?
func sinkReadRows(c config) measure.Group {
	n := 4 * c.items
	row := func(name string, n int, subject string, contenders ...measure.Contender) measure.Row {
		return measure.Row{Name: name, Items: n, Want: measure.WantTally(n), Subject: subject, Contenders: contenders}
	}
	g := measure.Group{
		Key:   "sinkread",
		Title: "Reading records of 32 bytes, and recovery",
		Job: "A log in memory, written before. Each record is looked at; 32 ÷ ns/item is GB/s. " +
			"Recovery opens a log whose process was killed before any Sync: all of it has to be checked. " +
			"Its ns/item are to be the same for every size.",
	}
	records, blocks, plain := readLog("sluice Records", recordsOf, n), readLog("sluice BlocksFrom", blocksOf, n), readLog("read of 256 KiB, no checksums", bareRead, n)
	g.Rows = append(g.Rows, row("read", n, records.Name(), records, blocks, plain))
	for _, part := range []int{16, 4, 1} {
		k := max(n/part, 1)
		r := row(fmt.Sprintf("recover %d", k), k, "", recovering{k, new([]byte)})
		r.Items *= opens
		g.Rows = append(g.Rows, r)
	}
	return g
}
