package lockfree_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/seed95b73fdc/sluice/lockfree"
)

// No byte of a Value shares a line with anything outside, at any alignment, for
// sizes that are no multiple of anything. C51: its 64-bit atomics are aligned also
// behind a bool and in a slice.
func TestPaddedSharesNoLine(t *testing.T) {
	checkLayout[bool](t)
	checkLayout[[3]byte](t)
	checkLayout[atomic.Int64](t)
	checkLayout[[lockfree.CacheLine + 1]byte](t)

	type odd struct {
		_ bool
		p lockfree.Padded[atomic.Int64]
	}
	odds := make([]odd, 3)
	for i := range odds {
		if at := uintptr(unsafe.Pointer(&odds[i].p.Value)); at%8 != 0 {
			t.Errorf("the Int64 of element %d lies at %#x", i, at)
		}
		odds[i].p.Value.Add(1)
	}
}

func checkLayout[T any](t *testing.T) {
	t.Helper()
	var p lockfree.Padded[T]
	before := unsafe.Offsetof(p.Value)
	after := unsafe.Sizeof(p) - before - unsafe.Sizeof(p.Value)
	if before < lockfree.CacheLine || after < lockfree.CacheLine {
		t.Errorf("%T: %d bytes before the value, %d after, want %d", p, before, after, lockfree.CacheLine)
	}
}

func TestCacheLineIsOneThatCPUsHave(t *testing.T) {
	switch lockfree.CacheLine {
	case 64, 128, 256:
	default:
		t.Errorf("CacheLine = %d", lockfree.CacheLine)
	}
}

// What padding gains where two goroutines count, each in a variable of its own. Both
// have to run at the same time for it to be seen: with one processor, or on two
// threads of one core, the three are alike. Measured on two CPUs of an AMD EPYC, in ns:
// 12.4, 2.6 and 2.6. So this machine shows what a line of one's own gains, a factor of
// nearly five, and nothing of what a second one is for: a CPU that fetches lines in
// pairs.
func BenchmarkPadding(b *testing.B) {
	type counter = atomic.Int64
	near := new([2]counter)
	far := new([2]struct {
		counter
		_ [64 - 8]byte
	})
	padded := new([2]lockfree.Padded[counter])
	for _, v := range []struct {
		name string
		of   [2]*counter
	}{
		{"same line", [2]*counter{&near[0], &near[1]}},
		{"64 bytes apart", [2]*counter{&far[0].counter, &far[1].counter}},
		{"Padded", [2]*counter{&padded[0].Value, &padded[1].Value}},
	} {
		b.Run(v.name, func(b *testing.B) {
			var wg sync.WaitGroup
			for _, c := range v.of {
				wg.Go(func() {
					for range b.N {
						c.Add(1)
					}
				})
			}
			wg.Wait()
		})
	}
}
