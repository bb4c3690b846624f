package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// maxRedirects is how many redirections of one request are followed.
const maxRedirects = 5

// What can become of a request, besides the errors of decode.
var (
	errIdle     = errors.New("nothing came")
	errTooSlow  = errors.New("took too long")
	errRedirect = errors.New("redirected")
)

// A statusError is an answer that is not the file.
type statusError struct {
	code  int
	after time.Duration // what the server wants us to wait, or unknownDelay
}

const unknownDelay = time.Duration(-1)

func (e statusError) Error() string {
	return fmt.Sprintf("%d %s", e.code, http.StatusText(e.code))
}

// permanent reports whether another attempt would only meet the same error.
func permanent(err error) bool {
	if errors.Is(err, errTooBig) || errors.Is(err, errRedirect) {
		return true
	}
	var status statusError
	if !errors.As(err, &status) {
		return false
	}
	switch status.code {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return status.code < 500
}

// A fetcher downloads days.
type fetcher struct {
	client  *http.Client
	urls    template
	idle    time.Duration // with nothing coming, that an attempt is given
	attempt time.Duration // that an attempt is given in all
	maxSize int64         // of a file, packed or not
	now     func() time.Time
}

func newFetcher(cfg config, transport http.RoundTripper) *fetcher {
	return &fetcher{
		client:  &http.Client{Transport: transport, CheckRedirect: checkRedirect},
		urls:    cfg.url,
		idle:    cfg.idle,
		attempt: cfg.timeout,
		maxSize: int64(cfg.maxSize),
		now:     time.Now,
	}
}

// checkRedirect follows redirections, but not for ever, and not from https to
// http, where anybody might answer.
func checkRedirect(to *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("%w more than %d times", errRedirect, maxRedirects)
	case via[len(via)-1].URL.Scheme == "https" && to.URL.Scheme != "https":
		return fmt.Errorf("%w from https to %s", errRedirect, to.URL.Scheme)
	}
	return nil
}

// fetch makes one attempt to download and decode a day.
func (f *fetcher) fetch(ctx context.Context, d date) (*day, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(f.attempt, func() { cancel(fmt.Errorf("%w, over %v", errTooSlow, f.attempt)) })
	defer late.Stop()
	idle := time.AfterFunc(f.idle, func() { cancel(fmt.Errorf("%w for %v", errIdle, f.idle)) })
	defer idle.Stop()

	got, err := f.get(ctx, d, idle)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return got, reasonOf(err)
}

func (f *fetcher) get(ctx context.Context, d date, idle *time.Timer) (*day, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.urls.url(d), nil)
	if err != nil {
		return nil, err
	}
	// Without this a server might pack what is packed already.
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, statusError{resp.StatusCode, retryAfter(resp.Header.Get("Retry-After"), f.now())}
	}
	if resp.ContentLength > f.maxSize {
		return nil, errTooBig
	}
	return decode(&watched{resp.Body, idle, f.idle}, d, f.maxSize)
}

// watched lets the timer run while it waits for bytes, and no longer: not while
// they are worked on.
type watched struct {
	r     io.Reader
	timer *time.Timer
	limit time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	w.timer.Reset(w.limit)
	n, err := w.r.Read(p)
	w.timer.Stop()
	return n, err
}

// retryAfter reads the header of that name: a number of seconds or a time.
func retryAfter(s string, now time.Time) time.Duration {
	if sec, err := strconv.ParseUint(s, 10, 32); err == nil {
		return time.Duration(sec) * time.Second
	}
	if at, err := http.ParseTime(s); err == nil {
		return max(0, at.Sub(now))
	}
	return unknownDelay
}

// reasonOf takes off the URL that package net/http puts before an error: the
// date says as much.
func reasonOf(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
