package lockfree

import "reflect"

// HoldsPointers reports whether values of T keep other memory alive: whether who
// has handed a value on has to clear the place where it was. It looks at the type
// alone, so ask once and keep the answer.
func HoldsPointers[T any]() bool { return holdsPointers(reflect.TypeFor[T]()) }

func holdsPointers(t reflect.Type) bool {
	switch k := t.Kind(); {
	case k >= reflect.Bool && k <= reflect.Complex128: // numbers, uintptr included
		return false
	case k == reflect.Array:
		return t.Len() > 0 && holdsPointers(t.Elem())
	case k == reflect.Struct:
		for i := range t.NumField() { // t.Fields would allocate
			if holdsPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	}
	return true
}
