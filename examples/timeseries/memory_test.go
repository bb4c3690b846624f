package main

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

// The same over HTTP, with real files and retries: what the garbage collector finds in
// use, and what the server is asked for meanwhile, is never more than n days.
func TestNoMoreThanNDaysAreInMemoryOverHTTP(t *testing.T) {
	const n = 4
	synctest.Test(t, func(t *testing.T) {
		network := &pipeNet{conns: make(chan net.Conn), closed: make(chan struct{})}
		days := &server{madeUp: madeUp{rows: 200, accounts: 50, faults: faults{rate: 0.3}}, span: testSpan, requests: map[date]int{}}
		rnd := rand.New(rand.NewPCG(1, 1))
		takes := map[date]time.Duration{}
		for d := range testSpan.all() {
			takes[d] = time.Duration(1+rnd.IntN(2000)) * time.Millisecond
		}
		defer serve(network, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			d := dateOfRequest(r)
			time.Sleep(takes[d])
			r.URL.Path = urlPath + d.String() + urlEnd
			days.ServeHTTP(w, r)
		}))()
		transport := newTransport(environment{dial: network.dial}, n)
		defer transport.CloseIdleConnections()
		f := newFetcher(config{
			url: "http://127.0.0.1/{date}", idle: time.Minute, timeout: time.Minute, maxSize: program.MiB,
		}, transport)

		c := &census{}
		compared := 0
		j := &job{
			span: testSpan, n: n, retry: retrying{most: 20, first: time.Second, limit: time.Minute},
			fetch: func(ctx context.Context, d date) (*day, error) {
				c.mu.Lock()
				c.loading++
				c.count()
				c.mu.Unlock()
				got, err := f.fetch(ctx, d)
				c.mu.Lock()
				defer c.mu.Unlock()
				c.loading--
				if got != nil {
					c.days = append(c.days, weak.Make(got))
				}
				return got, err
			},
			write: func(s summary) error {
				if s.missing == nil && s.rows > 0 && s.compared == (s.date > testSpan.first) {
					compared++
				}
				if live := c.now(); live > n {
					t.Errorf("%d days in memory when %v was compared", live, s.date)
				}
				return nil
			},
		}
		if err := j.run(t.Context()); err != nil || compared != testSpan.days {
			t.Errorf("%d days compared, error %v", compared, err)
		}
		if c.most != n {
			t.Errorf("at most %d days in memory, want %d", c.most, n)
		}
	})
}
