package sinktest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
	_ "modernc.org/sqlite" // the driver

	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/sink"
	"github.com/seed95b73fdc/sluice/stage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const insert = "INSERT INTO squares (n, square) VALUES (?, ?)"

func args(n int) []any { return []any{n, n * n} }

// open makes a database with a table that takes each number once and nothing
// above 5000.
func open(t testing.TB, dir string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "squares.db"))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	if _, err := db.Exec("CREATE TABLE IF NOT EXISTS squares (n INTEGER UNIQUE CHECK (n <= 5000), square INTEGER)"); err != nil {
		t.Fatal(err)
	}
	return db
}

// want checks that the rows are 0 to n-1, in the order in which they were inserted.
func want(t *testing.T, db *sql.DB, n int) {
	t.Helper()
	rows, err := db.Query("SELECT n, square FROM squares ORDER BY rowid")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	next := 0
	for ; rows.Next(); next++ {
		var v, square int
		if err := rows.Scan(&v, &square); err != nil || v != next || square != v*v {
			t.Fatalf("row %d: %d, %d, %v", next, v, square, err)
		}
	}
	if next != n || rows.Err() != nil {
		t.Fatalf("%d rows, want %d; %v", next, n, rows.Err())
	}
}

func numbers(n int) stage.Stream[int] {
	return stage.Generate(func(_ context.Context, yield func(int) bool) error {
		for i := 0; i < n && yield(i); i++ {
		}
		return nil
	})
}

func TestRowsAreInsertedInOrder(t *testing.T) {
	db := open(t, t.TempDir())
	same := ordered.Map(numbers(3000), 4, func(_ context.Context, n int) (int, error) { return n, nil })
	if err := sink.SQL(t.Context(), same, db, insert, args); err != nil {
		t.Fatal(err)
	}
	want(t, db, 3000)
}

// A run ends again and again, cancelled in the middle; each goes on where the
// last one has stopped, in another process for all that the database knows.
func TestRunsThatAreCancelledResumeWithoutLossOrDouble(t *testing.T) {
	dir := t.TempDir()
	const n = 2000
	runs := 0
	for done := false; !done; runs++ {
		db := open(t, dir)
		ctx, cancel := context.WithCancel(t.Context())
		seen := 0
		in := stage.Tap(numbers(n), func(int) {
			if seen++; seen == 150*(runs+1) {
				cancel()
			}
		})
		err := sink.SQL(ctx, in, db, insert, args, sink.Batch(40), sink.Resume("squares"))
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("run %d: %v", runs, err)
		}
		done = err == nil
		at, err := sink.Position(t.Context(), db, "squares")
		if err != nil {
			t.Fatal(err)
		}
		want(t, db, int(at))
		if runs > 50 {
			t.Fatal("the runs come to no end")
		}
		db.Close()
	}
	if runs < 3 {
		t.Errorf("%d runs, nothing was interrupted", runs)
	}
	want(t, open(t, dir), n)
}

// What the database refuses rolls its batch back, and the position with it.
func TestRefusedRowRollsItsBatchBack(t *testing.T) {
	db := open(t, t.TempDir())
	err := sink.SQL(t.Context(), numbers(6000), db, insert, args, sink.Batch(100), sink.Resume("squares"))
	if err == nil {
		t.Fatal("no error")
	}
	at, perr := sink.Position(t.Context(), db, "squares")
	if perr != nil || at > 5001 || at < 4900 {
		t.Errorf("position %d, %v; %v", at, perr, err)
	}
	want(t, db, int(at))
}

func ExampleSQL() {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	db.Exec("CREATE TABLE squares (n INTEGER, square INTEGER)")
	ctx := context.Background()
	for run := range 2 { // the second one finds that all is there
		err := sink.SQL(ctx, stage.Of(1, 2, 3), db, insert, args, sink.Resume("squares"))
		at, _ := sink.Position(ctx, db, "squares")
		var sum int
		db.QueryRow("SELECT SUM(square) FROM squares").Scan(&sum)
		fmt.Println(run, err, at, sum)
	}
	// Output:
	// 0 <nil> 3 14
	// 1 <nil> 3 14
}
