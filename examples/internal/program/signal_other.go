//go:build !unix

package program

import (
	"errors"
	"os"
	"syscall"
)

func ignoreBrokenPipe() {}

func stopSignals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// isBrokenPipe knows the errors that Windows has for it.
func isBrokenPipe(err error) bool {
	const errorBrokenPipe, errorNoData = syscall.Errno(109), syscall.Errno(232)
	return errors.Is(err, errorBrokenPipe) || errors.Is(err, errorNoData)
}
