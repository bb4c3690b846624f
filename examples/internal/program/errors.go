package program

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// A WriteError is a failure to write the output.
type WriteError struct{ Err error }

func (e WriteError) Error() string { return e.Err.Error() }

func (e WriteError) Unwrap() error { return e.Err }

// ReaderGone reports whether writing the output failed because nobody reads it any
// more.
func ReaderGone(err error) bool {
	var failed WriteError
	return errors.As(err, &failed) && (isBrokenPipe(err) || errors.Is(err, io.ErrClosedPipe))
}

// OneLine is the text of an error, which may have been made of several.
func OneLine(err error) string {
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

// ReasonFor prefixes an error of a file operation with what was to be done, in
// place of the operation and the name, which may be a temporary one.
func ReasonFor(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, Reason(err))
}

// Reason is the bare reason for which a file operation failed.
func Reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}
