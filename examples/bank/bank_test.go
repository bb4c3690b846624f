package main

import (
	"strings"
	"testing"
)

// mails returns a plan whose operations are all deposits by mail on one account, each
// of a client of its own.
func mails(t *testing.T, operations int) config {
	t.Helper()
	cfg := smallConfig(t, "-db", newDB(t))
	cfg.operations, cfg.clients, cfg.hot = operations, operations, 1
	for cfg.seed = 0; ; cfg.seed++ {
		n := 0
		for n < operations && cfg.operation(n).kind == mail {
			n++
		}
		if n == operations {
			return cfg
		}
	}
}

// Clients that have sent their mail are done; the bank is not.
func TestMailIsCarriedOutThoughNobodyWaitsForIt(t *testing.T) {
	cfg := mails(t, 6)
	told := carriedOut(t, cfg)
	if told.count() != 6 || ask(t, cfg.db, "SELECT count(*) FROM entries WHERE account = 0") != 6 {
		t.Errorf("%d of 6 operations", told.count())
	}
}

// Else the later one of a client would come before the earlier one, in the next life.
func TestNothingIsCarriedOutBehindACommitThatFailed(t *testing.T) {
	cfg := mails(t, 3)
	s, err := openStore(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Exec(`CREATE TRIGGER full BEFORE INSERT ON operations WHEN new.number = 0
		BEGIN SELECT RAISE(ABORT, 'no room for it'); END`); err != nil {
		t.Fatal(err)
	}
	failed := 0
	b := newBank(cfg, s, func(number int, _ outcome) { t.Errorf("operation %d was acknowledged", number) }, func(error) { failed++ })
	for i := range cfg.operations {
		if err := b.carryOut(t.Context(), cfg.operation(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.owners.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "no room for it") || failed != 1 {
		t.Errorf("error %v, %d commits failed", err, failed)
	}
	if err := b.close(); err != nil {
		t.Error(err)
	}
	if n := ask(t, cfg.db, "SELECT count(*) FROM operations"); n != 0 {
		t.Errorf("%d operations are in the database", n)
	}
}
