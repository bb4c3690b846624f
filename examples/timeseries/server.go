package main

import (
	"bytes"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// faults are what the built-in server does wrong, on demand.
type faults struct {
	latency time.Duration
	rate    float64 // part of the requests that fail, 0 to 1
	missing []date
}

// A server serves made-up days.
type server struct {
	madeUp
	span span

	mu       sync.Mutex
	requests map[date]int // so far
}

// serveDays starts the built-in server on l. The returned function ends it and
// waits for that.
func serveDays(l net.Listener, m madeUp, s span) (urls template, end func()) {
	end = serve(l, &server{madeUp: m, span: s, requests: map[date]int{}})
	return template("http://" + l.Addr().String() + urlPath + "{date}" + urlEnd), end
}

// serve starts a server on l. The returned function ends it, and returns when no
// handler runs any more, which package net/http does not wait for.
func serve(l net.Listener, h http.Handler) (end func()) {
	var conns sync.WaitGroup
	srv := &http.Server{
		Handler:  h,
		ErrorLog: log.New(io.Discard, "", 0),
		ConnState: func(_ net.Conn, now http.ConnState) {
			switch now {
			case http.StateNew: // told by the goroutine of Serve
				conns.Add(1)
			case http.StateClosed: // told when the handler has returned
				conns.Done()
			}
		},
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		srv.Serve(l)
	}()
	return func() {
		srv.Close()
		<-done
		conns.Wait()
	}
}

const urlPath, urlEnd = "/data/", ".csv.gz"

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, ok1 := strings.CutPrefix(r.URL.Path, urlPath)
	name, ok2 := strings.CutSuffix(name, urlEnd)
	d, err := parseDate(name)
	if s.faults.latency > 0 {
		wait := time.NewTimer(s.faults.latency)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-r.Context().Done():
			return
		}
	}
	if !ok1 || !ok2 || err != nil || d < s.span.first || d > s.span.last() || slices.Contains(s.faults.missing, d) {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/gzip")
	if wrong := s.chooseFault(d); wrong != nil {
		wrong(s, w, d)
		return
	}
	s.writeDay(w, d) // an error says that the client has gone
}

// chooseFault chooses one for a request, or nil. A day's attempts come one after the
// other: so the choice is the same in each run, whatever else is downloaded meanwhile.
func (s *server) chooseFault(d date) func(*server, http.ResponseWriter, date) {
	s.mu.Lock()
	s.requests[d]++
	count := s.requests[d]
	s.mu.Unlock()
	dice := rand.New(rand.NewPCG(s.seed, uint64(d)<<20+uint64(count)))
	if dice.Float64() >= s.faults.rate {
		return nil
	}
	return wrongs[dice.IntN(len(wrongs))]
}

// wrongs are the ways to fail.
var wrongs = []func(*server, http.ResponseWriter, date){
	func(_ *server, w http.ResponseWriter, _ date) {
		http.Error(w, "made to fail", http.StatusInternalServerError)
	},
	func(_ *server, w http.ResponseWriter, _ date) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "made to fail", http.StatusServiceUnavailable)
	},
	// A page where a file should be.
	func(_ *server, w http.ResponseWriter, _ date) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<!DOCTYPE html><title>Sorry</title><p>Sorry.")
	},
	// Half a file, and the connection is cut.
	func(s *server, w http.ResponseWriter, d date) {
		w.Write(s.half(d))
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	},
	// Half a file, as if that were all.
	func(s *server, w http.ResponseWriter, d date) { w.Write(s.half(d)) },
	// A file with a byte that is not what it was.
	func(s *server, w http.ResponseWriter, d date) {
		file := s.file(d)
		file[len(file)/2] ^= 0x55
		w.Write(file)
	},
}

func (s *server) file(d date) []byte {
	var b bytes.Buffer
	s.writeDay(&b, d) // to memory: no error
	return b.Bytes()
}

func (s *server) half(d date) []byte {
	file := s.file(d)
	return file[:len(file)/2]
}
