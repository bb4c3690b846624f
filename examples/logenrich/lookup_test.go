package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
	"github.com/seed95b73fdc/sluice/examples/internal/programtest"
)

// fakeStore knows the keys it has.
type fakeStore map[string]string

func (s fakeStore) find(_ context.Context, keys []string) (map[string][]byte, error) {
	found := map[string][]byte{}
	for _, key := range keys {
		if name, ok := s[key]; ok {
			found[key] = []byte(`{"name":"` + name + `"}`)
		}
	}
	return found, nil
}

// testDatabase makes a database with SQL and returns its name.
func testDatabase(t *testing.T, name, statements string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	db := rawDatabase(t, name)
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

func rawDatabase(t *testing.T, name string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", dataSource(name, "rwc", 0))
	if err != nil {
		t.Fatal(err)
	}
	return db
}

const twoClients = `CREATE TABLE clients(key TEXT PRIMARY KEY, name TEXT);
INSERT INTO clients VALUES ('192.0.2.1', 'One'), ('192.0.2.2', 'Two')`

func TestLookupGivesAllColumnsAndNothingForTheUnknown(t *testing.T) {
	name := testDatabase(t, "types.db", `CREATE TABLE clients(key TEXT PRIMARY KEY, i INTEGER, r REAL, big REAL, x BLOB, n, d DATETIME, b BOOLEAN, s TEXT);
		INSERT INTO clients VALUES ('a', -9223372036854775808, 0.1, 9e999, x'00ff', NULL, '2024-03-04 08:00:00', 1, 'a"b
é'), ('', 1, 2, 3, 4, 5, 6, 7, 'the empty key')`)
	for _, batch := range []int{1, 2, 64} {
		db, err := openDatabase(context.Background(), name, asking{key: keyClient, n: 2, batch: batch})
		if err != nil {
			t.Fatal(err)
		}
		defer db.close()
		found, err := db.find(context.Background(), []string{"a", "unknown"}[:min(batch, 2)])
		if err != nil {
			t.Fatal(err)
		}
		want := `{"key":"a","i":-9223372036854775808,"r":0.1,"big":"+Inf","x":"AP8=","n":null,"d":"2024-03-04T08:00:00Z","b":1,"s":"a\"b\né"}`
		if got := string(found["a"]); got != want || len(found) != 1 {
			t.Errorf("batch %d: %s\nwant %s\nof %d", batch, got, want, len(found))
		}
		for _, key := range []string{"", "A", "a ", "a\x00", "\xff", "a' OR '1'='1", strings.Repeat("k", 1<<20)} {
			found, err := db.find(context.Background(), []string{key})
			if _, ok := found[key]; err != nil || ok != (key == "") {
				t.Errorf("key %.20q: found %v, %v", key, ok, err)
			}
		}
	}
}

func TestBatchedLookupFindsWhatSingleOnesFind(t *testing.T) {
	// Keys that the table deems equal, a view, and a key with two rows.
	name := testDatabase(t, "nocase.db", `CREATE TABLE t(address TEXT COLLATE NOCASE, name TEXT);
		INSERT INTO t VALUES ('Host-A', 'A'), ('host-b', 'B'), ('host-c', 'C');
		CREATE INDEX by_address ON t(address);
		CREATE VIEW clients AS SELECT address AS key, name FROM t`)
	keys := []string{"host-a", "HOST-B", "host-c", "host-d", "HOST-A"}
	want := map[string]string{}
	for _, batch := range []int{1, 5, 8} {
		db, err := openDatabase(context.Background(), name, asking{key: keyClient, n: 1, batch: batch})
		if err != nil {
			t.Fatal(err)
		}
		defer db.close()
		if batch == 1 {
			for _, key := range keys {
				found, err := db.find(context.Background(), []string{key})
				if err != nil {
					t.Fatal(err)
				}
				if object, ok := found[key]; ok {
					want[key] = string(object)
				}
			}
			if len(want) != 4 {
				t.Fatalf("found %q", want)
			}
			continue
		}
		found, err := db.find(context.Background(), keys)
		if err != nil || len(found) != len(want) {
			t.Fatalf("batch %d: %d found, %v", batch, len(found), err)
		}
		for key, object := range found {
			if string(object) != want[key] {
				t.Errorf("batch %d, %s: %s, want %s", batch, key, object, want[key])
			}
		}
	}
}

func TestDatabaseFileMayHaveAnyName(t *testing.T) {
	for _, name := range []string{"plain.db", "a b.db", "what?.db", "50%.db", "a%20b.db", "#1.db", "é&=;+.db", ":memory:"} {
		name := testDatabase(t, name, twoClients)
		r := call(strings.NewReader(combinedLine(1)), "-in", "-", "-db", name).want(t, program.OK)
		if rows := r.rows(t); rows[0].Client["name"] != "One" {
			t.Errorf("%s: %v", name, rows[0].Client)
		}
	}
}

// Every one of these is one clear line, exit code 1 and no output file.
func TestDatabaseThatCannotBeReadIsOneErrorAndLeavesNoOutput(t *testing.T) {
	dir := t.TempDir()
	good := testDatabase(t, "good.db", twoClients)
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	// The header and the schema are whole, the pages of the table are not.
	damaged := append(append([]byte{}, data[:4096]...), []byte(strings.Repeat("?", len(data)-4096))...)
	tests := []struct {
		name string
		file string
		why  string
	}{
		{"missing", filepath.Join(dir, "missing.db"), "no such file"},
		{"a folder", t.TempDir(), "directory"},
		{"empty", testFile(t, "empty.db", nil), "no such table: clients"},
		{"text", testFile(t, "text.db", []byte(strings.Repeat("no database\n", 100))), "not an SQLite database"},
		{"damaged header", testFile(t, "header.db", append([]byte("SQLite format 4\x00"), data[16:]...)), "not an SQLite database"},
		{"damaged pages", testFile(t, "pages.db", damaged), "damaged"},
		{"cut", testFile(t, "cut.db", data[:4096]), "damaged"},
		{"no such column", testDatabase(t, "column.db", `CREATE TABLE clients(ip TEXT)`), "no such column"},
	}
	for _, tt := range tests {
		for _, batch := range []string{"1", "64"} {
			t.Run(tt.name+"/"+batch, func(t *testing.T) {
				call(strings.NewReader(logOf(10)), "-in", "-", "-db", tt.file, "-out", filepath.Join(dir, "out"), "-batch", batch).
					wantError(t, tt.file, tt.why)
				programtest.WantOnly(t, dir)
			})
		}
	}
	t.Run("locked", func(t *testing.T) {
		db := rawDatabase(t, good)
		defer db.Close()
		db.SetMaxOpenConns(1)
		if _, err := db.Exec("BEGIN EXCLUSIVE"); err != nil {
			t.Fatal(err)
		}
		call(strings.NewReader(logOf(10)), "-in", "-", "-db", good, "-out", filepath.Join(dir, "out")).
			wantError(t, good, "locked")
		programtest.WantOnly(t, dir)
	})
	t.Run("no such table for users", func(t *testing.T) {
		call(nil, "-db", good, "-key", "user").wantError(t, "no such table: users")
	})
}

// gate is what the SQL function gate calls.
var gate atomic.Pointer[func() error]

func init() {
	sqlite.MustRegisterFunction("gate", &sqlite.FunctionImpl{
		NArgs: 1,
		Scalar: func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			return args[0], (*gate.Load())()
		},
	})
}

const gatedClients = `CREATE TABLE t(key TEXT PRIMARY KEY, name TEXT);
	INSERT INTO t VALUES ('192.0.2.1', 'One');
	CREATE VIEW clients AS SELECT key, gate(name) AS name FROM t`

func TestLookupsRunAsManyAtOnceAsAskedFor(t *testing.T) {
	const n = 5
	name := testDatabase(t, "gated.db", gatedClients)
	for _, engine := range []string{"sluice", "rill"} {
		// No query ends before n have begun, so fewer at once would never end.
		var inside, most atomic.Int64
		all := make(chan struct{})
		wait := func() error {
			now := inside.Add(1)
			defer inside.Add(-1)
			for {
				if old := most.Load(); now <= old || most.CompareAndSwap(old, now) {
					break
				}
			}
			if now == n {
				select {
				case <-all:
				default:
					close(all)
				}
			}
			select {
			case <-all:
				return nil
			case <-time.After(time.Minute):
				return fmt.Errorf("only %d queries at once", now)
			}
		}
		gate.Store(&wait)
		log := strings.Repeat(combinedLine(1)+"\n", 20)
		r := call(strings.NewReader(log), "-in", "-", "-db", name, "-n", fmt.Sprint(n), "-engine", engine).want(t, program.OK)
		if rows := r.rows(t); len(rows) != 20 || rows[19].Client["name"] != "One" {
			t.Errorf("%s: %d rows", engine, len(rows))
		}
		if most.Load() != n {
			t.Errorf("%s: %d queries at once, want %d", engine, most.Load(), n)
		}
	}
}

func TestAbortEndsAQueryUnderWay(t *testing.T) {
	// The view never ends by itself.
	name := testDatabase(t, "endless.db", `CREATE TABLE t(key TEXT PRIMARY KEY, name TEXT);
		INSERT INTO t VALUES ('192.0.2.1', 'One');
		CREATE VIEW clients AS SELECT key, gate(name) AS name,
			(WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c) AS n FROM t`)
	for _, engine := range []string{"sluice", "loop", "rill"} {
		ctx, abort := context.WithCancelCause(context.Background())
		begun := func() error { abort(program.ErrAborted); return nil }
		gate.Store(&begun)
		out := filepath.Join(t.TempDir(), "out")
		r := callContext(ctx, strings.NewReader(combinedLine(1)), "-in", "-", "-db", name, "-out", out, "-engine", engine).want(t, program.Interrupted)
		if r.stderr != "logenrich: aborted\n" {
			t.Errorf("%s: stderr %q", engine, r.stderr)
		}
		programtest.WantOnly(t, filepath.Dir(out))
	}
}

func TestLatencyIsAddedAndEndsWithTheContext(t *testing.T) {
	s := slowStore{fakeStore{"k": "v"}, time.Nanosecond}
	if found, err := s.find(context.Background(), []string{"k"}); err != nil || len(found) != 1 {
		t.Error(found, err)
	}
	s.latency = time.Hour
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("enough")
	cancel(cause)
	if _, err := s.find(ctx, []string{"k"}); !errors.Is(err, cause) {
		t.Error(err)
	}
}
