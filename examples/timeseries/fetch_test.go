package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

// goodFile is the file of the first day of the tests.
var goodFile = fileOf(testSpan.first, 1, 2, 3)

func respond(status int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
	}
}

func body(b []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.Write(b) }
}

// dripping sends the body in parts of a size, with a pause before each.
func dripping(b []byte, size int, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for len(b) > 0 {
			select {
			case <-time.After(pause):
			case <-r.Context().Done():
				return
			}
			k := min(size, len(b))
			if _, err := w.Write(b[:k]); err != nil {
				return
			}
			http.NewResponseController(w).Flush()
			b = b[k:]
		}
	}
}

func flipped(b []byte, i int) []byte {
	b = bytes.Clone(b)
	b[i] ^= 0x10
	return b
}

func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// What the server does to each attempt; the last one goes on. -retries is 2, and
// the pauses are 100 ms and 200 ms.
var attemptCases = []struct {
	name     string
	attempts []http.HandlerFunc
	row      string // after its date
	requests int
	took     time.Duration
}{
	{"good", []http.HandlerFunc{body(goodFile)}, good, 1, 0},
	{"404", []http.HandlerFunc{respond(404)}, "missing: 404 Not Found (1 attempt)", 1, 0},
	{"410", []http.HandlerFunc{respond(410)}, "missing: 410 Gone (1 attempt)", 1, 0},
	{"403", []http.HandlerFunc{respond(403)}, "missing: 403 Forbidden (1 attempt)", 1, 0},
	{"no content", []http.HandlerFunc{respond(204)}, "missing: 204 No Content (1 attempt)", 1, 0},
	{"500 for good", []http.HandlerFunc{respond(500)}, "missing: 500 Internal Server Error (3 attempts)", 3, 300 * time.Millisecond},
	{"500, 502, then good", []http.HandlerFunc{respond(500), respond(502), body(goodFile)}, good, 3, 300 * time.Millisecond},
	{"408, 425, then good", []http.HandlerFunc{respond(408), respond(425), body(goodFile)}, good, 3, 300 * time.Millisecond},
	{"500, then 404", []http.HandlerFunc{respond(500), respond(404)}, "missing: 404 Not Found (2 attempts)", 2, 100 * time.Millisecond},
	{"asked to wait", []http.HandlerFunc{respond(429, "Retry-After", "7"), respond(503, "Retry-After", "5"), body(goodFile)}, good, 3, 12 * time.Second},
	{"asked to wait until", []http.HandlerFunc{
		func(w http.ResponseWriter, r *http.Request) {
			respond(503, "Retry-After", time.Now().Add(9*time.Second).UTC().Format(http.TimeFormat))(w, r)
		},
		body(goodFile),
	}, good, 2, 9 * time.Second},
	{"asked to wait until a time that has gone", []http.HandlerFunc{respond(503, "Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT"), body(goodFile)}, good, 2, 100 * time.Millisecond},
	{"asked to wait in no known way", []http.HandlerFunc{respond(503, "Retry-After", "soon"), respond(503, "Retry-After", "-5"), body(goodFile)}, good, 3, 300 * time.Millisecond},
	{"asked to wait for less than we would", []http.HandlerFunc{respond(503, "Retry-After", "0"), body(goodFile)}, good, 2, 100 * time.Millisecond},
	{"asked to wait as long as may be", []http.HandlerFunc{respond(503, "Retry-After", "60"), body(goodFile)}, good, 2, time.Minute},
	{"asked to wait for too long", []http.HandlerFunc{respond(503, "Retry-After", "3600")}, "missing: 503 Service Unavailable (come back in 1h0m0s) (1 attempt)", 1, 0},

	{"no answer", []http.HandlerFunc{hang}, "missing: nothing came for 15s (3 attempts)", 3, 45*time.Second + 300*time.Millisecond},
	{"no answer, then good", []http.HandlerFunc{hang, body(goodFile)}, good, 2, 15*time.Second + 100*time.Millisecond},
	{"half a body and no more", []http.HandlerFunc{
		func(w http.ResponseWriter, r *http.Request) {
			w.Write(goodFile[:len(goodFile)/2])
			http.NewResponseController(w).Flush()
			hang(w, r)
		},
	}, "missing: nothing came for 15s (3 attempts)", 3, 45*time.Second + 300*time.Millisecond},
	{"a slow body", []http.HandlerFunc{dripping(goodFile, len(goodFile)/10+1, 14*time.Second)}, good, 1, 10 * 14 * time.Second},
	{"a body slower than that", []http.HandlerFunc{dripping(goodFile, 1, 14*time.Second)}, "missing: took too long, over 5m0s (3 attempts)", 3, 15*time.Minute + 300*time.Millisecond},
	{"half a body, cut off", []http.HandlerFunc{
		func(w http.ResponseWriter, _ *http.Request) {
			w.Write(goodFile[:len(goodFile)/2])
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		body(goodFile),
	}, good, 2, 100 * time.Millisecond},
	{"less than announced", []http.HandlerFunc{
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(len(goodFile)))
			w.Write(goodFile[:len(goodFile)/2])
		},
	}, "missing: truncated gzip (3 attempts)", 3, 300 * time.Millisecond},
	{"cut off before the answer", []http.HandlerFunc{
		func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		body(goodFile),
	}, good, 2, 100 * time.Millisecond},

	{"half a file", []http.HandlerFunc{body(goodFile[:len(goodFile)/2])}, "missing: truncated gzip (3 attempts)", 3, 300 * time.Millisecond},
	{"a flipped bit", []http.HandlerFunc{body(flipped(goodFile, len(goodFile)-6)), body(goodFile)}, good, 2, 100 * time.Millisecond},
	{"an empty body", []http.HandlerFunc{body(nil)}, "missing: empty body (3 attempts)", 3, 300 * time.Millisecond},
	{"a page", []http.HandlerFunc{body([]byte("<!DOCTYPE html><p>Log in first"))}, "missing: wrong content: text/html; charset=utf-8, not gzip (3 attempts)", 3, 300 * time.Millisecond},
	{"not packed", []http.HandlerFunc{body([]byte("time,account,amount\n"))}, "missing: wrong content: text/plain; charset=utf-8, not gzip (3 attempts)", 3, 300 * time.Millisecond},
	{"packed twice", []http.HandlerFunc{body(packed(string(goodFile)))}, "missing: wrong content: no header with time, account and amount (3 attempts)", 3, 300 * time.Millisecond},
	{"the file of another day", []http.HandlerFunc{body(fileOf(testSpan.first+1, 1, 2)), body(goodFile)}, good, 2, 100 * time.Millisecond},

	{"too big, as announced", []http.HandlerFunc{
		func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "65537")
			w.Write(goodFile[:1])
			http.NewResponseController(w).Flush()
			hang(w, r) // it need not be read
		},
	}, "missing: too big (1 attempt)", 1, 0},
	{"too big without saying so", []http.HandlerFunc{
		func(w http.ResponseWriter, _ *http.Request) {
			nothing := bytes.Repeat(packed(""), 100)
			for err := error(nil); err == nil; _, err = w.Write(nothing) {
			}
		},
	}, "missing: too big (1 attempt)", 1, 0},
	{"too big when unpacked", []http.HandlerFunc{body(packed("time,account,amount\n" + strings.Repeat("\n", 1<<20)))}, "missing: too big (1 attempt)", 1, 0},

	{"redirected", []http.HandlerFunc{
		func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		body(goodFile),
	}, good, 2, 0},
	{"redirected for ever", []http.HandlerFunc{
		func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
	}, "missing: redirected more than 5 times (1 attempt)", 6, 0},
	{"redirected to nowhere", []http.HandlerFunc{respond(302)}, "missing: 302 Found (1 attempt)", 1, 0},
	{"said to be encoded", []http.HandlerFunc{
		func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "identity" {
				w.WriteHeader(http.StatusNotAcceptable)
				return
			}
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(goodFile)
		},
	}, good, 1, 0},
}

const good = "3 6.00 3"

func TestWhatIsTriedAgainAndWhatIsNot(t *testing.T) {
	for _, c := range attemptCases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var requests atomic.Int32
				handler := func(w http.ResponseWriter, r *http.Request) {
					i := min(int(requests.Add(1)), len(c.attempts))
					c.attempts[i-1](w, r)
				}
				start := time.Now()
				r := trial{handler: http.HandlerFunc(handler)}.call("-days", "1", "-q", "-n", "1", "-retries", "2", "-backoff", "100ms", "-max-size", "64KiB")
				took := time.Since(start)
				if c.row == good {
					r.want(t, program.OK)
				} else {
					r.wantError(t, errNoDay.Error(), "2026-01-01: "+strings.TrimPrefix(c.row, "missing: "))
				}
				if row := strings.Join(strings.Fields(r.rows(t)[0]), " "); row != "2026-01-01 "+c.row {
					t.Errorf("row %q, want %q", row, c.row)
				}
				if got := int(requests.Load()); got != c.requests || took != c.took {
					t.Errorf("%d requests in %v, want %d in %v", got, took, c.requests, c.took)
				}
			})
		})
	}
}

func TestNoConnectionIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		r := trial{refuse: true, handler: http.NotFoundHandler()}.call("-days", "3", "-n", "3", "-q").wantError(t, "no day could be had; 2026-01-01: connection refused (5 attempts)")
		if took, want := time.Since(start), (200+400+800+1600)*time.Millisecond; took != want {
			t.Errorf("it took %v, want %v", took, want)
		}
		if len(r.rows(t)) != 3 {
			t.Errorf("table:\n%s", r.stdout)
		}
	})
}

// The URL may have a password in it, and is long.
func TestErrorsDoNotNameTheURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, wrong := range []http.HandlerFunc{hang, respond(404), func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }} {
			r := trial{handler: wrong, user: "ana:secret@"}.call("-days", "1", "-retries", "0", "-q").wantError(t, "2026-01-01: ")
			if text := r.stdout + r.stderr; strings.Contains(text, "secret") || strings.Contains(text, "http:") {
				t.Errorf("%s", text)
			}
		}
	})
}

func TestNoRedirectionFromHTTPSToHTTP(t *testing.T) {
	request := func(s string) *http.Request {
		u, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return &http.Request{URL: u}
	}
	for _, c := range []struct {
		from, to string
		ok       bool
	}{
		{"https://a/", "https://b/", true}, {"http://a/", "https://b/", true}, {"http://a/", "http://b/", true}, {"https://a/", "http://a/", false},
	} {
		err := checkRedirect(request(c.to), []*http.Request{request(c.from)})
		if (err == nil) != c.ok || err != nil && !permanent(err) {
			t.Errorf("%s to %s: error %v", c.from, c.to, err)
		}
	}
}

func TestVerboseTellsOfEachRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := trial{}.call("-days", "30", "-rows", "10", "-fail-rate", "0.5", "-retries", "40", "-v").want(t, program.OK)
		lines := strings.Split(strings.TrimSuffix(r.stderr, "\n"), "\n")
		summary := lines[len(lines)-1]
		if want := fmt.Sprintf(", %d retries, ", len(lines)-1); !strings.Contains(summary, want) {
			t.Errorf("%d lines, summary %q", len(lines)-1, summary)
		}
		for _, words := range []string{": 500 Internal Server Error; again in ", ": 503 Service Unavailable; again in 1s", ": truncated gzip; ", ": damaged gzip; ", ": wrong content: text/html; charset=utf-8, not gzip; "} {
			if !strings.Contains(r.stderr, words) {
				t.Errorf("nothing like %q in:\n%s", words, r.stderr)
			}
		}
	})
}

func TestLatencyOfTheBuiltInServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		trial{}.call("-days", "11", "-n", "5", "-rows", "10", "-latency", "3s", "-q").want(t, program.OK)
		// 5 at once, then 4 at once and one more each time that one is done: all at once.
		if took, want := time.Since(start), 3*3*time.Second; took != want {
			t.Errorf("it took %v, want %v", took, want)
		}
	})
}

// An error of the network is passed on as it is, without the URL around it.
func TestReasonOf(t *testing.T) {
	inner := errors.New("no route to host")
	if got := reasonOf(&url.Error{Op: "Get", URL: "http://a/", Err: inner}); got != inner {
		t.Errorf("%v", got)
	}
	if got := reasonOf(io.EOF); got != io.EOF || reasonOf(nil) != nil {
		t.Errorf("%v", got)
	}
}
