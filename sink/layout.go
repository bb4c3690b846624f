package sink

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// maxRecord is the largest record, in bytes.
const maxRecord = 1 << 20

// layout is how the records of a log lie in memory and, unchanged, in its file.
type layout struct {
	size int    // bytes of a record
	text string // its fields in order, such as "{ID uint64; Sum [4]byte}"
}

// layoutOf returns the layout of t, and panics in the name of fn if its values
// cannot be written as they lie in memory: a pointer means nothing to another
// process, and padding would write whatever memory held before.
func layoutOf(fn string, t reflect.Type) layout {
	var b strings.Builder
	if flaw := describe(&b, t); flaw != "" {
		panic(fmt.Sprintf("%s: type %v %s", fn, t, flaw))
	}
	switch size := t.Size(); {
	case size == 0:
		panic(fmt.Sprintf("%s: type %v has no bytes", fn, t))
	case size > maxRecord:
		panic(fmt.Sprintf("%s: type %v has %d bytes, want at most %d", fn, t, size, maxRecord))
	}
	return layout{int(t.Size()), b.String()}
}

// describe writes what a value of t consists of, with the sizes of all parts,
// and returns what is wrong with it, if anything. Names of fields are part of
// it, names of types are not: a type may be renamed, but two fields of one size
// may not trade places unseen.
func describe(b *strings.Builder, t reflect.Type) (flaw string) {
	switch k := t.Kind(); k {
	case reflect.Bool, reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128,
		reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		b.WriteString(k.String())
	case reflect.Int, reflect.Uint: // not as wide everywhere
		fmt.Fprintf(b, "%v%d", k, 8*t.Size())
	case reflect.Array:
		fmt.Fprintf(b, "[%d]", t.Len())
		return describe(b, t.Elem())
	case reflect.Struct:
		return describeStruct(b, t)
	default:
		return fmt.Sprintf("holds a %v, which means nothing outside of this process", k)
	}
	return ""
}

func describeStruct(b *strings.Builder, t reflect.Type) (flaw string) {
	end := uintptr(0)
	b.WriteByte('{')
	for i := range t.NumField() {
		f := t.Field(i)
		if i > 0 {
			b.WriteString("; ")
		}
		if f.Name == "_" {
			return fmt.Sprintf("has a blank field at offset %d, whose bytes Go does not define; give it a name", f.Offset)
		}
		if f.Offset != end {
			return fmt.Sprintf("has %d bytes of padding before field %s; fill them with a named field", f.Offset-end, f.Name)
		}
		b.WriteString(f.Name + " ")
		if flaw := describe(b, f.Type); flaw != "" {
			return fmt.Sprintf("is no plain memory: field %s %s", f.Name, flaw)
		}
		end += f.Type.Size()
	}
	b.WriteByte('}')
	if end != t.Size() {
		return fmt.Sprintf("has %d bytes of padding at its end; fill them with a named field", t.Size()-end)
	}
	return ""
}

// fingerprint tells layouts apart, the same in every process.
func (l layout) fingerprint() uint64 { return xxhash.Sum64String(l.text) }
