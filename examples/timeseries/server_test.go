package main

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

// What the built-in server serves can be read to the last row, and is what it was
// the last time.
func TestMadeUpDaysAreGoodAndTheSameEachTime(t *testing.T) {
	s := span{mustDate("2024-02-20"), 30}
	m := madeUp{rows: 300, accounts: 50, seed: 7}
	h := &server{madeUp: m, span: s, requests: map[date]int{}}
	other := &server{madeUp: madeUp{rows: 300, accounts: 50, seed: 8}, span: s, requests: map[date]int{}}
	quiet, busy := 1<<30, 0
	for d := range s.all() {
		path := urlPath + d.String() + urlEnd
		file := get(h, path).Body.Bytes()
		got, err := decode(bytes.NewReader(file), d, testLimit)
		if err != nil || got.bad.count > 0 {
			t.Fatalf("%v: %+v, error %v", d, got, err)
		}
		quiet, busy = min(quiet, got.rows), max(busy, got.rows)
		if !bytes.Equal(file, get(h, path).Body.Bytes()) {
			t.Errorf("%v is another one the second time", d)
		}
		if bytes.Equal(file, get(other, path).Body.Bytes()) {
			t.Errorf("%v is the same with another seed", d)
		}
	}
	if quiet < 100 || busy > 700 || busy < 2*quiet {
		t.Errorf("%d to %d rows a day: no week in it", quiet, busy)
	}
}

// Every number of rows and accounts makes days that can be read, also far from now.
func TestMadeUpDaysOfAnySize(t *testing.T) {
	for _, m := range []madeUp{{rows: 0, accounts: 1}, {rows: 1, accounts: 1}, {rows: 500, accounts: 1}, {rows: 500, accounts: maxMadeAccounts}} {
		for _, d := range []date{firstDate, 0, lastDate} {
			var file bytes.Buffer
			if err := m.writeDay(&file, d); err != nil {
				t.Fatal(err)
			}
			got, err := decode(&file, d, testLimit)
			if err != nil || got.bad.count > 0 || m.rows == 0 && got.rows > 0 || m.rows == 500 && got.rows < 20 {
				t.Errorf("%+v on %v: %+v, error %v", m, d, got, err)
			}
			if m.accounts == 1 && got != nil && len(got.accounts) > 1 {
				t.Errorf("%+v: %d accounts", m, len(got.accounts))
			}
		}
	}
}

func TestServerHasTheDaysOfItsSpanAndNoOthers(t *testing.T) {
	s := span{mustDate("2026-01-02"), 2}
	h := &server{madeUp: madeUp{accounts: 1, faults: faults{missing: []date{s.last()}}}, span: s, requests: map[date]int{}}
	for path, want := range map[string]int{
		"/data/2026-01-02.csv.gz": 200, "/data/2026-01-03.csv.gz": 404, "/data/2026-01-01.csv.gz": 404, "/data/2026-01-04.csv.gz": 404,
		"/": 404, "/data/": 404, "/data/today.csv.gz": 404, "/2026-01-02": 404, "/data/2026-01-02": 404, "/data/../data/2026-01-02.csv.gz": 404,
	} {
		if got := get(h, path).Code; got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
}

// About as many requests fail as they should, in all ways there are, and no damaged
// file is taken for a good one.
func TestFaultsComeAtTheirRateAndAreAllNoticed(t *testing.T) {
	const requests = 200
	d := mustDate("2026-01-02")
	for _, rate := range []float64{0, 0.3, 1} {
		h := &server{madeUp: madeUp{rows: 20, accounts: 5, faults: faults{rate: rate}}, span: span{d, 1}, requests: map[date]int{}}
		failed := 0
		kinds := map[string]int{}
		for range requests {
			failed += func() (failed int) {
				defer func() {
					if v := recover(); v == http.ErrAbortHandler {
						failed = 1
						kinds["cut off"]++
					}
				}()
				w := get(h, urlPath+d.String()+urlEnd)
				if w.Code != http.StatusOK {
					kinds[http.StatusText(w.Code)]++
					return 1
				}
				if _, err := decode(w.Body, d, testLimit); err != nil {
					kinds[err.Error()]++
					return 1
				}
				return 0
			}()
		}
		if share := float64(failed) / requests; share < rate-0.1 || share > rate+0.1 {
			t.Errorf("rate %v: %v of the requests failed", rate, share)
		}
		if rate > 0 && len(kinds) < len(wrongs) {
			t.Errorf("rate %v: %v", rate, kinds)
		}
	}
}

func TestFaultsDoNotDependOnOtherDays(t *testing.T) {
	s := span{mustDate("2026-01-02"), 20}
	m := madeUp{seed: 3, faults: faults{rate: 0.5}}
	faulty := func(h *server, d date) bool { return h.chooseFault(d) != nil }
	one, two := &server{madeUp: m, requests: map[date]int{}}, &server{madeUp: m, requests: map[date]int{}}
	var forth []bool
	for d := range s.all() {
		for range 10 {
			forth = append(forth, faulty(one, d))
		}
	}
	back := make([][10]bool, s.days)
	for i := range 10 {
		for d := s.last(); d >= s.first; d-- {
			back[d-s.first][i] = faulty(two, d)
		}
	}
	for i, want := range forth {
		if back[i/10][i%10] != want {
			t.Fatalf("attempt %d of day %d fares otherwise in another order", i%10, i/10)
		}
	}
}

// A pause of the clock does not matter, nor that it is set: Retry-After as a time is
// taken by the clock of the moment, and never for less than nothing.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 29, 0, 59, 0, 0, time.UTC)
	for s, want := range map[string]time.Duration{
		"": unknownDelay, "0": 0, "7": 7 * time.Second, "4294967295": 4294967295 * time.Second, "4294967296": unknownDelay, "-1": unknownDelay, "1.5": unknownDelay,
		"Sun, 29 Mar 2026 01:01:00 GMT": 2 * time.Minute, "Sun, 29 Mar 2026 00:58:00 GMT": 0, "Sunday, 29-Mar-26 01:01:00 GMT": 2 * time.Minute,
	} {
		if got := retryAfter(s, now); got != want {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	}
}

// A handler that has things to finish, when the server is ended, is waited for.
func TestEndOfTheServerWaitsForItsHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := &pipeNet{conns: make(chan net.Conn), closed: make(chan struct{})}
		finished := false
		end := serve(network, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			hang(w, r)
			time.Sleep(time.Second)
			finished = true
		}))
		transport := newTransport(environment{dial: network.dial}, 1)
		defer transport.CloseIdleConnections()
		failed := make(chan error)
		go func() {
			_, err := (&http.Client{Transport: transport}).Get("http://127.0.0.1/")
			failed <- err
		}()
		synctest.Wait()
		end()
		if !finished {
			t.Error("the handler still runs")
		}
		if err := <-failed; err == nil {
			t.Error("the request had an answer")
		}
	})
}
