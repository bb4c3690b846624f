package sink

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"

	"github.com/seed95b73fdc/sluice/stage"
)

// SQLOption sets a property of SQL.
type SQLOption func(*sqlConfig)

type sqlConfig struct {
	batch int
	job   string
	from  int64 // how many of the job's values the stream leaves out
}

// Batch is how many values at most go into one transaction, 500 if not given, at
// least 1. What is there when a transaction begins goes into it, up to that.
func Batch(values int) SQLOption {
	stage.CheckSize("sink.Batch", "values", values, 1)
	return func(c *sqlConfig) { c.batch = values }
}

// Resume makes a run go on where the last one of the same job has stopped: each
// transaction also stores how many values of the stream are in, in the table
// sluice_position, which is made if it is not there; and a run skips as many
// values as that says. So the values of a stream that is the same in every run,
// from its beginning, are in the database exactly once, however often a run was
// cancelled, killed, or failed. A source that can begin in the middle asks
// Position, and Resumed says that it did.
//
// job is one to 200 letters, digits, and "_", ".", ":", "/", "-"; others panic.
func Resume(job string) SQLOption {
	if !jobName.MatchString(job) {
		panic(fmt.Sprintf("sink.Resume: job is %q, want 1 to 200 letters, digits or _.:/-", job))
	}
	return func(c *sqlConfig) { c.job = job }
}

// Resumed is Resume for a stream that begins behind the values that Position has
// told of: items is where it begins. A position before that, when the run begins,
// is ErrPosition, for there would be a gap; up to a later one, values are skipped.
func Resumed(job string, items int64) SQLOption {
	resume := Resume(job)
	if items < 0 {
		panic(fmt.Sprintf("sink.Resumed: items is %d, want at least 0", items))
	}
	return func(c *sqlConfig) {
		resume(c)
		c.from = items
	}
}

var jobName = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,200}$`)

const (
	defaultBatch = 500

	createPositions = "CREATE TABLE IF NOT EXISTS sluice_position (job VARCHAR(200) NOT NULL PRIMARY KEY, items BIGINT NOT NULL)"
	selectPosition  = "SELECT items FROM sluice_position WHERE job = '%s'"
	insertPosition  = "INSERT INTO sluice_position (job, items) VALUES ('%s', %d)"
	updatePosition  = "UPDATE sluice_position SET items = %d WHERE job = '%s' AND items = %d"
)

// SQL runs in and executes insert for each value, in order, with the arguments
// that args makes of it. It is prepared once for each transaction, and a
// transaction holds as many values as were there when it began, up to Batch: one
// while they come slowly, more while the database is slower than they come.
//
// It returns when all is committed, or the first error of in, in order: what comes
// before it is committed. When a statement or a commit fails, the transaction is
// rolled back: of its values none is in, of those before it all. Cancelled, it
// returns the cause, and what was not committed yet is rolled back. A commit that
// was under way when the connection broke may have happened or not; with Resume
// the next run knows.
//
// What is committed survives what the database says that it survives. Without
// Resume, a run that is repeated inserts everything again.
func SQL[T any](ctx context.Context, in stage.Stream[T], db *sql.DB, insert string, args func(T) []any, opts ...SQLOption) error {
	return end(ctx, sqlStream("sink.SQL", in, db, insert, args, opts))
}

// SQLTo is SQL as an end of a run that has several; see [stage.Run].
func SQLTo[T any](in stage.Stream[T], db *sql.DB, insert string, args func(T) []any, opts ...SQLOption) stage.Sink {
	return sinkOf(sqlStream("sink.SQLTo", in, db, insert, args, opts), "sql")
}

func sqlStream[T any](fn string, in stage.Stream[T], db *sql.DB, insert string, args func(T) []any, opts []SQLOption) stage.Stream[struct{}] {
	stage.CheckFunc(fn, "db", db == nil)
	stage.CheckFunc(fn, "args", args == nil)
	stage.CheckSize(fn, "length of insert", len(insert), 1)
	c := sqlConfig{batch: defaultBatch}
	for _, o := range opts {
		stage.CheckFunc(fn, "option", o == nil)
		o(&c)
	}
	return drainIn(in, c.batch, func(s *stage.Scope) target[T] {
		return &sqlTarget[T]{scope: s, db: db, insert: insert, args: args, conf: c}
	})
}

// Position is how many values of a stream the runs of a job have committed, 0 if
// there was none; see Resume.
func Position(ctx context.Context, db *sql.DB, job string) (items int64, err error) {
	stage.CheckFunc("sink.Position", "db", db == nil)
	Resume(job)
	if _, err := db.ExecContext(ctx, createPositions); err != nil {
		return 0, fmt.Errorf("sink: position of %s: %w", job, err)
	}
	err = db.QueryRowContext(ctx, fmt.Sprintf(selectPosition, job)).Scan(&items)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("sink: position of %s: %w", job, err)
	}
	return items, nil
}

type sqlTarget[T any] struct {
	scope  *stage.Scope
	db     *sql.DB
	insert string
	args   func(T) []any
	conf   sqlConfig

	begun    bool
	fresh    bool  // the job has no row yet
	position int64 // values of the stream that are committed
	skip     int64 // of those, how many are still to come
}

// put commits the values in one transaction.
func (t *sqlTarget[T]) put(values []T) (over bool, err error) {
	ctx := t.scope.Context()
	if err := t.begin(ctx); err != nil {
		return false, err
	}
	skipped := min(t.skip, int64(len(values)))
	t.skip -= skipped
	if values = values[skipped:]; len(values) == 0 {
		return false, nil
	}
	tx, err := t.db.BeginTx(ctx, nil)
	if err != nil {
		return false, fmt.Errorf("sink: sql: %w", err)
	}
	if err := t.fill(ctx, tx, values); err != nil {
		return false, errors.Join(fmt.Errorf("sink: sql: values %d to %d of the stream: %w", t.position, t.position+int64(len(values))-1, err), rollback(tx))
	}
	if err := tx.Commit(); err != nil {
		return false, fmt.Errorf("sink: sql: commit: %w", err)
	}
	t.position += int64(len(values))
	t.fresh = false
	return false, nil
}

// begin reads where to go on.
func (t *sqlTarget[T]) begin(ctx context.Context) error {
	if t.begun || t.conf.job == "" {
		return nil
	}
	t.begun = true
	items, err := Position(ctx, t.db, t.conf.job)
	if err != nil {
		return err
	}
	if items < t.conf.from {
		return fmt.Errorf("%w: it is %d, the stream begins at %d", ErrPosition, items, t.conf.from)
	}
	t.position, t.skip, t.fresh = items, items-t.conf.from, items == 0
	return nil
}

func (t *sqlTarget[T]) fill(ctx context.Context, tx *sql.Tx, values []T) (err error) {
	stmt, err := tx.PrepareContext(ctx, t.insert)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	for _, v := range values {
		if _, err := stmt.ExecContext(ctx, t.args(v)...); err != nil {
			return err
		}
	}
	if t.conf.job == "" {
		return nil
	}
	return t.move(ctx, tx, t.position+int64(len(values)))
}

// move stores the position in the transaction, unless somebody else has.
func (t *sqlTarget[T]) move(ctx context.Context, tx *sql.Tx, to int64) error {
	if t.fresh {
		_, err := tx.ExecContext(ctx, fmt.Sprintf(insertPosition, t.conf.job, to))
		return err
	}
	r, err := tx.ExecContext(ctx, fmt.Sprintf(updatePosition, to, t.conf.job, t.position))
	if err != nil {
		return err
	}
	switch n, err := r.RowsAffected(); {
	case err != nil:
		return err
	case n != 1:
		return ErrPosition
	}
	return nil
}

func rollback(tx *sql.Tx) error {
	if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return err
	}
	return nil
}

func (t *sqlTarget[T]) flush() error { return nil }
func (t *sqlTarget[T]) release()     {}
