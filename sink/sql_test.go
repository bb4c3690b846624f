package sink

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// base is a database that knows the statements of SQL, and of which operation
// number failAt fails. A commit that fails may have happened.
type base struct {
	mu        sync.Mutex
	rows      []int64
	positions map[string]int64
	ops       int
	failAt    int
	failed    string
	commits   int
	open      int // transactions
	slow      time.Duration
	lost      bool // a failed commit has happened all the same
}

func newBase() (*base, *sql.DB) {
	b := &base{positions: map[string]int64{}}
	return b, sql.OpenDB(b)
}

func (b *base) step(op string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ops++; b.ops == b.failAt {
		b.failed = op
		return fmt.Errorf("%s: %w", op, errDisk)
	}
	return nil
}

func (b *base) Connect(context.Context) (driver.Conn, error) {
	return &baseConn{b: b}, b.step("connect")
}
func (b *base) Driver() driver.Driver { return nil }

// baseConn is a connection, with what its transaction has yet to commit.
type baseConn struct {
	b     *base
	inTx  bool
	rows  []int64
	moves map[string]int64
}

func (c *baseConn) Prepare(q string) (driver.Stmt, error) {
	return &baseStmt{c, q}, c.b.step("prepare")
}
func (c *baseConn) Close() error { return nil }

func (c *baseConn) Begin() (driver.Tx, error) {
	if err := c.b.step("begin"); err != nil {
		return nil, err
	}
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	c.b.open++
	c.inTx, c.rows, c.moves = true, nil, map[string]int64{}
	return c, nil
}

func (c *baseConn) Commit() error {
	time.Sleep(c.b.slow)
	err := c.b.step("commit")
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	c.b.open--
	c.inTx = false
	if err == nil || c.b.lost {
		c.b.commits++
		c.b.rows = append(c.b.rows, c.rows...)
		for job, n := range c.moves {
			c.b.positions[job] = n
		}
	}
	return err
}

func (c *baseConn) Rollback() error {
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	c.b.open--
	c.inTx = false
	return nil
}

type baseStmt struct {
	c *baseConn
	q string
}

func (s *baseStmt) Close() error  { return s.c.b.step("close statement") }
func (s *baseStmt) NumInput() int { return -1 }

func (s *baseStmt) Exec(args []driver.Value) (driver.Result, error) {
	if err := s.c.b.step("exec"); err != nil {
		return nil, err
	}
	s.c.b.mu.Lock()
	defer s.c.b.mu.Unlock()
	var job string
	var to, from int64
	switch q := strings.NewReplacer("'", " ", ",", " ", "(", " ", ")", " ").Replace(s.q); {
	case strings.HasPrefix(s.q, "CREATE"):
	case s.q == "INSERT":
		s.c.rows = append(s.c.rows, args[0].(int64))
	case scans(q, "INSERT INTO sluice_position  job  items  VALUES   %s   %d", &job, &to):
		if _, there := s.c.b.positions[job]; there {
			return nil, errors.New("not unique")
		}
		s.c.moves[job] = to
	case scans(q, "UPDATE sluice_position SET items = %d WHERE job =  %s  AND items = %d", &to, &job, &from):
		if s.c.b.positions[job] != from {
			return driver.RowsAffected(0), nil
		}
		s.c.moves[job] = to
	default:
		return nil, fmt.Errorf("unknown statement %q", s.q)
	}
	return driver.RowsAffected(1), nil
}

func scans(text, format string, into ...any) bool {
	n, err := fmt.Sscanf(text, format, into...)
	return err == nil && n == len(into)
}

func (s *baseStmt) Query([]driver.Value) (driver.Rows, error) {
	if err := s.c.b.step("query"); err != nil {
		return nil, err
	}
	s.c.b.mu.Lock()
	defer s.c.b.mu.Unlock()
	n, there := s.c.b.positions[strings.Split(s.q, "'")[1]]
	return &baseRows{n, there}, nil
}

type baseRows struct {
	n    int64
	more bool
}

func (*baseRows) Columns() []string { return []string{"items"} }
func (*baseRows) Close() error      { return nil }

func (r *baseRows) Next(dst []driver.Value) error {
	if !r.more {
		return io.EOF
	}
	dst[0], r.more = r.n, false
	return nil
}

func upTo(n int) []int64 {
	s := make([]int64, n)
	for i := range s {
		s[i] = int64(i)
	}
	return s
}

func one(v int64) []any { return []any{v} }

// wantRows checks that the rows are 0 to n-1, in order, each once.
func wantRows(t *testing.T, b *base, n int) {
	t.Helper()
	if len(b.rows) != n || b.open != 0 {
		t.Fatalf("%d rows, want %d; %d transactions open", len(b.rows), n, b.open)
	}
	for i, v := range b.rows {
		if v != int64(i) {
			t.Fatalf("row %d is %d", i, v)
		}
	}
}

func TestSQLInsertsInOrderInBatches(t *testing.T) {
	b, db := newBase()
	defer db.Close()
	ok(t, SQL(t.Context(), stage.FromSlice(upTo(10_000)), db, "INSERT", one, Batch(1000)))
	wantRows(t, b, 10_000)
	if b.commits < 10 || b.commits > 40 {
		t.Errorf("%d transactions", b.commits)
	}
	ok(t, SQL(t.Context(), stage.Of[int64](), db, "INSERT", one))
	wantRows(t, b, 10_000)
}

// Each operation of the database fails once, a commit also after it has happened.
// The run returns the error; of the failed batch all values are in or none; and a
// run that resumes makes it whole, with every value once.
func TestSQLResumesAfterEachFault(t *testing.T) {
	const n = 60
	seen := map[string]int{}
	for _, lost := range []bool{false, true} {
		for at := 1; ; at++ {
			b, db := newBase()
			b.failAt, b.lost = at, lost
			in := stage.FromSlice(upTo(n))
			err := SQL(t.Context(), in, db, "INSERT", one, Batch(25), Resume("job/1"))
			if b.failed == "" {
				ok(t, err)
				db.Close()
				break
			}
			seen[b.failed]++
			if !errors.Is(err, errDisk) && b.failed != "close statement" { // which database/sql keeps to itself
				t.Errorf("operation %d, %s: %v", at, b.failed, err)
			}
			wantRows(t, b, len(b.rows))
			if b.positions["job/1"] != int64(len(b.rows)) {
				t.Errorf("operation %d, %s: position %d, %d rows", at, b.failed, b.positions["job/1"], len(b.rows))
			}
			if at%2 == 0 { // the source begins at the beginning, or where it is to
				ok(t, SQL(t.Context(), in, db, "INSERT", one, Resume("job/1")))
			} else {
				from := must[int64](t)(Position(t.Context(), db, "job/1"))
				ok(t, SQL(t.Context(), stage.FromSlice(upTo(n)[from:]), db, "INSERT", one, Resumed("job/1", from)))
			}
			wantRows(t, b, n)
			db.Close()
		}
	}
	t.Log(seen)
	for _, op := range []string{"connect", "begin", "prepare", "exec", "query", "commit", "close statement"} {
		if seen[op] == 0 {
			t.Errorf("%s never failed", op)
		}
	}
}

func TestSQLErrorOfTheStreamComesAfterWhatStandsBeforeIt(t *testing.T) {
	b, db := newBase()
	defer db.Close()
	bad := errors.New("bad")
	in := stage.Concat(stage.FromSlice(upTo(70)), stage.Failed[int64](bad), stage.Of[int64](70))
	if err := SQL(t.Context(), in, db, "INSERT", one); !errors.Is(err, bad) {
		t.Error(err)
	}
	wantRows(t, b, 70)
}

func TestSQLTwoRunsOfOneJobDoNotInsertTwice(t *testing.T) {
	b, db := newBase()
	defer db.Close()
	ok(t, SQL(t.Context(), stage.FromSlice(upTo(10)), db, "INSERT", one, Resume("j")))
	late := stage.Generate(func(_ context.Context, yield func(int64) bool) error {
		for i := range int64(20) {
			if i == 15 { // somebody else has gone on
				b.mu.Lock()
				b.positions["j"] = 18
				b.mu.Unlock()
			}
			if !yield(i) {
				break
			}
		}
		return nil
	})
	if err := SQL(t.Context(), late, db, "INSERT", one, Resume("j")); !errors.Is(err, ErrPosition) {
		t.Error(err)
	}
	wantRows(t, b, len(b.rows))
	gap := SQL(t.Context(), stage.Of[int64](40), db, "INSERT", one, Resumed("j", 40))
	if !errors.Is(gap, ErrPosition) {
		t.Errorf("a gap: %v", gap)
	}
}

// What comes while a transaction is under way goes into the next one together; what
// comes slowly does not wait for more. P6: a cancelled run has no open transaction.
func TestSQLBatchesWhatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, db := newBase()
		b.slow = 100 * time.Millisecond
		ctx, cancel := context.WithCancel(t.Context())
		in := stage.Generate(func(ctx context.Context, yield func(int64) bool) error {
			for i := int64(0); yield(i); i++ {
				time.Sleep(time.Second)
			}
			return nil
		})
		ended := make(chan error, 1)
		go func() { ended <- SQL(ctx, in, db, "INSERT", one) }()
		time.Sleep(5*time.Second + b.slow + 1)
		synctest.Wait()
		b.mu.Lock()
		rows, commits := len(b.rows), b.commits
		b.mu.Unlock()
		if rows != 6 || commits != 6 {
			t.Errorf("%d rows in %d transactions", rows, commits)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		wantRows(t, b, 6)
		db.Close()
	})
}
