package main

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
	"github.com/seed95b73fdc/sluice/examples/internal/programtest"
)

// ask returns the number that a query finds.
func ask(t *testing.T, db, query string) (n int64) {
	t.Helper()
	tell(t, db, func(d *sql.DB) error { return d.QueryRow(query).Scan(&n) })
	return n
}

// change changes a database behind the bank's back.
func change(t *testing.T, db, statements string) {
	t.Helper()
	tell(t, db, func(d *sql.DB) error { _, err := d.Exec(statements); return err })
}

func tell(t *testing.T, db string, do func(*sql.DB) error) {
	t.Helper()
	d, err := sql.Open("sqlite", program.SQLiteSource(db, "mode=rwc"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := do(d); err != nil {
		t.Fatal(err)
	}
}

// The sums are done here once more, by the database and with nothing of the check.
func TestBankThatIsKilledAgainAndAgainCarriesOutEachOperationOnce(t *testing.T) {
	const crashes = 4
	seed := rand.Uint64()
	t.Log("-seed", seed)
	db := newDB(t)
	args := small("-db", db, "-crashes", fmt.Sprint(crashes), "-seed", fmt.Sprint(seed))
	r := call(args...)
	r.want(t, program.OK, fmt.Sprintf("of %d operations\n", operations), "each operation that was acknowledged is there once")
	if n := strings.Count(r.stdout, ", was killed\n"); n != crashes {
		t.Errorf("killed %d times, want %d:\n%s", n, crashes, r.stdout)
	}
	if !strings.Contains(r.stdout[strings.Index(r.stdout, "life 5:"):], "4 owners became 8") {
		t.Errorf("the last life had no other owners:\n%s", r.stdout)
	}
	cfg := smallConfig(t, args...)
	want, entries := 20*opening, int64(0)
	transfers := 0
	for i := range cfg.operations {
		if o := cfg.operation(i); o.kind == transfer {
			transfers++
		} else {
			want += o.amount
			entries++
		}
	}
	entries += 2 * (int64(transfers) - ask(t, db, "SELECT count(*) FROM operations WHERE refused"))
	if got := money(ask(t, db, "SELECT sum(balance) FROM accounts")); got != want {
		t.Errorf("the balances add up to %v, want %v", got, want)
	}
	if n := ask(t, db, "SELECT count(*) FROM operations"); n != int64(operations) {
		t.Errorf("%d operations in the database", n)
	}
	if n := ask(t, db, "SELECT count(*) FROM entries"); n != entries || transfers < operations/6 {
		t.Errorf("%d entries, want %d, with %d transfers", n, entries, transfers)
	}
	if n := ask(t, db, "SELECT count(*) FROM entries WHERE account = 0"); n < int64(operations/6) {
		t.Errorf("%d entries of the hot account", n)
	}
	if n := ask(t, db, "SELECT lives FROM bank"); n != crashes+2 { // and the check
		t.Errorf("%d lives", n)
	}

	again := call(args...)
	again.want(t, program.OK, fmt.Sprintf("life 1: found %d in the database, acknowledged 0 operations", operations))
}

// What is acknowledged and not carried out is found: a deposit by the sum too, and
// after a restart because it was acknowledged again.
func TestOperationThatIsLostIsFound(t *testing.T) {
	cfg := smallConfig(t)
	for kind, finding := range map[kind]string{
		deposit: "the balances add up to ", mail: "the balances add up to ", transfer: "was acknowledged and is not in the database",
	} {
		number := 0
		for cfg.operation(number).kind != kind {
			number++
		}
		lose := fmt.Sprint(number)
		r := call(small("-crashes", "0", "-lose", lose)...)
		r.want(t, program.Failed, "WRONG: operation "+lose+" was acknowledged and is not in the database")
		r.wantError(t, "the books are wrong", finding)
	}
	// With a crash behind it. It is among the first.
	r := call(small("-lose", "0")...)
	r.want(t, program.Failed, "WRONG: operation 0 was acknowledged twice")
	if r = call(small("-lose", "0", "-q")...); r.stdout != "" {
		t.Errorf("-q writes %q", r.stdout)
	}
	r.wantError(t, "the books are wrong, in ")
}

func TestDatabaseThatCannotBeUsedIsOneError(t *testing.T) {
	dir := t.TempDir()
	file := func(name, data string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	text := file("text", strings.Repeat("no database\n", 1000))
	other := filepath.Join(dir, "other.db")
	change(t, other, "CREATE TABLE clients(key TEXT)")
	for _, tt := range []struct{ db, reason string }{
		{dir, "is a directory"},
		{filepath.Join(dir, "no", "such"), "no such file"},
		{filepath.Join(text, "x"), "its folder is none"},
		{text, "not a database"},
		{other, "holds something else"},
	} {
		before, _ := os.ReadFile(tt.db)
		call(small("-db", tt.db)...).wantError(t, "bank: database "+tt.db+": ", tt.reason)
		if after, _ := os.ReadFile(tt.db); string(after) != string(before) {
			t.Errorf("%s has changed", tt.db)
		}
	}

	db := filepath.Join(dir, "bank.db")
	call(small("-db", db, "-crashes", "0")...).want(t, program.OK)
	call(small("-db", db, "-seed", "2")...).wantError(t, "is of the run -accounts 20", "-seed 1, not of", "-seed 2")

	whole, err := os.ReadFile(db)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	if len(whole) < 4*page {
		t.Fatalf("%d bytes", len(whole))
	}
	damaged := append([]byte(nil), whole...)
	for i := page; i < len(damaged); i += 3 {
		damaged[i] ^= 0x55
	}
	r := call(small("-db", file("damaged.db", string(damaged)))...)
	r.wantError(t, "bank: database ", "damaged.db: ")
	r = call(small("-db", file("cut.db", string(whole[:len(whole)-2*page])))...)
	r.wantError(t, "bank: database ", "cut.db: ")
}

func TestDatabaseThatMayNotBeWrittenIsOneError(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "bank.db")
	call(small("-db", db, "-crashes", "0")...).want(t, program.OK)
	if err := os.Chmod(db, 0o400); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(db, 0o600)
	if f, err := os.OpenFile(db, os.O_RDWR, 0); err == nil {
		f.Close()
		t.Skip("this user may write any file, so nothing can be made to fail so")
	}
	call(small("-db", db)...).wantError(t, "bank: database "+db+": ", "readonly")
}

// Two banks with the same books would each have accounts of their own.
func TestSecondBankFindsTheDatabaseLocked(t *testing.T) {
	cfg := smallConfig(t, "-db", newDB(t))
	cfg.wait = 0
	s, err := openStore(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := openStore(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "database is locked") {
		t.Errorf("%v, error %v", second, err)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
	s, err = openStore(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.close()
}

// A commit that fails ends the bank; what was not committed is carried out by the next.
func TestCommitThatFailsIsOneErrorAndLosesNothing(t *testing.T) {
	db := newDB(t)
	cfg := smallConfig(t, "-db", db)
	s, err := openStore(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.close()
	full, before := operations/2, int64(0)
	change(t, db, fmt.Sprintf(`CREATE TRIGGER full BEFORE INSERT ON operations WHEN new.number = %d
		BEGIN SELECT RAISE(ABORT, 'no room for it'); END`, full))
	for n := full % cfg.clients; n < full; n += cfg.clients {
		if cfg.operation(n).kind != mail {
			before++ // what its client has waited for
		}
	}
	call(small("-db", db, "-crashes", "0")...).wantError(t, "bank: database "+db+": ", "no room for it")
	n := ask(t, db, "SELECT count(*) FROM operations")
	if n < before || before == 0 || n >= int64(operations) { // the other clients' are a matter of batches
		t.Errorf("%d operations were committed, want at least %d", n, before)
	}
	change(t, db, "DROP TRIGGER full")
	r := call(small("-db", db, "-crashes", "0")...)
	r.want(t, program.OK, fmt.Sprintf("life 1: found %d in the database, acknowledged %d operations", n, int64(operations)-n))
}

func TestWrongFlagsAreExplained(t *testing.T) {
	for args, reason := range map[string]string{
		"-accounts 1":      "invalid value 1 for flag -accounts: it is 2 to 1000000",
		"-operations 0":    "flag -operations",
		"-clients 0":       "flag -clients",
		"-owners 1025":     "invalid value 1025 for flag -owners: it is 1 to 1024",
		"-crashes -1":      "flag -crashes",
		"-hot NaN":         "invalid value NaN for flag -hot: it is 0 to 1",
		"-hot 1.1":         "flag -hot",
		"-lose 20000":      "flag -lose",
		"-seed -1":         "flag -seed",
		"-sync maybe":      "it is yes or no",
		"-db=":             "flag -db has no value",
		"-no-such-flag":    "not defined",
		"a b":              `unexpected argument "a"`,
		"-q -owners three": "flag -owners",
	} {
		r := call(strings.Fields(args)...)
		if r.code != program.Usage || r.stdout != "" || !strings.Contains(r.stderr, reason) || !strings.Contains(r.stderr, "usage: bank") {
			t.Errorf("%s: exit code %d, stdout %q, stderr\n%s", args, r.code, r.stdout, r.stderr)
		}
	}
	if r := call("-h"); r.code != program.OK || !strings.Contains(r.stderr, "usage: bank") {
		t.Errorf("-h: %+v", r)
	}
}

// What the process with the bank is told is what was said.
func TestArgumentsOfTheBankAreThoseOfTheRun(t *testing.T) {
	cfg := smallConfig(t, "-db", newDB(t), "-hot", "0.125", "-seed", "18446744073709551615", "-sync", "yes", "-lose", "5", "-crashes", "0", "-owners", "7")
	got, err := parseFlags(cfg.args(), os.Stderr)
	got.crashes, got.quiet = cfg.crashes, cfg.quiet
	if err != nil || got != cfg {
		t.Errorf("%+v, want %+v, error %v", got, cfg, err)
	}
}

func TestFullOutputIsAnError(t *testing.T) {
	full := programtest.FullDevice(t)
	cmd := programtest.Command(t, small("-crashes", "0")...)
	var stderr strings.Builder
	cmd.Stdout, cmd.Stderr = full, &stderr
	programtest.Start(t, cmd)
	result{programtest.ExitCode(t, cmd), "", stderr.String()}.wantError(t, "write stdout: ")
}
