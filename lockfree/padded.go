package lockfree

// line is padding that keeps what stands before it and what stands behind it on
// different cache lines, wherever the allocator puts them.
type line [CacheLine]byte

// Padded holds a Value of which no byte shares a cache line with anything
// outside, whether the Padded is a field, an element of a slice, or allocated by
// itself, and however it is aligned: there is a line of padding on either side.
// That is 2·CacheLine bytes more than T has. The zero value holds a zero T.
//
// It is for variables that one goroutine writes often while others use their
// neighbours. It makes nothing atomic: T may be an atomic type.
type Padded[T any] struct {
	_     line
	Value T
	_     line
}
