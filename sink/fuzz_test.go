package sink

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"testing"
)

// FuzzOpen opens any bytes as a log: an error or a log, and that again when it has
// been recovered, closed, and opened.
func FuzzOpen(f *testing.F) {
	for _, img := range seeds(f) {
		f.Add(img)
	}
	f.Add([]byte{})
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, img []byte) {
		if len(img) > memLargest/2 {
			return
		}
		openAny(t, img)
	})
}

// FuzzDamage changes a good log in a few places, so that the header's checksum is
// not all that is ever seen.
func FuzzDamage(f *testing.F) {
	imgs := seeds(f)
	f.Add(uint8(0), []byte{16, 0, 1})
	f.Add(uint8(1), []byte{16, 32, 255, 16, 33, 7})
	f.Fuzz(func(t *testing.T, which uint8, changes []byte) {
		img := bytes.Clone(imgs[int(which)%len(imgs)])
		for ; len(changes) >= 3; changes = changes[3:] {
			at := int(changes[0])<<8 | int(changes[1])
			img[at%len(img)] ^= changes[2]
		}
		if n := openAny(t, img); n > 300 {
			t.Errorf("%d records of 300", n)
		}
	})
}

func seeds(t testing.TB) (imgs [][]byte) {
	all := images(t, 300)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		img := all[name]
		imgs = append(imgs, img[:min(len(img), int(geometryOf(32).end(300))+100)])
	}
	return imgs
}

// openAny opens the bytes for reading and for writing, which must agree, and
// returns how many records there are.
func openAny(t *testing.T, img []byte) uint64 {
	m := newMemory()
	m.show(memPath, img)
	r, rerr := Open[event](memPath, withSystem(m), ReadOnly())
	if rerr != nil && !errors.Is(rerr, ErrCorrupt) && !errors.Is(rerr, ErrNotLog) && !errors.Is(rerr, ErrLayout) {
		t.Fatal(rerr)
	}
	if rerr == nil {
		for i, e := range r.Records() {
			_, _ = i, e
		}
	}
	m.put(memPath, img)
	l, err := Open[event](memPath, withSystem(m))
	if (err == nil) != (rerr == nil) {
		t.Fatalf("for writing %v, for reading %v", err, rerr)
	}
	if err != nil {
		return 0
	}
	if r.Len() < l.Len() {
		t.Fatalf("%d records for reading, %d for writing", r.Len(), l.Len())
	}
	n := l.Len()
	if n < 1<<40 {
		must[uint64](t)(l.Append(eventOf(n)))
		ok(t, l.Close())
		l = must[*Log[event]](t)(Open[event](memPath, withSystem(m)))
		if l.Len() != n+1 || !l.Recovery().Clean {
			t.Fatalf("%d records after %d and one: %v", l.Len(), n, l.Recovery())
		}
	}
	ok(t, l.Close())
	return n
}
