package stage

import "github.com/destel/rill"

// Try is an item of a stream: a value, or an error in its place. It is rill's
// type, so that streams of the two libraries feed each other unconverted.
type Try[T any] = rill.Try[T]

// Pair is what [Zip] emits: a value of each of its inputs.
type Pair[A, B any] struct {
	First  A
	Second B
}
