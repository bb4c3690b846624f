// Firstmatch says which is the first file, in order, that contains a pattern.
package main

import (
	"context"
	"os"
	"os/signal"
	"time"
)

// abortGrace is how long an interrupted run may take to wind up before the
// program ends without it: it may be held in the opening of a FIFO.
const abortGrace = 200 * time.Millisecond

func main() {
	ignoreBrokenPipe()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, stopSignals()...)

	ctx, abort := context.WithCancelCause(context.Background())
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, os.Args[1:], environment{
			stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, sys: theSystem,
		})
	}()
	var grace <-chan time.Time
	for {
		select {
		case code := <-done:
			os.Exit(code)
		case <-signals:
			if grace != nil {
				os.Exit(exitInterrupted)
			}
			abort(errInterrupted)
			grace = time.After(abortGrace)
		case <-grace:
			os.Exit(exitInterrupted)
		}
	}
}
