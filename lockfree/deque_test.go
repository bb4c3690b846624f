package lockfree_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed95b73fdc/sluice/lockfree"
)

func TestDequeIsAStackForItsOwnerAndAQueueForThieves(t *testing.T) {
	d := lockfree.NewDeque[int](4)
	for v := range 4 {
		d.Push(v)
	}
	if v, ok := d.Pop(); v != 3 || !ok {
		t.Errorf("Pop = %d, %v, want the last one pushed, 3", v, ok)
	}
	if v, o := d.Steal(); v != 0 || o != lockfree.Success {
		t.Errorf("Steal = %d, %v, want the first one pushed, 0", v, o)
	}
	if n := d.Len(); n != 2 {
		t.Errorf("Len = %d, want 2", n)
	}
}

// C56.
func TestDequePopOnEmptyLeavesItUsable(t *testing.T) {
	d := lockfree.NewDeque[int](1)
	for range 1000 {
		if v, ok := d.Pop(); v != 0 || ok {
			t.Fatalf("Pop of an empty deque = %d, %v", v, ok)
		}
		if _, o := d.Steal(); o != lockfree.Empty {
			t.Fatalf("Steal of an empty deque = %v", o)
		}
		if n := d.Len(); n != 0 {
			t.Fatalf("Len of an empty deque = %d", n)
		}
	}
	d.Push(7)
	if v, ok := d.Pop(); v != 7 || !ok {
		t.Errorf("Pop = %d, %v, want 7", v, ok)
	}
	if _, ok := d.Pop(); ok {
		t.Error("the second Pop found something")
	}
	d.Push(8)
	if v, o := d.Steal(); v != 8 || o != lockfree.Success {
		t.Errorf("Steal = %d, %v, want 8", v, o)
	}
}

func TestDequeStealHalfTakesHalfRoundedUpOldestFirst(t *testing.T) {
	d := lockfree.NewDeque[int](2)
	for v := range 9 {
		d.Push(v)
	}
	dst := make([]int, 8)
	if n, o := d.StealHalf(dst); n != 5 || o != lockfree.Success || !slices.Equal(dst[:n], []int{0, 1, 2, 3, 4}) {
		t.Errorf("StealHalf of 9 = %d, %v, %v", n, o, dst)
	}
	if n, o := d.StealHalf(dst[:1]); n != 1 || o != lockfree.Success || dst[0] != 5 {
		t.Errorf("StealHalf with room for one = %d, %v, %v", n, o, dst[:1])
	}
	if n, o := d.StealHalf(nil); n != 0 || o != lockfree.Empty {
		t.Errorf("StealHalf with no room = %d, %v", n, o)
	}
	if n := d.Len(); n != 3 {
		t.Errorf("Len = %d, want 3", n)
	}
	d = lockfree.NewDeque[int](2)
	if n, o := d.StealHalf(dst); n != 0 || o != lockfree.Empty {
		t.Errorf("StealHalf of an empty deque = %d, %v", n, o)
	}
}

// Against a slice, from every place in rings of every size it grows through.
func TestDequeDoesWhatASliceWouldDo(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 50 {
		d, model, next := lockfree.NewDeque[int](1+rnd.IntN(3)), []int(nil), 0
		grown, limit := 0, d.Cap()
		for step := range 2000 {
			switch k := rnd.IntN(10); {
			case k < 5 && len(model) < 100:
				d.Push(next)
				model = append(model, next)
				next++
			case k < 7:
				v, ok := d.Pop()
				if ok != (len(model) > 0) || ok && v != model[len(model)-1] {
					t.Fatalf("step %d: Pop = %d, %v with %v", step, v, ok, model)
				}
				model = model[:max(0, len(model)-1)]
			case k < 9:
				v, o := d.Steal()
				if (o == lockfree.Success) != (len(model) > 0) || o == lockfree.Success && v != model[0] {
					t.Fatalf("step %d: Steal = %d, %v with %v", step, v, o, model)
				}
				model = model[min(1, len(model)):]
			default:
				dst := make([]int, rnd.IntN(4))
				want := min(len(dst), (len(model)+1)/2)
				n, _ := d.StealHalf(dst)
				if n != want || !slices.Equal(dst[:n], model[:n]) {
					t.Fatalf("step %d: StealHalf = %v with %v", step, dst[:n], model)
				}
				model = model[n:]
			}
			if d.Len() != len(model) {
				t.Fatalf("step %d: Len = %d with %v", step, d.Len(), model)
			}
			if d.Cap() > limit {
				grown, limit = grown+1, d.Cap()
			}
		}
		if grown == 0 {
			t.Error("the deque never grew")
		}
		if limit > 128 {
			t.Errorf("at most 100 items, but room for %d", limit)
		}
	}
}

func TestDequeAllocatesOnlyToGrow(t *testing.T) {
	d := lockfree.NewDeque[[4]int](64)
	allocs := testing.AllocsPerRun(1000, func() {
		for range 64 {
			d.Push([4]int{})
		}
		for range 32 {
			d.Steal()
			d.Pop()
		}
	})
	if allocs != 0 || d.Cap() != 64 {
		t.Errorf("%v allocations per 64 items, room for %d", allocs, d.Cap())
	}
}

// C50.
func TestDequeKeepsNothingAliveThatWasTaken(t *testing.T) {
	d := lockfree.NewDeque[*[1 << 20]byte](2)
	const n = 6
	gone := make(chan int, n)
	func() {
		for i := range n { // grows twice, so the old rings are looked at too
			v := new([1 << 20]byte)
			runtime.AddCleanup(v, func(i int) { gone <- i }, i)
			d.Push(v)
		}
		for range n / 2 {
			d.Pop()
			d.Steal()
		}
	}()
	collected(t, gone, n)
	runtime.KeepAlive(d)
}

// collected fails unless n values are collected within some garbage collections.
func collected(t *testing.T, gone <-chan int, n int) {
	t.Helper()
	for range 100 {
		runtime.GC()
		if len(gone) == n {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%d of %d values are kept alive", n-len(gone), n)
}

// C53.
func TestDequeRejectsCapacitiesItCannotHave(t *testing.T) {
	for _, capacity := range noCapacities() {
		wantPanic(t, "lockfree.NewDeque: capacity is "+strconv.Itoa(capacity)+", want 1 to ", func() { lockfree.NewDeque[byte](capacity) })
	}
	for capacity, want := range map[int]int{1: 1, 2: 2, 3: 4, 1000: 1024} {
		if got := lockfree.NewDeque[byte](capacity).Cap(); got != want {
			t.Errorf("NewDeque(%d) has room for %d, want %d", capacity, got, want)
		}
	}
}

// wantPanic fails unless f panics with a text that begins with want.
func wantPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if p := recover(); p == nil {
			t.Errorf("no panic, want %q", want)
		} else if text, _ := p.(string); !strings.HasPrefix(text, want) {
			t.Errorf("panic %q, want %q", p, want)
		}
	}()
	f()
}
