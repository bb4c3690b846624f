package lockfree_test

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/seed95b73fdc/sluice/lockfree"
)

func TestHoldsPointersLooksThroughArraysAndStructs(t *testing.T) {
	for name, ok := range map[string]bool{
		"numbers":     !lockfree.HoldsPointers[int]() && !lockfree.HoldsPointers[complex128]() && !lockfree.HoldsPointers[uintptr]() && !lockfree.HoldsPointers[bool](),
		"nothing":     !lockfree.HoldsPointers[struct{}]() && !lockfree.HoldsPointers[[0]*int](),
		"flat":        !lockfree.HoldsPointers[struct{ a, b [3]float64 }](),
		"pointers":    lockfree.HoldsPointers[*int]() && lockfree.HoldsPointers[unsafe.Pointer]() && lockfree.HoldsPointers[string](),
		"others":      lockfree.HoldsPointers[[]int]() && lockfree.HoldsPointers[map[int]int]() && lockfree.HoldsPointers[chan int]() && lockfree.HoldsPointers[func()]() && lockfree.HoldsPointers[any](),
		"in an array": lockfree.HoldsPointers[[2]string](),
		"in a struct": lockfree.HoldsPointers[struct {
			a int
			b struct{ c error }
		}](),
	} {
		if !ok {
			t.Error(name)
		}
	}
}

func ExampleHoldsPointers() {
	type point struct{ X, Y float64 }
	fmt.Println(lockfree.HoldsPointers[point](), lockfree.HoldsPointers[string]())
	// Output: false true
}
