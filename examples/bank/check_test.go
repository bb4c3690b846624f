package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// carriedOut runs a bank in this process, and returns what was told.
func carriedOut(t *testing.T, cfg config) *told {
	t.Helper()
	lifeline := make(blocking)
	var out bytes.Buffer
	w := &untilDone{w: &out, done: func() { close(lifeline) }}
	if code := live(cfg, lifeline, w); code != 0 {
		t.Fatalf("exit code %d: %s", code, &out)
	}
	k := &keeper{cfg: cfg, told: newTold(cfg.operations), past: make([]life, 1)}
	if err := k.hear(&out, 0, nil, nopCloser{}); err != nil {
		t.Fatal(err)
	}
	if n := k.told.count(); n != cfg.operations {
		t.Fatalf("%d operations were acknowledged, want %d", n, cfg.operations)
	}
	return k.told
}

// blocking is a reader that ends when it is closed.
type blocking chan struct{}

func (b blocking) Read([]byte) (int, error) {
	<-b
	return 0, io.EOF
}

// untilDone calls done at the message that says so.
type untilDone struct {
	w    *bytes.Buffer
	done func()
}

func (u *untilDone) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(`"done":true`)) {
		u.done()
	}
	return u.w.Write(p)
}

type nopCloser struct{}

func (nopCloser) Close() error { return nil }

// Each fault that is planted in good books is found, and nothing is before.
func TestCheckFindsWhatIsWrong(t *testing.T) {
	cfg := smallConfig(t, "-db", newDB(t))
	told := carriedOut(t, cfg)
	check := func(words string) {
		t.Helper()
		s, err := openStore(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		b, err := readBooks(t.Context(), s, cfg.plan, told)
		if err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(b.wrong, "\n"); all == "" != (words == "") || !strings.Contains(all, words) {
			t.Errorf("found %q, want %q", all, words)
		}
	}
	check("")
	// Two operations of one client on one page.
	const (
		twins = `(SELECT a.account, a.seq AS s, b.seq AS t, a.operation AS p, b.operation AS q FROM entries a JOIN entries b
			ON a.account = b.account AND a.seq < b.seq AND a.operation % 16 = b.operation % 16 LIMIT 1)`
	)
	for _, tt := range []struct{ fault, undo, finding string }{
		{"UPDATE accounts SET balance = balance + 1 WHERE id = 3", "UPDATE accounts SET balance = balance - 1 WHERE id = 3", "the balances add up to "},
		{"UPDATE accounts SET balance = balance + CASE id WHEN 3 THEN 1 ELSE -1 END WHERE id IN (3, 4)",
			"UPDATE accounts SET balance = balance - CASE id WHEN 3 THEN 1 ELSE -1 END WHERE id IN (3, 4)", "account 3 has "},
		{"UPDATE accounts SET seq = seq + 1 WHERE id = 3", "UPDATE accounts SET seq = seq - 1 WHERE id = 3", "account 3 has "},
		{"INSERT INTO accounts VALUES(20, 0, 0)", "DELETE FROM accounts WHERE id = 20", "account 20 is not of the plan"},
		{"INSERT INTO operations VALUES(5000, 0)", "DELETE FROM operations WHERE number = 5000", "operation 5000 is not of the plan"},
		{"INSERT INTO entries VALUES(21, 1, 5, 1, 1)", "DELETE FROM entries WHERE account = 21", "on account 21 is not of the plan"},
		{"UPDATE operations SET number = 1000 WHERE number = 77", "UPDATE operations SET number = 77 WHERE number = 1000", "operation 77 was acknowledged and is not in the database"},
		{"UPDATE operations SET refused = 1 - refused WHERE number = 77", "UPDATE operations SET refused = 1 - refused WHERE number = 77", "operation 77 was acknowledged and is not"},
		{"UPDATE entries SET balance = -1 WHERE account = 0 AND seq = 9", "UPDATE entries SET balance = amount + (SELECT balance FROM entries WHERE account = 0 AND seq = 8) WHERE account = 0 AND seq = 9", "account 0: entry 9"},
		{"UPDATE entries SET seq = 10000 WHERE account = 0 AND seq = 9", "UPDATE entries SET seq = 9 WHERE account = 0 AND seq = 10000", "account 0: entry 10"},
		{"CREATE TABLE kept AS SELECT * FROM entries WHERE account = 0 AND seq = 9; DELETE FROM entries WHERE account = 0 AND seq = 9",
			"INSERT INTO entries SELECT * FROM kept; DROP TABLE kept", " entries, want "},
		// An order that the numbers on the page do not show.
		{"CREATE TABLE pair AS SELECT * FROM " + twins + "; UPDATE entries SET operation = (SELECT p + q FROM pair) - operation WHERE (account, seq) IN (SELECT account, s FROM pair UNION SELECT account, t FROM pair)",
			"UPDATE entries SET operation = (SELECT p + q FROM pair) - operation WHERE (account, seq) IN (SELECT account, s FROM pair UNION SELECT account, t FROM pair); DROP TABLE pair", " stands behind its operation "},
	} {
		change(t, cfg.db, tt.fault)
		check(tt.finding)
		change(t, cfg.db, tt.undo)
		check("")
	}

	// What nobody was told, and what was said twice.
	told.state[5], told.n = nothing, told.n-1
	check("operation 5 is in the database, and nobody was told")
	told.state[5] = wasDone
	told.ack(5, done)
	check("operation 5 was acknowledged twice")
}
