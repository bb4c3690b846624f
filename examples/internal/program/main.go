// Package program has what the programs of the examples share: what they do at a
// signal and with their exit codes, their messages and progress on a terminal, and
// files that appear whole or not at all.
package program

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"time"
)

// Exit codes that all programs have.
const (
	OK          = 0
	Failed      = 1
	Usage       = 2
	Interrupted = 130
)

// ErrAborted is the cause with which the context of a program is cancelled.
var ErrAborted = errors.New("aborted")

// Main runs a program and ends with the exit code that it returns. At the first
// signal to stop, Ctrl-C or another, stop is closed: what was begun is to be
// finished. At the second one ctx is cancelled with ErrAborted; if that does not end
// run within grace, for it may be held in a write that nobody reads, or at one signal
// more, the program ends without it. Unfinished files are removed then.
func Main(grace time.Duration, run func(ctx context.Context, stop <-chan struct{}) int) {
	stop := make(chan struct{})
	ctx, abort := context.WithCancelCause(context.Background())
	supervise(grace, []func(){func() { close(stop) }, func() { abort(ErrAborted) }}, func() int { return run(ctx, stop) })
}

// MainAborting is Main for a program that has nothing to finish: it aborts at the
// first signal.
func MainAborting(grace time.Duration, run func(ctx context.Context) int) {
	ctx, abort := context.WithCancelCause(context.Background())
	supervise(grace, []func(){func() { abort(ErrAborted) }}, func() int { return run(ctx) })
}

// supervise calls run, and one of onSignal for each signal; the last one aborts.
func supervise(grace time.Duration, onSignal []func(), run func() int) {
	ignoreBrokenPipe()
	signals := make(chan os.Signal, len(onSignal)+1)
	signal.Notify(signals, stopSignals()...)
	done := make(chan int, 1)
	go func() { done <- run() }()
	var over <-chan time.Time
	for {
		select {
		case code := <-done:
			os.Exit(code)
		case <-over:
		case <-signals:
			if len(onSignal) > 0 {
				onSignal[0]()
				if onSignal = onSignal[1:]; len(onSignal) == 0 {
					over = time.After(grace)
				}
				continue
			}
		}
		RemoveUnfinished()
		os.Exit(Interrupted)
	}
}

// Closed reports whether the channel is closed.
func Closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
