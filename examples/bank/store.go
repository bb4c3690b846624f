package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

// lockWait is how long a database may be locked by somebody else.
const lockWait = 2 * time.Second

// schema holds the books. Its keys are what makes a second application of an
// operation an error.
const schema = `
CREATE TABLE bank(plan TEXT NOT NULL, lives INTEGER NOT NULL);
CREATE TABLE accounts(id INTEGER PRIMARY KEY, balance INTEGER NOT NULL, seq INTEGER NOT NULL);
CREATE TABLE operations(number INTEGER PRIMARY KEY, refused INTEGER NOT NULL);
CREATE TABLE entries(account INTEGER, seq INTEGER, operation INTEGER NOT NULL, amount INTEGER NOT NULL,
	balance INTEGER NOT NULL, PRIMARY KEY(account, seq)) WITHOUT ROWID;`

// A store is the books on disk. It is the only one that has the file open: the lock is
// held until it is closed, or its process ends.
type store struct {
	name string
	db   *sql.DB // one connection
}

// openStore opens the file cfg.db, or makes it with the accounts of the plan. It fails if it
// holds something else, is damaged, or is locked.
func openStore(ctx context.Context, cfg config) (_ *store, err error) {
	name := cfg.db
	if info, err := os.Stat(filepath.Dir(name)); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("database %s: its folder is none", name)
	} else if err != nil {
		return nil, program.ReasonFor("database "+name, err)
	}
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("database %s: is a directory", name)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, program.ReasonFor("database "+name, err)
	}
	db, err := sql.Open("sqlite", program.SQLiteSource(name, fmt.Sprintf("mode=rwc&_txlock=immediate&_busy_timeout=%d", cfg.wait.Milliseconds())))
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", name, err)
	}
	db.SetMaxOpenConns(1)
	s := &store{name, db}
	// Exclusive before WAL: so the log has no shared memory, and one bank no second.
	// WAL changes the file: so it has to be ours.
	for _, step := range []func() error{
		func() error { return s.pragma(ctx, "locking_mode=EXCLUSIVE") },
		func() error { return s.checkOurs(ctx) },
		func() error { return s.pragma(ctx, "journal_mode=WAL") },
		func() error { return s.pragma(ctx, "synchronous="+string(cfg.durable)) },
		func() error { return s.begin(ctx, cfg.plan) },
	} {
		if err = step(); err != nil {
			break
		}
	}
	if err != nil {
		db.Close()
		return nil, s.failed(err)
	}
	return s, nil
}

func (s *store) pragma(ctx context.Context, pragma string) error {
	_, err := s.db.ExecContext(ctx, "PRAGMA "+pragma)
	return err
}

// checkOurs reports an error if the database has tables, and none of a bank.
func (s *store) checkOurs(ctx context.Context) error {
	var tables, ours int
	err := s.db.QueryRowContext(ctx, "SELECT count(*), count(*) FILTER (WHERE name = 'bank') FROM sqlite_schema").Scan(&tables, &ours)
	if err == nil && tables > 0 && ours == 0 {
		err = errors.New("holds something else than a bank")
	}
	return err
}

// begin takes the lock, and makes the books if there are none.
func (s *store) begin(ctx context.Context, p plan) error {
	return s.transaction(ctx, func(tx *sql.Tx) error {
		var tables int
		err := tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables)
		switch {
		case err != nil:
			return err
		case tables == 0:
			return create(ctx, tx, p)
		}
		var sound, of string
		if err := tx.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&sound); err != nil {
			return err
		}
		if sound != "ok" {
			return fmt.Errorf("is damaged: %s", sound)
		}
		if err := tx.QueryRowContext(ctx, "SELECT plan FROM bank").Scan(&of); err != nil {
			return err
		}
		if of != p.String() {
			return fmt.Errorf("is of the run %s, not of %v", of, p)
		}
		_, err = tx.ExecContext(ctx, "UPDATE bank SET lives = lives + 1")
		return err
	})
}

func create(ctx context.Context, tx *sql.Tx, p plan) error {
	if _, err := tx.ExecContext(ctx, schema); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO bank VALUES(?, 1)", p.String()); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `WITH RECURSIVE ids(id) AS (SELECT 0 UNION ALL SELECT id+1 FROM ids WHERE id+1 < ?)
		INSERT INTO accounts SELECT id, ?, 0 FROM ids`, p.accounts, int64(opening))
	return err
}

// applied calls f for each operation that is in the books.
func (s *store) applied(ctx context.Context, f func(number int, o outcome)) error {
	return s.query(ctx, "SELECT number, refused FROM operations ORDER BY number", func(rows *sql.Rows) error {
		var number, refused int
		if err := rows.Scan(&number, &refused); err != nil {
			return err
		}
		f(number, outcome(refused))
		return nil
	})
}

// load reads an account.
func (s *store) load(ctx context.Context, id int) (account, error) {
	a := account{id: id}
	err := s.db.QueryRowContext(ctx, "SELECT balance, seq FROM accounts WHERE id = ?", id).Scan(&a.balance, &a.seq)
	return a, s.failed(err)
}

// write books the records in one transaction: all of them or none.
func (s *store) write(ctx context.Context, records []record) error {
	return s.failed(s.transaction(ctx, func(tx *sql.Tx) error {
		for _, r := range records {
			if _, err := tx.ExecContext(ctx, "INSERT INTO operations VALUES(?, ?)", r.number, r.outcome); err != nil {
				return err
			}
			for _, e := range r.entries {
				if _, err := tx.ExecContext(ctx, "INSERT INTO entries VALUES(?, ?, ?, ?, ?)", e.id, e.seq, r.number, int64(e.amount), int64(e.balance)); err != nil {
					return err
				}
				if _, err := tx.ExecContext(ctx, "UPDATE accounts SET balance = ?, seq = ? WHERE id = ?", int64(e.balance), e.seq, e.id); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

func (s *store) transaction(ctx context.Context, do func(tx *sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// query calls f for each row.
func (s *store) query(ctx context.Context, query string, f func(rows *sql.Rows) error) error {
	rows, err := s.db.QueryContext(ctx, query)
	if err != nil {
		return s.failed(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return s.failed(err)
		}
	}
	return s.failed(rows.Err())
}

// failed names the database in an error, on one line.
func (s *store) failed(err error) error {
	if err == nil {
		return nil
	}
	prefix := "database " + s.name + ": "
	if strings.HasPrefix(err.Error(), prefix) {
		return err
	}
	return fmt.Errorf("%s%w", prefix, err)
}

func (s *store) close() error { return s.failed(s.db.Close()) }
