package backpressure_test

import (
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/seed95b73fdc/sluice/backpressure"
	"github.com/seed95b73fdc/sluice/lockfree"
)

// C51: every 64-bit atomic of every type, here and one floor below, is aligned to 8 bytes, also where the value lies
// behind a bool, in a slice of such. On 32-bit platforms nothing but the types of
// sync/atomic sees to that.
func TestAtomicsAreAlignedWhereverAValueLiesC51(t *testing.T) {
	wide := map[reflect.Type]bool{reflect.TypeFor[atomic.Int64](): true, reflect.TypeFor[atomic.Uint64](): true}
	var walk func(name string, of reflect.Type, at uintptr) int
	walk = func(name string, of reflect.Type, at uintptr) (found int) {
		if wide[of] {
			if at%8 != 0 {
				t.Errorf("%s lies at %d", name, at)
			}
			return 1
		}
		switch of.Kind() {
		case reflect.Struct:
			for i := range of.NumField() {
				f := of.Field(i)
				found += walk(name+"."+f.Name, f.Type, at+f.Offset)
			}
		case reflect.Array:
			for i := range min(of.Len(), 4) {
				found += walk(name, of.Elem(), at+uintptr(i)*of.Elem().Size())
			}
		}
		return found
	}
	ring := reflect.TypeOf(backpressure.NewConduit[int](backpressure.Ring, 1)).Elem()
	channel := reflect.TypeOf(backpressure.NewConduit[int](backpressure.Chan, 1)).Elem()
	found := 0
	for _, of := range []reflect.Type{
		reflect.TypeFor[backpressure.PaddedSemaphore](), reflect.TypeFor[backpressure.ChanSemaphore](), ring, channel,
		reflect.TypeFor[backpressure.Budget](), reflect.TypeFor[backpressure.Account](), reflect.TypeFor[backpressure.Adaptive](),
		reflect.TypeFor[lockfree.SPSC[bool]](), reflect.TypeFor[lockfree.Deque[bool]](), reflect.TypeFor[lockfree.Padded[atomic.Int64]](),
	} {
		behind := reflect.StructOf([]reflect.StructField{
			{Name: "Bool", Type: reflect.TypeFor[bool]()},
			{Name: "Value", Type: of},
			{Name: "Last", Type: reflect.TypeFor[bool]()},
		})
		found += walk(of.String(), reflect.ArrayOf(3, behind), 0)
	}
	if found < 10 {
		t.Errorf("only %d atomics were looked at", found)
	}
}
