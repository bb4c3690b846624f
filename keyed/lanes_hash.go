package keyed

import (
	"hash/maphash"
	"math/bits"
	"reflect"
)

// hasher returns a hash for keys of type K. Integers, the common case, are mixed
// by a multiplication; all others take the runtime's hash. Lanes are a matter of
// one run, so each has a seed of its own.
func hasher[K comparable]() func(K) uint64 {
	seed := maphash.MakeSeed()
	salt := maphash.Bytes(seed, nil) | 1
	var h any
	switch any((*K)(nil)).(type) {
	case *int:
		h = func(k int) uint64 { return mix(uint64(k), salt) }
	case *int64:
		h = func(k int64) uint64 { return mix(uint64(k), salt) }
	case *int32:
		h = func(k int32) uint64 { return mix(uint64(k), salt) }
	case *uint:
		h = func(k uint) uint64 { return mix(uint64(k), salt) }
	case *uint64:
		h = func(k uint64) uint64 { return mix(k, salt) }
	case *uint32:
		h = func(k uint32) uint64 { return mix(uint64(k), salt) }
	case *string:
		h = func(k string) uint64 { return maphash.String(seed, k) }
	}
	if f, ok := h.(func(K) uint64); ok {
		return f
	}
	return func(k K) uint64 { return maphash.Comparable(seed, k) }
}

// strict reports whether all values of a comparable type can be hashed: not those of
// an interface.
func strict(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface:
		return false
	case reflect.Array:
		return strict(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !strict(t.Field(i).Type) {
				return false
			}
		}
	}
	return true
}

// mix spreads x: both halves of the product of two odd-salted words, folded.
func mix(x, salt uint64) uint64 {
	hi, lo := bits.Mul64(x^salt, 0x9E3779B97F4A7C15) // 2^64 divided by the golden ratio
	return hi ^ lo
}
