package stage

import (
	"reflect"

	"github.com/seed95b73fdc/sluice/lockfree"
)

// pad keeps what two goroutines write apart.
type pad [lockfree.CacheLine]byte

// refs reports whether values of T keep other memory alive.
func refs[T any]() bool { return hasRefs(reflect.TypeFor[T]()) }

func hasRefs(t reflect.Type) bool {
	switch k := t.Kind(); {
	case k >= reflect.Bool && k <= reflect.Complex128:
		return false
	case k == reflect.Array:
		return t.Len() > 0 && hasRefs(t.Elem())
	case k == reflect.Struct:
		for i := range t.NumField() {
			if hasRefs(t.Field(i).Type) {
				return true
			}
		}
		return false
	}
	return true
}

// forget clears items that have been handed on, so that they keep nothing
// alive. Values without references need none of that; an error among them stays
// until its slot is used again.
func forget[T any](items []Try[T], refs bool) {
	if refs {
		clear(items)
	}
}
