package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
	"github.com/seed95b73fdc/sluice/examples/internal/programtest"
)

func TestWithoutArgumentsTheSampleIsEnriched(t *testing.T) {
	r := call(nil).want(t, program.OK)
	rows := r.rows(t)
	var count [outcomes]int
	for i, row := range rows {
		switch {
		case row.Malformed != "":
			count[malformed]++
		case row.Client == nil:
			count[unknown]++
		default:
			count[enriched]++
			if row.Client["key"] != row.Host {
				t.Errorf("line %d of %s has the client of %s", i+1, row.Host, row.Client["key"])
			}
		}
	}
	if len(rows) != 200 || count[enriched] < 100 || count[unknown] < 10 || count[malformed] != 3 {
		t.Errorf("%d lines: %d enriched, %d unknown, %d malformed", len(rows), count[enriched], count[unknown], count[malformed])
	}
	want := fmt.Sprintf("logenrich: 200 lines, %d enriched, %d unknown, 3 malformed, ", count[enriched], count[unknown])
	if !strings.HasPrefix(r.stderr, want) || !strings.HasSuffix(r.stderr, " lines/s\n") || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("stderr %q, want %q", r.stderr, want)
	}
	if call(nil, "-q").want(t, program.OK).stderr != "" {
		t.Error("not silent with -q")
	}
}

// Everything that the issue of real logs brings up, in one log; each line keeps
// its place.
func TestEveryLineKeepsItsPlace(t *testing.T) {
	lines := []string{
		combinedLine(1),
		"garbage",
		combinedLine(2) + "\r",
		"",
		"caf\xe9 garbage",
		`192.0.2.3 - - ` + at + ` "GET /\"x\"" 200 5 "-" "caf` + "\xe9" + `"`,
		strings.Repeat("long ", 1000),
		`{"remote_addr":"192.0.2.1","n":1.50}`,
		`remote_addr=192.0.2.1 msg="hello"`,
		`fe80::1%eth0 - - ` + at + ` "-" 400 -`,
		"\x00\x00\x00",
		`192.0.2.9 - - ` + at + ` "GET /" 200 5`,
	}
	db := testDatabase(t, "clients.db", twoClients+`; INSERT INTO clients VALUES ('fe80::1%eth0', 'Zoned')`)
	for _, engine := range []string{"sluice", "loop", "rill"} {
		for _, batch := range []string{"1", "5", "64"} {
			r := call(strings.NewReader(strings.Join(lines, "\n")), "-in", "-", "-db", db, "-max-line", "1KiB", "-engine", engine, "-batch", batch).want(t, program.OK)
			rows := r.rows(t)
			if len(rows) != len(lines) {
				t.Fatalf("%s: %d rows of %d lines", engine, len(rows), len(lines))
			}
			name := func(i int) any { return rows[i-1].Client["name"] }
			for i, ok := range []bool{
				1:  name(1) == "One" && *rows[0].Request == "GET /1 HTTP/1.1" && rows[0].Referer == nil && rows[0].User == nil,
				2:  rows[1].Raw == "garbage" && rows[1].Malformed == "combined: no host",
				3:  name(3) == "Two" && *rows[2].Agent == "curl/8.5.0",
				4:  rows[3].Malformed == "empty line",
				5:  string(rows[4].Raw64) == lines[4] && rows[4].Malformed != "",
				6:  rows[5].Client == nil && string(rows[5].Agent64) == "caf\xe9" && *rows[5].Request == `GET /"x"`,
				7:  strings.HasPrefix(rows[6].Malformed, "line of 5000 bytes, over the limit of 1024") && rows[6].Raw == lines[6][:1024],
				8:  name(8) == "One" && string(rows[7].Fields) == lines[7],
				9:  name(9) == "One" && string(rows[8].Fields) == `{"remote_addr":"192.0.2.1","msg":"hello"}`,
				10: name(10) == "Zoned" && rows[9].Request == nil && rows[9].Bytes == nil && *rows[9].Status == 400,
				11: rows[10].Malformed == "3 NUL bytes",
				12: rows[11].Client == nil && rows[11].Malformed == "",
			} {
				if i > 0 && !ok {
					t.Errorf("%s, batch %s, line %d: %+v", engine, batch, i, rows[i-1])
				}
			}
			if !strings.Contains(r.stdout, `,"client":null}`) {
				t.Error(`an unknown client is not "client":null`)
			}
			if !strings.HasPrefix(r.stderr, "logenrich: 12 lines, 5 enriched, 2 unknown, 5 malformed, ") {
				t.Errorf("%s: summary %q", engine, r.stderr)
			}
		}
	}
}

func TestEnginesAndBatchesAndParallelismGiveTheSameBytes(t *testing.T) {
	var want string
	for _, engine := range []string{"loop", "sluice", "rill"} {
		for _, n := range []string{"1", "2", "16"} {
			for _, batch := range []string{"1", "7", "500"} {
				got := call(bytes.NewReader(sampleLog), "-in", "-", "-engine", engine, "-n", n, "-batch", batch).want(t, program.OK).stdout
				if want == "" {
					want = got
				}
				if got != want || got == "" {
					t.Errorf("-engine %s -n %s -batch %s: the output differs", engine, n, batch)
				}
			}
		}
	}
}

func TestUsersAreLookedUpWithKeyUser(t *testing.T) {
	rows := call(nil, "-key", "user").want(t, program.OK).rows(t)
	named := 0
	for _, row := range rows {
		if row.Malformed != "" {
			continue
		}
		if row.User == nil && row.Client != nil || row.Client != nil && row.Client["key"] != *row.User {
			t.Errorf("line %d: user %v, client %v", row.Line, row.User, row.Client)
		}
		if row.Client != nil {
			named++
		}
	}
	if named < 20 {
		t.Errorf("%d users found", named)
	}
	log := `{"account":"ana","user":"bjorn"}` + "\n" + `user=bjorn account=ana`
	for i, row := range call(strings.NewReader(log), "-in", "-", "-key", "user", "-field", "account").want(t, program.OK).rows(t) {
		if row.Client["name"] != "Ana Moreira" {
			t.Errorf("line %d with -field: %v", i+1, row.Client)
		}
	}
}

func TestByteOrderMarkIsNoPartOfTheFirstLine(t *testing.T) {
	for _, text := range []string{combinedLine(1), `{"ip":"192.0.2.1"}`, `ip=192.0.2.1`} {
		rows := call(strings.NewReader("\ufeff"+text), "-in", "-").want(t, program.OK).rows(t)
		if rows[0].Malformed != "" {
			t.Errorf("%s: %+v", text, rows[0])
		}
	}
}

func TestWrongFlagsPrintTheUsageAndExitWith2(t *testing.T) {
	file := testFile(t, "file", nil)
	for _, args := range []string{
		"-nonsense", "-n 0", "-n -1", "-n x", "-n 5000", "-batch 0", "-batch 5000", "-max-line 0", "-max-line -1", "-max-line 1GB",
		"-max-line 99999999999", "-max-line 2048MiB", "-format xml", "-key ip", "-zone Mars/Olympus", "-zone Local", "-zone=", "-engine conc",
		"-latency -1s", "-in=", "-out=", "-db=", "-field=", "access.log", "-q extra", "-out " + file + " -db " + file, "-in " + file + " -make-db " + file,
	} {
		r := call(nil, strings.Fields(args)...).want(t, program.Usage)
		if r.stdout != "" || !strings.Contains(r.stderr, "usage: logenrich") {
			t.Errorf("%s: stdout %q, stderr %q", args, r.stdout, r.stderr)
		}
	}
	if r := call(nil, "-h").want(t, program.OK); !strings.Contains(r.stderr, "usage: logenrich") {
		t.Errorf("-h: %q", r.stderr)
	}
}

func TestOutFileHoldsWhatStdoutWould(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.jsonl")
	if r := call(nil, "-out", out).want(t, program.OK); r.stdout != "" {
		t.Errorf("stdout %q", r.stdout)
	}
	data, err := os.ReadFile(out)
	if err != nil || string(data) != call(nil).stdout {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	// The log itself may be replaced: it has been read by then.
	log := testFile(t, "log", []byte(combinedLine(1)))
	call(nil, "-in", log, "-out", log).want(t, program.OK)
	if data, err = os.ReadFile(log); err != nil || !json.Valid(data) {
		t.Errorf("%q, %v", data, err)
	}
}

func TestMadeUpDatabaseKnowsMostClientsOfTheLogAndIsTheSameEachTime(t *testing.T) {
	dir := t.TempDir()
	log := testFile(t, "log", []byte(logOf(256)+`192.0.2.1 - ana `+at+` "-" 200 5`))
	var made [][]byte
	for _, name := range []string{"a.db", "b.db"} {
		name = filepath.Join(dir, name)
		if r := call(nil, "-in", log, "-make-db", name).want(t, program.OK); r.stdout+r.stderr != "" {
			t.Errorf("printed %q", r.stdout+r.stderr)
		}
		rows := call(nil, "-in", log, "-db", name).want(t, program.OK).rows(t)
		known := 0
		for _, row := range rows {
			if row.Client != nil {
				known++
			}
		}
		if known < 200 || known > 250 {
			t.Errorf("%d of 257 lines are enriched", known)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, data)
	}
	if !bytes.Equal(made[0], made[1]) {
		t.Error("two databases for one log differ")
	}
	programtest.WantOnly(t, dir, "a.db", "b.db")
	call(nil, "-in", dir+"/missing", "-make-db", dir+"/c.db").wantError(t, "missing")
	call(nil, "-make-db", dir+"/no/folder.db").wantError(t, "folder.db")
	stop := make(chan struct{})
	close(stop)
	env := environment{stop: stop, stdin: strings.NewReader(""), stderr: io.Discard}
	if code := run(context.Background(), []string{"-in", "-", "-make-db", dir + "/d.db"}, env); code != program.Interrupted {
		t.Errorf("stopped: exit code %d", code)
	}
	programtest.WantOnly(t, dir, "a.db", "b.db")
}

func TestSampleDatabaseIsMadeOnceAndAgainWhenDamaged(t *testing.T) {
	cache := t.TempDir()
	env := environment{stdout: io.Discard, stderr: io.Discard, cacheDir: func() (string, error) { return cache, nil }}
	dir := filepath.Join(cache, "sluice-logenrich")
	database := func() os.FileInfo {
		t.Helper()
		if code := run(context.Background(), nil, env); code != program.OK {
			t.Fatalf("exit code %d", code)
		}
		names, err := filepath.Glob(filepath.Join(dir, "sample-*.db"))
		if err != nil || len(names) != 1 {
			t.Fatal(names, err)
		}
		info, err := os.Stat(names[0])
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	first := database()
	if !os.SameFile(first, database()) {
		t.Error("made again, though it was there")
	}
	programtest.WantOnly(t, dir, first.Name(), "sample.log")
	if err := os.WriteFile(filepath.Join(dir, first.Name()), []byte("damaged"), 0o644); err != nil {
		t.Fatal(err)
	}
	if database().Size() != first.Size() {
		t.Error("not made again, though it was damaged")
	}

	// No cache folder to be had: it works all the same and leaves nothing.
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for _, cacheDir := range []func() (string, error){
		func() (string, error) { return "", errors.New("no home") },
		func() (string, error) { return filepath.Join(testFile(t, "file", nil), "cache"), nil },
	} {
		env.cacheDir = cacheDir
		if code := run(context.Background(), nil, env); code != program.OK {
			t.Errorf("exit code %d", code)
		}
		if runtime.GOOS != "windows" {
			programtest.WantOnly(t, temp)
		}
	}
}

// C142: parsed and malformed lines are all there, and goroutines do not grow
// with the log, however slowly it is taken.
func TestC142NoLineVanishesAndGoroutinesAreBounded(t *testing.T) {
	total, n := 1_000_000, 4
	if testing.Short() || programtest.RaceDetector {
		total = 100_000
	}
	good, bad := []byte(combinedLine(1)+"\n"), []byte("malformed\n")
	i := 0
	log := readerFunc(func(p []byte) (int, error) {
		if i == total {
			return 0, io.EOF
		}
		i++
		if i%100 == 0 {
			return copy(p, bad), nil
		}
		return copy(p, good), nil
	})
	in, err := openInput(stdio, log)
	if err != nil {
		t.Fatal(err)
	}
	before, most := runtime.NumGoroutine(), 0
	slow := writerFunc(func(p []byte) (int, error) {
		runtime.Gosched()
		most = max(most, runtime.NumGoroutine())
		return len(p), nil
	})
	out := newOutput(slow, "out")
	j := &job{
		src: newSource(in, 1000, 1, out), parser: newParser(config{format: formatAuto, key: keyClient, zone: time.UTC}),
		store: fakeStore{"192.0.2.1": "One"}, out: out, n: n,
	}
	if err := errors.Join(runSluice(context.Background(), j), out.flush()); err != nil {
		t.Fatal(err)
	}
	r := reportOn(out, time.Second, false)
	if r.lines != int64(total) || r.outcomes[malformed] != int64(total/100) || r.outcomes[enriched] != int64(total-total/100) {
		t.Errorf("%v, of %d", r, total)
	}
	if extra := most - before; extra < 1 || extra > n+8 {
		t.Errorf("%d goroutines for %d lookups at once", extra, n)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
