package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
	"github.com/seed95b73fdc/sluice/examples/internal/programtest"
)

func TestMain(m *testing.M) {
	programtest.Main(main)
	goleak.VerifyTestMain(m)
}

// A result is what a run of the program left behind.
type result struct {
	code           int
	stdout, stderr string
}

// A trial runs the program within the test, on a network within the test: so it can
// run in a bubble. What a test does not set is as without it.
type trial struct {
	ctx     context.Context
	stop    chan struct{}
	handler http.Handler // answers what -url names; nil for the built-in server
	stdout  io.Writer    // in place of the result's
	jitter  float64
	refuse  bool   // connections
	user    string // before the host of the URL
}

func (p trial) call(args ...string) result {
	network := &pipeNet{conns: make(chan net.Conn), closed: make(chan struct{})}
	if p.handler != nil {
		defer serve(network, p.handler)()
		args = append([]string{"-url", "http://" + p.user + network.Addr().String() + "/{date}"}, args...)
	}
	if p.refuse {
		network.Close()
	}
	var stdout, stderr bytes.Buffer
	env := environment{
		stdout: &stdout, stderr: &stderr, stop: p.stop, jitter: p.jitter,
		listen: func() (net.Listener, error) { return network, nil }, dial: network.dial,
	}
	if p.stdout != nil {
		env.stdout = p.stdout
	}
	if p.ctx == nil {
		p.ctx = context.Background()
	}
	code := run(p.ctx, args, env)
	return result{code, stdout.String(), stderr.String()}
}

// want fails the test unless the program ended with code.
func (r result) want(t *testing.T, code int) result {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit code %d, want %d; stderr:\n%s", r.code, code, r.stderr)
	}
	return r
}

// wantError fails the test unless the program failed with one line that has all
// of the words.
func (r result) wantError(t *testing.T, words ...string) result {
	t.Helper()
	r.want(t, program.Failed)
	programtest.WantOneLine(t, r.stderr, words...)
	return r
}

// rows are the lines of the table below its head.
func (r result) rows(t *testing.T) []string {
	t.Helper()
	lines := strings.Split(r.stdout, "\n")
	if len(lines) < 2 || !strings.HasPrefix(lines[0], "date  ") || lines[len(lines)-1] != "" {
		t.Fatalf("this is no table:\n%s", r.stdout)
	}
	return lines[1 : len(lines)-1]
}

// A pipeNet is a network of one host, all in memory.
type pipeNet struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (n *pipeNet) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *pipeNet) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}

func (n *pipeNet) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "tcp" }
func (pipeAddr) String() string  { return "127.0.0.1:80" }

var errRefused = errors.New("connection refused")

func (n *pipeNet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case n.conns <- there:
		return here, nil
	case <-n.closed:
		return nil, errRefused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// packed is s as gzip.
func packed(s string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, s)
	w.Close()
	return b.Bytes()
}

// fileOf is a file with the amounts, account by account: a, b, c…
func fileOf(d date, amounts ...int) []byte {
	var b strings.Builder
	b.WriteString("time,account,amount\n")
	for i, amount := range amounts {
		fmt.Fprintf(&b, "%vT12:00:00Z,%c,%d\n", d, 'a'+i, amount)
	}
	return packed(b.String())
}

// dateOfRequest is the date that the URL names.
func dateOfRequest(r *http.Request) date {
	d, err := parseDate(strings.TrimPrefix(r.URL.Path, "/"))
	if err != nil {
		panic(err)
	}
	return d
}
