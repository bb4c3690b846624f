package lockfree_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/seed95b73fdc/sluice/lockfree"
)

// C74: against a slice, in rings of every small size, and with cursors that wrap in
// the middle.
func TestSPSCDoesWhatASliceWouldDo(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	const steps, most = 4000, 9
	for capacity := 1; capacity <= most; capacity++ {
		q := lockfree.NewSPSCFrom[string](capacity, uint(rnd.IntN(2*steps)))
		var model []string
		next, full, wrapped := 0, 0, 0
		name := func() string { next++; return strconv.Itoa(next) }
		for step := range steps {
			switch rnd.IntN(4) {
			case 0:
				v := name()
				fits := len(model) < q.Cap()
				if q.TryPush(v) != fits {
					t.Fatalf("capacity %d, step %d: TryPush = %v with %d of %d", capacity, step, !fits, len(model), q.Cap())
				}
				if fits {
					model = append(model, v)
				} else {
					full++
				}
			case 1:
				vs := make([]string, rnd.IntN(q.Cap()+2))
				for i := range vs {
					vs[i] = name()
				}
				want := min(len(vs), q.Cap()-len(model))
				if n := q.Push(vs); n != want {
					t.Fatalf("capacity %d, step %d: Push of %d = %d with %d of %d", capacity, step, len(vs), n, len(model), q.Cap())
				}
				model = append(model, vs[:want]...)
				if want > 1 && next%q.Cap() < want {
					wrapped++
				}
			case 2:
				v, ok := q.TryPop()
				if ok != (len(model) > 0) || ok && v != model[0] || !ok && v != "" {
					t.Fatalf("capacity %d, step %d: TryPop = %q, %v with %v", capacity, step, v, ok, model)
				}
				model = model[min(1, len(model)):]
			case 3:
				dst := make([]string, rnd.IntN(q.Cap()+2))
				n := q.Pop(dst)
				if n != min(len(dst), len(model)) || !slices.Equal(dst[:n], model[:n]) {
					t.Fatalf("capacity %d, step %d: Pop = %v with %v", capacity, step, dst[:n], model)
				}
				model = model[n:]
			}
			if q.Len() != len(model) {
				t.Fatalf("capacity %d, step %d: Len = %d with %v", capacity, step, q.Len(), model)
			}
			inUse := 0
			for _, v := range q.Slots() {
				if v != "" {
					inUse++
				}
			}
			if inUse != len(model) {
				t.Fatalf("capacity %d, step %d: %d slots hold something, but there are %d values", capacity, step, inUse, len(model))
			}
		}
		if full == 0 || capacity > 2 && wrapped == 0 {
			t.Errorf("capacity %d: full %d times, wrapped %d times", capacity, full, wrapped)
		}
	}
}

// noCapacities are what a constructor has to refuse (C53): also what 32 bits would take
// for something small.
func noCapacities() []int {
	none := []int{math.MinInt, -1, 0, 1<<28 + 1, 1<<31 - 1, math.MaxInt}
	if one := 1; strconv.IntSize == 64 {
		none = append(none, one<<31, one<<32, one<<32+1)
	}
	return none
}

// C53.
func TestSPSCRejectsCapacitiesItCannotHave(t *testing.T) {
	for _, capacity := range noCapacities() {
		wantPanic(t, "lockfree.NewSPSC: capacity is "+strconv.Itoa(capacity)+", want 1 to ", func() { lockfree.NewSPSC[byte](capacity) })
	}
	if strconv.IntSize == 32 {
		wantPanic(t, "lockfree.NewSPSC: capacity is 268435456, too large for values of 16 bytes", func() { lockfree.NewSPSC[[16]byte](1 << 28) })
	}
	for capacity, want := range map[int]int{1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 1000: 1024, 1025: 2048} {
		if got := lockfree.NewSPSC[byte](capacity).Cap(); got != want {
			t.Errorf("NewSPSC(%d) has room for %d, want %d", capacity, got, want)
		}
	}
	if got := lockfree.NewSPSC[struct{}](1 << 28).Cap(); got != 1<<28 { // takes no memory
		t.Errorf("the largest ring has room for %d", got)
	}
}

func TestSPSCOfOneSlotIsAQueue(t *testing.T) {
	q := lockfree.NewSPSC[int](1)
	for v := range 3 {
		if !q.TryPush(v) || q.TryPush(99) || q.Push([]int{98, 97}) != 0 {
			t.Fatal("it holds another number than one")
		}
		if got, ok := q.TryPop(); got != v || !ok {
			t.Fatalf("TryPop = %d, %v, want %d", got, ok, v)
		}
		if _, ok := q.TryPop(); ok {
			t.Fatal("it held two")
		}
	}
}

// C50.
func TestSPSCKeepsNothingAliveThatWasTaken(t *testing.T) {
	q := lockfree.NewSPSC[*[1 << 20]byte](8)
	const n = 6
	gone := make(chan int, n)
	func() {
		for i := range n {
			v := new([1 << 20]byte)
			runtime.AddCleanup(v, func(i int) { gone <- i }, i)
			q.TryPush(v)
		}
		var dst [4]*[1 << 20]byte
		q.Pop(dst[:])
		q.TryPop()
		q.TryPop()
	}()
	collected(t, gone, n)
	runtime.KeepAlive(q)
}

func TestSPSCAfterCloseNothingGoesInAndAllComesOut(t *testing.T) {
	q := lockfree.NewSPSC[int](4)
	q.Push([]int{1, 2, 3})
	if q.Closed() {
		t.Error("closed from the beginning")
	}
	q.Close()
	q.Close()
	if !q.Closed() || q.TryPush(4) || q.Push([]int{4}) != 0 || q.Len() != 3 {
		t.Errorf("after Close: Closed %v, Len %d", q.Closed(), q.Len())
	}
	var dst [2]int
	if n := q.Pop(dst[:]); n != 2 || dst != [2]int{1, 2} {
		t.Errorf("Pop = %d, %v", n, dst)
	}
	if v, ok := q.TryPop(); v != 3 || !ok {
		t.Errorf("TryPop = %d, %v", v, ok)
	}
	if v, ok := q.TryPop(); ok {
		t.Errorf("TryPop of what is closed and empty = %d", v)
	}
	if slots := q.Slots(); !slices.Equal(slots, []int{1, 2, 3, 0}) {
		t.Errorf("a refused value lies in a slot: %v", slots)
	}
}

func TestSPSCAllocatesNothing(t *testing.T) {
	q := lockfree.NewSPSC[[4]string](16)
	var chunk [8][4]string
	if allocs := testing.AllocsPerRun(1000, func() {
		q.Push(chunk[:])
		q.TryPush(chunk[0])
		q.TryPop()
		q.Pop(chunk[:])
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
