package main

import (
	"bufio"
	"database/sql"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sync"
	"unsafe"

	bolt "go.etcd.io/bbolt"
	_ "modernc.org/sqlite" // the driver
)

// What others have to keep records in.

var (
	bufferedRecords = storage{"buffered write, raw memory", fileWrite(rawRecords, keepBuffered), fileRead}
	binaryRecords   = storage{"encoding/binary into a bufio.Writer", fileWrite(encodedRecords, keepBuffered), fileRead}
	lockedRecords   = storage{"buffered write under a mutex", fileWrite(rawRecords, keepBuffered), fileRead}
	writtenRecords  = storage{"write at once", fileWrite(rawRecords, writeEach), fileRead}
	syncedRecords   = storage{"write and fsync", fileWrite(rawRecords, syncEach), fileRead}

	boltBatches   = storage{"bbolt, a batch for each chunk, NoSync", boltWrite(true), boltRead}
	boltDurable   = storage{"bbolt", boltWrite(false), boltRead}
	sqliteBatches = storage{"SQLite, a transaction for each chunk, synchronous=OFF", sqliteWrite("OFF"), sqliteRead}
	sqliteDurable = storage{"SQLite, WAL, synchronous=FULL", sqliteWrite("FULL"), sqliteRead}
)

// keep says what happens to a chunk that has been handed over.
type keep int

const (
	keepBuffered keep = iota
	writeEach         // to the system: it survives the process
	syncEach          // to the disk
)

func rawRecords(w *bufio.Writer, recs []record) error {
	_, err := w.Write(unsafe.Slice((*byte)(unsafe.Pointer(&recs[0])), len(recs)*recordBytes))
	return err
}

func encodedRecords(w *bufio.Writer, recs []record) error {
	for i := range recs {
		if err := binary.Write(w, binary.NativeEndian, &recs[i]); err != nil {
			return err
		}
	}
	return nil
}

func fileWrite(encode func(*bufio.Writer, []record) error, k keep) func(path string, n, chunk, writers int, item func(int) (record, error)) error {
	return func(path string, n, chunk, writers int, item func(int) (record, error)) error {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		const collected = 256 << 10
		w := bufio.NewWriterSize(f, collected)
		var mu sync.Mutex
		err = inChunks(n, chunk, writers, item, func(recs []record) error {
			mu.Lock()
			defer mu.Unlock()
			err := encode(w, recs)
			if err == nil && k >= writeEach {
				err = w.Flush()
			}
			if err == nil && k >= syncEach {
				err = f.Sync()
			}
			return err
		})
		return errors.Join(err, w.Flush(), f.Close())
	}
}

func fileRead(path string, take func(record)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	var b [recordBytes]byte
	for {
		if _, err := io.ReadFull(in, b[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		take(decodeRecord(b[:]))
	}
}

func encodeRecord(b []byte, r record) []byte {
	o := binary.NativeEndian
	return o.AppendUint64(o.AppendUint64(o.AppendUint64(o.AppendUint64(b, r.ID), r.Key), r.Value), r.Check)
}

func decodeRecord(b []byte) record {
	o := binary.NativeEndian
	return record{o.Uint64(b), o.Uint64(b[8:]), o.Uint64(b[16:]), o.Uint64(b[24:])}
}

var bucket = []byte("records")

func boltWrite(noSync bool) func(path string, n, chunk, writers int, item func(int) (record, error)) error {
	return func(path string, n, chunk, writers int, item func(int) (record, error)) error {
		db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: noSync})
		if err != nil {
			return err
		}
		err = inChunks(n, chunk, writers, item, func(recs []record) error {
			return db.Update(func(tx *bolt.Tx) error {
				b, err := tx.CreateBucketIfNotExists(bucket)
				if err != nil {
					return err
				}
				b.FillPercent = 1 // keys only grow
				for _, r := range recs {
					key, err := b.NextSequence()
					if err != nil {
						return err
					}
					if err := b.Put(binary.BigEndian.AppendUint64(nil, key), encodeRecord(nil, r)); err != nil {
						return err
					}
				}
				return nil
			})
		})
		return errors.Join(err, db.Close())
	}
}

func boltRead(path string, take func(record)) error {
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer db.Close()
	return db.View(func(tx *bolt.Tx) error {
		return tx.Bucket(bucket).ForEach(func(_, v []byte) error {
			take(decodeRecord(v))
			return nil
		})
	})
}

func openSQLite(path, synchronous string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous("+synchronous+")")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

func sqliteWrite(synchronous string) func(path string, n, chunk, writers int, item func(int) (record, error)) error {
	return func(path string, n, chunk, writers int, item func(int) (record, error)) error {
		db, err := openSQLite(path, synchronous)
		if err != nil {
			return err
		}
		_, err = db.Exec("CREATE TABLE records (id INTEGER, k INTEGER, value INTEGER, sum INTEGER)")
		if err == nil {
			err = inChunks(n, chunk, writers, item, func(recs []record) error { return sqliteInsert(db, recs) })
		}
		return errors.Join(err, db.Close())
	}
}

func sqliteInsert(db *sql.DB, recs []record) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	stmt, err := tx.Prepare("INSERT INTO records VALUES (?, ?, ?, ?)")
	if err != nil {
		return err
	}
	defer stmt.Close()
	for _, r := range recs {
		if _, err := stmt.Exec(int64(r.ID), int64(r.Key), int64(r.Value), int64(r.Check)); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func sqliteRead(path string, take func(record)) error {
	db, err := openSQLite(path, "OFF")
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.Query("SELECT id, k, value, sum FROM records ORDER BY rowid")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id, key, value, sum int64
		if err := rows.Scan(&id, &key, &value, &sum); err != nil {
			return err
		}
		take(record{uint64(id), uint64(key), uint64(value), uint64(sum)})
	}
	return rows.Err()
}
