package backpressure

import "errors"

var (
	// ErrClosed is returned by a Conduit that has been closed: by Send and TrySend
	// always, by Recv and TryRecv when nothing is left in it.
	ErrClosed = errors.New("backpressure: closed")

	// ErrTooMany is returned when more permits are asked for than the semaphore has
	// in all, so that they could never be had; also to those who wait when Resize
	// makes it so.
	ErrTooMany = errors.New("backpressure: more permits asked for than there are")

	// ErrOverflow is returned, or stands in a stream, where a full buffer was told
	// to Fail.
	ErrOverflow = errors.New("backpressure: buffer is full")

	// ErrWeight is returned by a Budget for a weight that is negative.
	ErrWeight = errors.New("backpressure: negative weight")
)
