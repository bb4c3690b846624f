package sink

import (
	"errors"
	"fmt"
)

// Returned by Create and Open.
var (
	// ErrNotLog: the file is no log, or too short to be one.
	ErrNotLog = errors.New("sink: not a log")
	// ErrLayout: the file is a log of other records, of another byte order or
	// format; the error that wraps it says what of.
	ErrLayout = errors.New("sink: log has another layout")
	// ErrLocked: another Log, of this process or another one, has it open for
	// writing.
	ErrLocked = errors.New("sink: log is open elsewhere")
	// ErrNotRegular: the path is that of a directory, a device, a pipe.
	ErrNotRegular = errors.New("sink: not a regular file")
	// ErrNotSupported: the platform has no way to do it.
	ErrNotSupported = errors.New("sink: not supported on this platform")
)

// Returned by the methods of a Log.
var (
	// ErrClosed: the log, or file, has been closed.
	ErrClosed = errors.New("sink: closed")
	// ErrReadOnly: the log was opened with ReadOnly.
	ErrReadOnly = errors.New("sink: log is open for reading only")
	// ErrCorrupt: records that were durable once are not what was written. It
	// comes as a *CorruptError where it is known which.
	ErrCorrupt = errors.New("sink: corrupt")
	// ErrShrunk: somebody else made the file smaller while it was in use.
	ErrShrunk = errors.New("sink: file was made smaller while in use")
	// ErrDropped: the record asked for has been dropped.
	ErrDropped = errors.New("sink: record has been dropped")
)

// ErrPosition is returned by SQL when another run has moved the position of its job
// since this one has read it. Nothing of the batch that found it is in the database.
var ErrPosition = errors.New("sink: position was moved by another run")

// CorruptError says where a log is damaged: the records before Record are good,
// and those from it to the end of its block, at least one, are not what was
// written. errors.Is finds ErrCorrupt in it.
type CorruptError struct {
	Path   string
	Record uint64 // index of the first record that cannot be trusted
	Offset int64  // where that is in the file
}

// Error says where the damage is.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("sink: %s: corrupt from record %d on, at byte %d", e.Path, e.Record, e.Offset)
}

// Is reports true for ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// pathError puts what was done, and to which file, before err.
func pathError(do, path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sink: %s %s: %w", do, path, err)
}
