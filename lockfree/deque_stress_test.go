package lockfree_test

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/lockfree"
)

// scaled returns n, or many times n where SLUICE_LONG asks for a soak.
func scaled(t testing.TB, n int) int {
	const soak = 100
	if os.Getenv("SLUICE_LONG") != "" {
		return soak * n
	}
	t.Logf("%d operations; SLUICE_LONG=1 makes it %d", n, soak*n)
	return n
}

// inTime is scaled for tests that are slow under the race detector.
func inTime(t testing.TB, n int) int {
	if lockfree.Guarded == "race" {
		n /= 10
	}
	return scaled(t, n)
}

// C54, C57, C71: every value is handed out exactly once and whole, while the owner
// pushes in bursts that make the deque grow, pops, and finds it empty, and thieves
// steal one by one and in batches.
func TestDequeHandsOutEveryValueExactlyOnce(t *testing.T) {
	share.Once(t)
	perturb(t)
	type item struct{ id, check int }
	const thieves = 4
	for _, procs := range []int{1, 2, 4, 8} {
		t.Run(fmt.Sprintf("GOMAXPROCS=%d", procs), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			total := inTime(t, 100_000)
			seen := make([]atomic.Uint32, total)
			var stolen, retries, empties, torn atomic.Int64
			var over atomic.Bool
			note := func(v item) {
				if v.check != ^v.id {
					torn.Add(1)
					return
				}
				seen[v.id].Add(1)
			}
			d := lockfree.NewDeque[item](2)
			var wg sync.WaitGroup
			for k := range thieves {
				wg.Go(func() {
					dst := make([]item, 1+3*(k%2))
					for {
						last := over.Load()
						n, o := d.StealHalf(dst)
						switch o {
						case lockfree.Success:
							stolen.Add(int64(n))
						case lockfree.Retry:
							retries.Add(1)
						default:
							empties.Add(1)
							if last {
								return
							}
							runtime.Gosched()
						}
						for _, v := range dst[:n] {
							note(v)
						}
					}
				})
			}
			popped, missed := 0, 0
			for id := 0; id < total; {
				for range min(1+id%7*(1+id%97/90*200), total-id) {
					d.Push(item{id, ^id})
					id++
				}
				if id%16 == 0 {
					runtime.Gosched()
				}
				for range id % 5 {
					if v, ok := d.Pop(); ok {
						note(v)
						popped++
					} else {
						missed++
					}
				}
			}
			over.Store(true)
			wg.Wait()
			for id := range seen {
				if n := seen[id].Load(); n != 1 {
					t.Fatalf("value %d was handed out %d times", id, n)
				}
			}
			if torn.Load() > 0 {
				t.Errorf("%d values were torn", torn.Load())
			}
			if popped+int(stolen.Load()) != total {
				t.Errorf("%d popped + %d stolen, want %d", popped, stolen.Load(), total)
			}
			t.Logf("popped %d, stolen %d, pop missed %d, retries %d, empties %d, room for %d",
				popped, stolen.Load(), missed, retries.Load(), empties.Load(), d.Cap())
			if popped == 0 || stolen.Load() == 0 || missed == 0 || d.Cap() == 2 {
				t.Error("not everything that was to be tested has happened")
			}
		})
	}
}

// The last item is where owner and thief meet: one of them has it. C56: however often
// either finds nothing, nobody sees a length that cannot be.
func TestDequeLastItemGoesToOneOfTwo(t *testing.T) {
	share.Once(t)
	perturb(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	rounds := scaled(t, 100_000)
	d := lockfree.NewDeque[int](2)
	var stolen, retried int
	done := make(chan struct{})
	var over atomic.Bool
	var sum atomic.Int64
	go func() {
		defer close(done)
		for !over.Load() {
			switch v, o := d.Steal(); o {
			case lockfree.Success:
				stolen++
				sum.Add(int64(v))
			case lockfree.Retry:
				retried++
			default:
				runtime.Gosched()
			}
			if n := d.Len(); n < 0 || n > 1 {
				t.Errorf("Len = %d, with one item at most", n)
				return
			}
		}
	}()
	popped := 0
	for v := 1; v <= rounds; v++ {
		d.Push(v)
		if v%8 == 0 {
			runtime.Gosched()
		}
		if got, ok := d.Pop(); ok {
			if got != v {
				t.Fatalf("Pop = %d, want %d", got, v)
			}
			popped++
			sum.Add(int64(v))
		}
		if n := d.Len(); n != 0 {
			t.Fatalf("Len = %d with nothing in it", n)
		}
	}
	over.Store(true)
	<-done
	if popped+stolen != rounds || sum.Load() != int64(rounds)*int64(rounds+1)/2 {
		t.Errorf("%d popped + %d stolen of %d, sum %d", popped, stolen, rounds, sum.Load())
	}
	t.Logf("popped %d, stolen %d, thief too late %d", popped, stolen, retried)
	if popped == 0 || stolen == 0 {
		t.Error("only one of the two ever had the last item")
	}
}
