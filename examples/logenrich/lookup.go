package main

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

// A store knows clients. find returns, for each of the keys that it knows, a
// JSON object. It may be called by many goroutines at once.
type store interface {
	find(ctx context.Context, keys []string) (map[string][]byte, error)
}

// tables are where the keys are looked up.
var tables = map[string]string{keyClient: "clients", keyUser: "users"}

// A database is a store in an SQLite file.
type database struct {
	name  string
	db    *sql.DB
	one   *sql.Stmt // one key, by itself
	many  *sql.Stmt // as many as one query has, the missing ones null
	asked asking
}

// asking is how a database is asked.
type asking struct {
	key      string        // keyClient or keyUser
	n        int           // queries at once, each on its own connection
	batch    int           // keys in one query, at most
	lockWait time.Duration // how long a query waits for somebody who writes to the file
}

// openDatabase opens the file for reading. It fails if the file is missing, is no
// database, or has no table for the key.
func openDatabase(ctx context.Context, name string, asked asking) (*database, error) {
	if info, err := os.Stat(name); err != nil {
		return nil, fmt.Errorf("database %s: %w", name, program.Reason(err))
	} else if info.IsDir() {
		return nil, fmt.Errorf("database %s: is a directory", name)
	}
	db, err := sql.Open("sqlite", dataSource(name, "ro", asked.lockWait))
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", name, err)
	}
	db.SetMaxOpenConns(asked.n)
	db.SetMaxIdleConns(asked.n)
	d := &database{name: name, db: db, asked: asked}
	if d.one, err = db.PrepareContext(ctx, oneQuery(tables[asked.key])); err == nil && asked.batch > 1 {
		d.many, err = db.PrepareContext(ctx, manyQuery(tables[asked.key], asked.batch))
	}
	if err != nil {
		err = d.explain(ctx, err)
		d.close()
		return nil, err
	}
	return d, nil
}

// dataSource names a database file to the driver.
func dataSource(name, mode string, lockWait time.Duration) string {
	return program.SQLiteSource(name, fmt.Sprintf("mode=%s&_busy_timeout=%d", mode, lockWait.Milliseconds()))
}

// [key] cannot be taken for a string, as "key" is where there is no such column.
func oneQuery(table string) string { return "SELECT * FROM " + table + " WHERE [key] = ?" }

// manyQuery says which of the keys each row is for, because the table may deem
// keys equal that are spelled differently. A key that is null finds nothing.
func manyQuery(table string, batch int) string {
	var q strings.Builder
	q.WriteString("WITH wanted(i, k) AS (VALUES ")
	for i := range batch {
		if i > 0 {
			q.WriteByte(',')
		}
		q.WriteString("(" + strconv.Itoa(i) + ",?)")
	}
	q.WriteString(") SELECT wanted.i, t.* FROM wanted CROSS JOIN " + table + " AS t WHERE t.[key] = wanted.k")
	return q.String()
}

func (d *database) find(ctx context.Context, keys []string) (map[string][]byte, error) {
	found := make(map[string][]byte, len(keys))
	var err error
	if len(keys) == 1 {
		err = d.query(ctx, d.one, []any{keys[0]}, func(row []any, columns []string) {
			addRow(found, keys[0], columns, row)
		})
	} else {
		args := make([]any, d.asked.batch)
		for i, key := range keys {
			args[i] = key
		}
		err = d.query(ctx, d.many, args, func(row []any, columns []string) {
			i, _ := row[0].(int64) // a number of ours
			addRow(found, keys[i], columns[1:], row[1:])
		})
	}
	if err != nil {
		return nil, d.explain(ctx, err)
	}
	return found, nil
}

func (d *database) query(ctx context.Context, stmt *sql.Stmt, args []any, each func(row []any, columns []string)) error {
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	row, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range row {
		into[i] = &row[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		each(row, columns)
	}
	return rows.Err()
}

// addRow makes an object of a row. If a key has several rows, which it should
// not, the first counts.
func addRow(found map[string][]byte, key string, columns []string, row []any) {
	if found[key] != nil {
		return
	}
	object := []byte{'{'}
	for i, name := range columns {
		object = appendValue(object, name, row[i])
	}
	found[key] = append(object, '}')
}

// appendValue appends a column as a member. Blobs are in base64.
func appendValue(dst []byte, name string, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(appendName(dst, name), "null"...)
	case int64:
		return appendInt(dst, name, v)
	case float64:
		return appendFloat(dst, name, v)
	case bool:
		return strconv.AppendBool(appendName(dst, name), v)
	case string:
		return appendText(dst, name, v)
	case []byte:
		return appendString(appendName(dst, name), base64.StdEncoding.EncodeToString(v))
	case time.Time:
		return appendText(dst, name, v.UTC().Format(time.RFC3339Nano))
	default:
		return appendText(dst, name, fmt.Sprint(v))
	}
}

// explain puts an error of the driver in words. The context's own error is kept
// as it is.
func (d *database) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var failed *sqlite.Error
	if errors.As(err, &failed) {
		const primary = 0xff // an extended code has the primary one in its low byte
		switch failed.Code() & primary {
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			err = fmt.Errorf("locked by another process for more than %v", d.asked.lockWait)
		case sqlite3.SQLITE_NOTADB:
			err = errors.New("not an SQLite database")
		case sqlite3.SQLITE_CORRUPT:
			err = fmt.Errorf("damaged: %w", err)
		}
	}
	return fmt.Errorf("database %s: %w", d.name, err)
}

func (d *database) close() error { return d.db.Close() }

// A slowStore answers late, as a database across a network would.
type slowStore struct {
	store
	latency time.Duration
}

func (s slowStore) find(ctx context.Context, keys []string) (map[string][]byte, error) {
	t := time.NewTimer(s.latency)
	defer t.Stop()
	select {
	case <-t.C:
		return s.store.find(ctx, keys)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
