package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

const (
	dialTimeout = 10 * time.Second
	// jitter makes pauses differ by up to so much, in parts of 1, lest all days that
	// failed at once come back at once.
	jitter = 0.25
)

// environment is what the program has around it.
type environment struct {
	stdout, stderr io.Writer
	stop           <-chan struct{}              // closed to begin no further day
	listen         func() (net.Listener, error) // for the built-in server
	dial           func(ctx context.Context, network, address string) (net.Conn, error)
	jitter         float64
}

var (
	errNoDay   = errors.New("no day could be had")
	errMissing = errors.New("missing")
)

// run is the program: it returns the exit code. It aborts when ctx is cancelled,
// with program.ErrAborted as the cause.
func run(ctx context.Context, args []string, env environment) int {
	cfg, err := parseFlags(args, env.stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return program.OK
	case err != nil:
		return program.Usage
	}
	scr := program.NewScreen(env.stderr, "timeseries", program.QuietIf(cfg.quiet))
	rep, err := compareDays(ctx, cfg, env, scr)
	return scr.Conclude(err, env.stop, rep)
}

// A report says what a run did.
type report struct {
	days, missing int
	firstMissing  error
	rows          int
	retries       atomic.Int64
	start         time.Time
	stopped       bool
}

func (r *report) count(s summary) {
	r.days++
	r.rows += s.rows
	if s.missing != nil {
		if r.missing++; r.missing == 1 {
			r.firstMissing = fmt.Errorf("%v: %w", s.date, s.missing)
		}
	}
}

// String is the summary, one line.
func (r *report) String() string {
	retries := "1 retry"
	if n := r.retries.Load(); n != 1 {
		retries = thousands(n) + " retries"
	}
	s := fmt.Sprintf("%s, %d missing, %s, %s, %.2f s",
		plural(r.days, "day"), r.missing, plural(r.rows, "transaction"), retries, time.Since(r.start).Seconds())
	if r.stopped {
		s += ", interrupted"
	}
	return s
}

// compareDays does the job and reports what it did.
func compareDays(ctx context.Context, cfg config, env environment, scr *program.Screen) (*report, error) {
	rep := &report{start: time.Now()}
	if cfg.chart != "" {
		if err := program.CheckTarget(cfg.chart); err != nil {
			return rep, err
		}
	}
	if cfg.url == "" {
		l, err := env.listen()
		if err != nil {
			return rep, err
		}
		urls, end := serveDays(l, cfg.made, cfg.span)
		defer end()
		cfg.url = urls
	}
	transport := newTransport(env, cfg.n)
	defer transport.CloseIdleConnections()
	defer scr.OnStop(env.stop, func() {}, "stopping when the days that were begun are done; again to abort")()
	var done atomic.Int64 // days
	defer scr.Show(progressOf(&done, cfg.span.days))()

	tab := &table{w: scr.Over(env.stdout)}
	var series []summary // for the chart
	j := &job{
		span: cfg.span, n: cfg.n, stop: env.stop, top: cfg.top,
		fetch: newFetcher(cfg, transport).fetch,
		retry: retrying{
			most: cfg.retries, first: cfg.backoff, limit: cfg.pause, jitter: env.jitter,
			onRetry: func(d date, err error, pause time.Duration) {
				rep.retries.Add(1)
				if cfg.verbose {
					scr.Print("%v: %s; again in %v", d, printable(err.Error()), pause.Round(time.Millisecond))
				}
			},
		},
		write: func(s summary) error {
			rep.count(s)
			done.Store(int64(rep.days))
			if cfg.chart != "" {
				series = append(series, s)
			}
			return tab.write(s)
		},
	}
	if err := j.run(ctx); err != nil {
		return rep, err
	}
	rep.stopped = program.Closed(env.stop)
	switch {
	case rep.days == rep.missing:
		if rep.stopped {
			return rep, nil
		}
		return rep, fmt.Errorf("%w; %w", errNoDay, rep.firstMissing)
	case cfg.chart != "":
		if err := writeChart(ctx, cfg.chart, series); err != nil {
			return rep, err
		}
	}
	if cfg.strict && rep.missing > 0 && !rep.stopped {
		return rep, fmt.Errorf("%s %w; %w", plural(rep.missing, "day"), errMissing, rep.firstMissing)
	}
	return rep, nil
}

// newTransport is made for n downloads at once from one host.
func newTransport(env environment, n int) *http.Transport {
	const (
		handshakeTimeout = 10 * time.Second
		maxHeader        = 64 * program.KiB
	)
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment, // not for loopback
		DialContext:            env.dial,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    n,
		TLSHandshakeTimeout:    handshakeTimeout,
		MaxResponseHeaderBytes: maxHeader,
	}
}

// writeChart draws the series into a file, which appears whole.
func writeChart(ctx context.Context, name string, series []summary) error {
	data, err := drawChart(series, chartFormat(name))
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	return program.WriteWhole(name, data)
}
