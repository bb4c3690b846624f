package backpressure

import "fmt"

// Overflow says what becomes of an item that comes to a full buffer.
type Overflow uint8

const (
	// Block makes the sender wait: nothing is lost, and upstream is pushed back.
	Block Overflow = iota
	// DropOldest makes room by dropping the item that has been in the buffer longest.
	DropOldest
	// DropNewest drops the item that has just come.
	DropNewest
	// Latest merges the item that has just come with the last one in the buffer;
	// without a merge function it takes its place.
	Latest
	// Fail ends the stream with ErrOverflow.
	Fail

	overflows // how many there are
)

// Valid reports whether o is one of the constants.
func (o Overflow) Valid() bool { return o < overflows }

func (o Overflow) String() string {
	switch o {
	case Block:
		return "Block"
	case DropOldest:
		return "DropOldest"
	case DropNewest:
		return "DropNewest"
	case Latest:
		return "Latest"
	case Fail:
		return "Fail"
	}
	return fmt.Sprintf("Overflow(%d)", uint8(o))
}
