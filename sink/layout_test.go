package sink

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/seed95b73fdc/sluice/stage"
)

func panicOf(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	f()
	return "<no panic>"
}

// P11
func TestP11TypesThatAreNoPlainMemoryPanic(t *testing.T) {
	type padded struct {
		A uint8
		B uint32
	}
	type tail struct {
		A uint32
		B uint8
	}
	type inner struct{ P [2]tail }
	type linked struct{ Next *int }
	type blank struct {
		A uint8
		_ [3]uint8
	}
	none := newPath(t)
	for want, f := range map[string]func(){
		"sink.Create: type *int holds a ptr":                         func() { Create[*int](none) },
		"sink.Create: type string holds a string":                    func() { Create[string](none) },
		"sink.Open: type sink.linked is no plain memory: field Next": func() { Open[linked](none) },
		"holds a slice":     func() { Create[[3][]byte](none) },
		"holds a interface": func() { Create[any](none) },
		"holds a uintptr":   func() { Create[uintptr](none) },
		"sink.Create: type sink.padded has 3 bytes of padding before field B": func() { Create[padded](none) },
		"has 3 bytes of padding at its end":                                   func() { Create[tail](none) },
		"field P has 3 bytes of padding at its end":                           func() { Create[inner](none) },
		"has a blank field at offset 1":                                       func() { Create[blank](none) },
		"type struct {} has no bytes":                                         func() { Create[struct{}](none) },
		"has 1048577 bytes, want at most 1048576":                             func() { Create[[1<<20 + 1]byte](none) },
	} {
		if got := panicOf(f); !strings.Contains(got, want) {
			t.Errorf("%s: %s", want, got)
		}
	}
}

// P11
func TestP11BadArgumentsPanicWithTheirValue(t *testing.T) {
	none := newPath(t)
	in := stage.Of("x")
	for want, f := range map[string]func(){
		"sink.Interval: d is 1µs, want at least 1ms":             func() { Interval(time.Microsecond) },
		"sink.SegmentSize: bytes is 1, want 65536 to 1073741824": func() { SegmentSize(1) },
		"sink.PollEvery: d is 0s":                                func() { PollEvery(0) },
		"sink.Create: option is nil":                             func() { Create[int64](none, nil) },
		"sink.Create: option ReadOnly is for Open":               func() { Create[int64](none, ReadOnly()) },
		"sink.Write: log is nil":                                 func() { Write[string](t.Context(), in, nil) },
		"sink.Read: log is nil":                                  func() { Read[string](nil, 0) },
		"sink.Lines: w is nil":                                   func() { Lines(t.Context(), in, nil) },
		"sink.JSONLTo: w is nil":                                 func() { JSONLTo(in, nil) },
		"sink.Lines: option is nil":                              func() { Lines(t.Context(), in, &strings.Builder{}, nil) },
		"sink.FlushAfter: d is -1ns":                             func() { FlushAfter(-1) },
		"sink.BufferSize: bytes is 0, want at least 1":           func() { BufferSize(0) },
		"sink.Comma: r is '\\n'":                                 func() { Comma('\n') },
		"sink.Header: number of fields is 0":                     func() { Header() },
		"sink.RotateSize: bytes is 0":                            func() { RotateSize(0) },
		"sink.RotateEvery: d is 0s":                              func() { RotateEvery(0) },
		"sink.NewFile: option is nil":                            func() { NewFile(none, nil) },
		"sink.Whole: write is nil":                               func() { Whole(none, nil) },
		"sink.Batch: values is 0, want at least 1":               func() { Batch(0) },
		"sink.Resume: job is \"a'b\"":                            func() { Resume("a'b") },
		"sink.Resumed: items is -1":                              func() { Resumed("a", -1) },
		"sink.SQL: db is nil":                                    func() { SQL(t.Context(), in, nil, "i", func(string) []any { return nil }) },
	} {
		if got := panicOf(f); !strings.Contains(got, want) {
			t.Errorf("%s: %s", want, got)
		}
	}
}

// What unsafe.go relies on.
func TestBlocksWordsAndRecordsAreAligned(t *testing.T) {
	for size := 1; size <= 3*pageUnit; size++ {
		g := geometryOf(size)
		if g.block%pageUnit != 0 || g.header%g.block != 0 || wordsLen%wordBytes != 0 ||
			int(g.per)*size+wordsLen > g.block || g.per < 1 || fineOffset+fineBytes*int(g.per+1) > g.header ||
			int(g.per)*size*8 < g.block*7 {
			t.Fatalf("records of %d bytes: %+v", size, g)
		}
		for i := range 3 * g.per {
			b, k := g.at(i)
			if want := int64(g.header) + int64(b)*int64(g.block) + wordsLen + int64(k)*int64(size); g.offset(i) != want || g.end(i+1) != want+int64(size) {
				t.Fatalf("records of %d bytes: record %d at %d, want %d", size, i, g.offset(i), want)
			}
			if g.per > 100 {
				break
			}
		}
	}
	for range 100 {
		if p := uintptr(unsafe.Pointer(unsafe.SliceData(aligned(100)))); p%wordBytes != 0 {
			t.Fatalf("buffer at %#x", p)
		}
	}
}

func TestDurabilityIsCalledByItsName(t *testing.T) {
	for want, d := range map[string]Durability{"Buffered": Buffered, "EverySync": EverySync, "Interval(2s)": Interval(2 * time.Second)} {
		if d.String() != want {
			t.Errorf("%v, want %s", d, want)
		}
	}
}

func TestErrorsSayWhere(t *testing.T) {
	err := &CorruptError{Path: "readings", Record: 7, Offset: 4356}
	if got := err.Error(); got != "sink: readings: corrupt from record 7 on, at byte 4356" {
		t.Error(got)
	}
}

// A log of another machine, or of another version of this package, is refused, and the
// error says which it is.
func TestAnotherByteOrderOrVersionIsRefused(t *testing.T) {
	img := image(t, func(l *Log[event]) { appendEvents(t, l, 3); ok(t, l.Close()) })
	turn := func(b []byte) { slices.Reverse(b) }
	for want, change := range map[string]func(b []byte){
		"the other byte order": func(b []byte) {
			for at := 8; at < 24; at += 4 {
				turn(b[at : at+4])
			}
		},
		"format version 2, this program knows 1": func(b []byte) { binary.NativeEndian.PutUint32(b[8:], 2) },
	} {
		other := slices.Clone(img)
		change(other)
		binary.NativeEndian.PutUint32(other[sumOffset:], crc32.Checksum(other[:sumOffset], castagnoli))
		for _, opts := range [][]LogOption{nil, {ReadOnly()}} {
			m := newMemory()
			m.put(memPath, other)
			_, err := Open[event](memPath, append(opts, withSystem(m))...)
			if !errors.Is(err, ErrLayout) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), memPath) {
				t.Errorf("%s: %v", want, err)
			}
			if string(m.get(memPath)) != string(other) {
				t.Errorf("%s: the file was changed", want)
			}
		}
	}
}
