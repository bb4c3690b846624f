//go:build unix

package program

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// ignoreBrokenPipe makes a write to a closed pipe an error on stdout too, where
// the signal would end the program.
func ignoreBrokenPipe() { signal.Ignore(syscall.SIGPIPE) }

// stopSignals are the signals to stop at. SIGHUP stays ignored if it was, as
// under nohup.
func stopSignals() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
