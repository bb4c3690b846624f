package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

func TestWithoutArgumentsNinetyDaysAreCompared(t *testing.T) {
	r := trial{}.call().want(t, program.OK)
	rows := r.rows(t)
	if len(rows) != 90 || !strings.HasPrefix(rows[0], "2026-01-01 ") || !strings.HasPrefix(rows[89], "2026-03-31 ") {
		t.Fatalf("%d rows:\n%s", len(rows), r.stdout)
	}
	for i, row := range rows {
		if fields := strings.Fields(row); fields[0] != (testSpan.first+date(i)).String() || i > 0 && len(fields) != 10 {
			t.Errorf("row %d: %q", i, row)
		}
	}
	if !strings.HasPrefix(r.stderr, "timeseries: 90 days, 0 missing, ") || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("stderr %q", r.stderr)
	}
	if r := (trial{}).call("-q", "-days", "2", "-n", "1"); r.stderr != "" || len(r.rows(t)) != 2 {
		t.Errorf("with -q: stderr %q", r.stderr)
	}
}

// The data are made up, but always the same; so is the chart. How many days are
// downloaded at once, and what fails on the way, makes no difference.
func TestOutputIsTheSameInEveryRun(t *testing.T) {
	dir := t.TempDir()
	chart := filepath.Join(dir, "trend.svg")
	synctest.Test(t, func(t *testing.T) {
		args := []string{"-rows", "200", "-days", "40", "-missing", "2026-01-20", "-chart", chart, "-retries", "50"}
		var table, drawing string
		for _, more := range [][]string{{"-n", "8"}, {"-n", "8"}, {"-n", "1"}, {"-n", "40"}, {"-n", "3", "-fail-rate", "0.5"}} {
			r := trial{jitter: jitter}.call(append(more, args...)...).want(t, program.OK)
			data, err := os.ReadFile(chart)
			if err != nil {
				t.Fatal(err)
			}
			if table == "" {
				table, drawing = r.stdout, string(data)
			}
			if r.stdout != table {
				t.Errorf("%v: the table is another one:\n%s\n%s", more, r.stdout, table)
			}
			if string(data) != drawing {
				t.Errorf("%v: the chart is another one", more)
			}
		}
	})
}

// A small series, every figure of which can be checked by hand.
func TestTableOfASmallSeries(t *testing.T) {
	days := map[string][]byte{
		"2026-03-01": fileOf(mustDate("2026-03-01"), 100, -50),
		"2026-03-02": fileOf(mustDate("2026-03-02"), 80, 50, 1200),
		"2026-03-04": packed("account,note,amount,time\nb,x,1.5,2026-03-04T00:00:00Z\n\"b\",\"a,\"\"\",-0.25,2026-03-04T23:59:59.9Z\nnobody\n"),
		"2026-03-05": packed("time,account,amount\n"),
		"2026-03-06": fileOf(mustDate("2026-03-06"), 7),
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file, ok := days[dateOfRequest(r).String()]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Write(file)
	})
	synctest.Test(t, func(t *testing.T) {
		r := trial{handler: handler}.call("-from", "2026-03-01", "-days", "6", "-top", "2").want(t, program.OK)
		const want = `date        transactions    change            volume    change   accounts      new     gone  changed most
2026-03-01             2                      150.00                    2
2026-03-02             3    +50.0%          1,330.00   +786.7%          3        1        0  c +1,200.00 a -20.00
2026-03-03  missing: 404 Not Found (1 attempt)
2026-03-04             2    -33.3%              1.75    -99.9%          1        0        2  c -1,200.00 a -80.00 (against 2026-03-02) (1 row left out: line 4: 1 field, not 4)
2026-03-05             0   -100.0%              0.00   -100.0%          0        0        1  b -1.75
2026-03-06             1       new              7.00       new          1        1        0  a +7.00
`
		if r.stdout != want {
			t.Errorf("table:\n%swant:\n%s", r.stdout, want)
		}
		if want := "timeseries: 6 days, 1 missing, 8 transactions, 0 retries, 0.00 s\n"; r.stderr != want {
			t.Errorf("stderr %q, want %q", r.stderr, want)
		}
	})
}

func TestExitCodeOfMissingDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		args := []string{"-rows", "10", "-days", "3", "-missing", "2026-01-02"}
		trial{}.call(args...).want(t, program.OK)
		r := trial{}.call(append(args, "-strict", "-q")...).wantError(t, "1 day missing", "2026-01-02: 404 Not Found")
		if len(r.rows(t)) != 3 {
			t.Errorf("table:\n%s", r.stdout)
		}
		chart := filepath.Join(t.TempDir(), "trend.svg")
		r = trial{}.call("-days", "2", "-missing", "2026-01-02,2026-01-01", "-chart", chart).wantError(t, errNoDay.Error(), "2026-01-01: 404 Not Found (1 attempt)")
		if len(r.rows(t)) != 2 {
			t.Errorf("table:\n%s", r.stdout)
		}
		if _, err := os.Stat(chart); err == nil {
			t.Error("a chart of nothing")
		}
	})
}

// The first interrupt begins no further day, and finishes those that were begun.
func TestFirstInterruptFinishesWhatWasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		var requests atomic.Int32
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			time.Sleep(time.Second)
			if dateOfRequest(r) == testSpan.first+5 && requests.Load() < 8 {
				http.Error(w, "", http.StatusBadGateway) // is tried again all the same
				return
			}
			w.Write(fileOf(dateOfRequest(r), 1))
		})
		time.AfterFunc(1500*time.Millisecond, func() { close(stop) })
		chart := filepath.Join(t.TempDir(), "trend.png")
		r := trial{handler: handler, stop: stop}.call("-n", "4", "-chart", chart).want(t, program.Interrupted)
		// 4 in the first second; then the day before takes a slot.
		if rows := r.rows(t); len(rows) != 7 || strings.Contains(r.stdout, "missing") {
			t.Errorf("%d rows:\n%s", len(rows), r.stdout)
		}
		if got := requests.Load(); got != 8 {
			t.Errorf("%d requests, want 8", got)
		}
		const want = "timeseries: stopping when the days that were begun are done; again to abort\ntimeseries: 7 days, 0 missing, 7 transactions, 1 retry, "
		if !strings.HasPrefix(r.stderr, want) || !strings.HasSuffix(r.stderr, ", interrupted\n") {
			t.Errorf("stderr %q", r.stderr)
		}
		if data, err := os.ReadFile(chart); err != nil || !bytes.HasPrefix(data, []byte("\x89PNG")) {
			t.Errorf("the chart: %v", err)
		}
	})
}

func TestInterruptBeforeTheFirstDayIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		close(stop)
		r := trial{stop: stop}.call("-rows", "10", "-chart", filepath.Join(t.TempDir(), "trend.svg")).want(t, program.Interrupted)
		if !strings.Contains(r.stderr, " days, 0 missing, ") {
			t.Errorf("stderr %q", r.stderr)
		}
	})
}

// The second one aborts what is under way, be it a download or a pause.
func TestSecondInterruptAborts(t *testing.T) {
	for _, hang := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			stop := make(chan struct{})
			ctx, abort := context.WithCancelCause(t.Context())
			start := time.Now()
			time.AfterFunc(2*time.Second, func() { close(stop) })
			time.AfterFunc(3*time.Second, func() { abort(program.ErrAborted) })
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case dateOfRequest(r) != testSpan.first+1:
					w.Write(fileOf(dateOfRequest(r), 1))
				case hang:
					<-r.Context().Done()
				default:
					w.Header().Set("Retry-After", "30")
					w.WriteHeader(http.StatusServiceUnavailable)
				}
			})
			chart := filepath.Join(t.TempDir(), "trend.svg")
			r := trial{ctx: ctx, stop: stop, handler: handler}.call("-chart", chart).want(t, program.Interrupted)
			if took := time.Since(start); took != 3*time.Second {
				t.Errorf("it took %v", took)
			}
			if !strings.HasSuffix(r.stderr, "timeseries: aborted\n") || len(r.rows(t)) != 1 {
				t.Errorf("stderr %q, table:\n%s", r.stderr, r.stdout)
			}
			if _, err := os.Stat(chart); err == nil {
				t.Error("a chart in spite of that")
			}
		})
	}
}

// brokenPipe fails after a number of writes, as a pipe does whose reader has gone.
type brokenPipe struct{ left int }

func (b *brokenPipe) Write(p []byte) (int, error) {
	if b.left--; b.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

func TestClosedOutputEndsTheRunQuietly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests atomic.Int32
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			time.Sleep(time.Second)
			w.Write(fileOf(dateOfRequest(r), 1))
		})
		r := trial{handler: handler, stdout: &brokenPipe{left: 2}}.call("-n", "4").want(t, program.OK)
		if r.stderr != "" || requests.Load() > 8 { // 3 days and those in the window
			t.Errorf("stderr %q after %d requests", r.stderr, requests.Load())
		}
	})
}

func TestChartThatCannotBeWrittenIsOneError(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Join(dir, "none", "a.svg"), filepath.Join(file, "a.svg")} {
		r := trial{}.call("-chart", name).wantError(t, "write "+name)
		if r.stdout != "" {
			t.Error("the work was begun")
		}
	}
	folder := filepath.Join(dir, "folder.svg")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	trial{}.call("-chart", folder).wantError(t, "write "+folder, "directory")
}
