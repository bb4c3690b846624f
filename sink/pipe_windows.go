package sink

import (
	"errors"

	"golang.org/x/sys/windows"
)

// brokenPipe knows the names that Windows has for EPIPE.
func brokenPipe(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}
