package lockfree

import (
	"fmt"
	"math"
	"math/bits"
	"reflect"
)

// maxSlots is the largest capacity. It keeps the arithmetic of cursors far from
// overflow also where they have 32 bits.
const maxSlots = 1 << 28

// slots returns the power of two that is at least capacity. It panics, naming the
// function fn, where that cannot be: before anything is allocated.
func slots[T any](fn string, capacity int) int {
	if capacity < 1 || capacity > maxSlots {
		panic(fmt.Sprintf("%s: capacity is %d, want 1 to %d", fn, capacity, maxSlots))
	}
	n := 1 << bits.Len(uint(capacity-1))
	if size := reflect.TypeFor[T]().Size(); size > 0 && uint64(n) > math.MaxInt/2/uint64(size) {
		panic(fmt.Sprintf("%s: capacity is %d, too large for values of %d bytes", fn, capacity, size))
	}
	return n
}
