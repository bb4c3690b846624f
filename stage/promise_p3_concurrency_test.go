package stage_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/stage"
)

// P3: whenever n items can be had and the window allows, n calls of f are
// running, never more. An idle worker and a claimed item whose call has not
// started never coexist.

// f is cheap for a while, so that items share cells, and then blocks.
func TestP3ExactlyNCallsRunAlsoWhenCheapCallsSuddenlyBlock(t *testing.T) {
	for _, r := range share.Rows(t, engineRuns()) {
		t.Run(r.name, func(t *testing.T) {
			for _, n := range sizes(1, 2, 3, 8, 32) {
				windows := []int{0, 1, 3*n + 1}
				if !r.opts {
					windows = windows[:1]
				}
				for _, w := range windows {
					for _, cheap := range sizes(0, 100, 1500) {
						synctest.Test(t, func(t *testing.T) { blockAfter(t, r, n, w, cheap) })
					}
				}
			}
		})
	}
}

func blockAfter(t *testing.T, r engineRun, n, w, cheap int) {
	want := n
	if w > 0 {
		want = min(n, w)
	}
	src := &tally{t: t, size: cheap + 3*n + 70}
	var m meter
	gate := make(chan struct{})
	over := make(chan error, 1)
	go func() {
		over <- r.run(t.Context(), src.stream(), n, func(_ context.Context, v int) error {
			m.enter()
			defer m.leave()
			if v >= cheap {
				<-gate
			}
			return nil
		}, windowed(w)...)
	}()
	synctest.Wait()
	if got := int(m.running.Load()); got != want {
		t.Errorf("n=%d window=%d after %d cheap calls: %d running, want %d", n, w, cheap, got, want)
	}
	close(gate)
	if err := <-over; err != nil {
		t.Error(err)
	}
	if calls, most := int(m.calls.Load()), int(m.most.Load()); calls != src.size || most > want {
		t.Errorf("n=%d window=%d: %d calls of %d, %d at once", n, w, calls, src.size, most)
	}
}

// Some calls are stuck, in one cell or in several; the workers that are left
// do everything that the window lets them have.
func TestP3StuckCallsKeepNoItemFromStarting(t *testing.T) {
	for _, r := range share.Rows(t, engineRuns()) {
		t.Run(r.name, func(t *testing.T) {
			for _, n := range sizes(2, 3, 8) {
				windows, aparts := sizes(0, n, 300), []int{37, 1}
				if !r.opts {
					windows = windows[:1]
				}
				if raced {
					aparts = aparts[:1]
				}
				for _, w := range windows {
					for _, stuck := range []int{1, n - 1} {
						for _, apart := range aparts {
							synctest.Test(t, func(t *testing.T) { stuckIn(t, r, n, w, stuck, apart) })
						}
					}
				}
			}
		})
	}
}

func stuckIn(t *testing.T, r engineRun, n, w, stuck, apart int) {
	const cheap = 400
	src := &tally{t: t, size: cheap + 1000}
	var m meter
	gate := make(chan struct{})
	over := make(chan error, 1)
	go func() {
		over <- r.run(t.Context(), src.stream(), n, func(_ context.Context, v int) error {
			m.enter()
			defer m.leave()
			if k := v - cheap; k >= 0 && k%apart == 0 && k/apart < stuck {
				<-gate
			}
			return nil
		}, windowed(w)...)
	}()
	synctest.Wait()
	where := fmt.Sprintf("n=%d window=%d, %d stuck %d apart", n, w, stuck, apart)
	running, calls, handed := int(m.running.Load()), int(m.calls.Load()), int(src.handed.Load())
	if calls != handed {
		t.Errorf("%s: %d items taken from upstream, %d started", where, handed, calls)
	}
	switch {
	case r.order == stage.AnyOrder && (calls != src.size || running != stuck):
		t.Errorf("%s: %d of %d started, %d running", where, calls, src.size, running)
	case r.order == stage.InOrder && w > 0 && calls != cheap+w:
		t.Errorf("%s: %d started, want %d", where, calls, cheap+w)
	case r.order == stage.InOrder && w == 0 && (calls < cheap+n || calls > cheap+64*n):
		t.Errorf("%s: %d started, want %d to %d", where, calls, cheap+n, cheap+64*n)
	}
	close(gate)
	if err := <-over; err != nil {
		t.Error(err)
	}
	if got := int(m.calls.Load()); got != src.size {
		t.Errorf("%s: %d calls of %d", where, got, src.size)
	}
}

// Items come one at a time, and calls end one at a time.
func TestP3ATrickleOfItemsStartsACallForEach(t *testing.T) {
	for _, r := range share.Rows(t, engineRuns()) {
		t.Run(r.name, func(t *testing.T) {
			for _, n := range []int{1, 2, 4, 8} {
				for _, cheap := range []int{0, 300} {
					synctest.Test(t, func(t *testing.T) { trickle(t, r, n, cheap) })
				}
			}
		})
	}
}

func trickle(t *testing.T, r engineRun, n, cheap int) {
	const more = 5
	feed := make(chan int, cheap+n+more)
	gate := make(chan struct{})
	var m meter
	over := make(chan error, 1)
	go func() {
		over <- r.run(t.Context(), stage.FromChan(feed), n, func(_ context.Context, v int) error {
			m.enter()
			defer m.leave()
			if v >= cheap {
				<-gate
			}
			return nil
		})
	}()
	running := func(want int, when string) {
		t.Helper()
		synctest.Wait()
		if got := int(m.running.Load()); got != want {
			t.Errorf("n=%d, %d cheap, %s: %d running, want %d", n, cheap, when, got, want)
		}
	}
	for v := range cheap {
		feed <- v
	}
	running(0, "before")
	for k := range n + more {
		feed <- cheap + k
		running(min(k+1, n), fmt.Sprint(k+1, " come"))
	}
	for left := n + more - 1; left >= 0; left-- {
		gate <- struct{}{}
		running(min(left, n), fmt.Sprint(left, " left"))
	}
	close(feed)
	if err := <-over; err != nil {
		t.Error(err)
	}
}

// A lull in the source finds nobody asleep at the wrong time: long stretches
// of cheap calls and barriers that n calls have to reach, in turns.
func TestP3NCallsMeetAtBarrierAfterBarrier(t *testing.T) {
	for _, r := range share.Rows(t, unordered()) {
		t.Run(r.name, func(t *testing.T) {
			for _, n := range []int{2, 3, 4, 8} {
				synctest.Test(t, func(t *testing.T) {
					if missed := barriers(t, r, n, 12); missed > 0 {
						t.Errorf("n=%d: %d calls waited for others that did not come", n, missed)
					}
				})
			}
		})
	}
}

// C59: the same on the machine's clock and on one processor, where whoever
// spins keeps the others from running.
func TestP3NCallsMeetInRealTimeOnAnyNumberOfProcessors(t *testing.T) {
	share.Once(t)
	for _, procs := range []int{1, 2, 4} {
		old := runtime.GOMAXPROCS(procs)
		for _, r := range unordered() {
			for _, n := range []int{2, 4, 8} {
				if missed := barriers(t, r, n, 12); missed > 0 {
					t.Errorf("%s on %d processors, n=%d: %d calls waited for others that did not come", r.name, procs, n, missed)
				}
			}
		}
		runtime.GOMAXPROCS(old)
	}
}

// unordered are the runs in which a finished call never keeps its place in the
// window while an earlier one waits, so that any n calls in a row can meet.
func unordered() []engineRun {
	return slices.DeleteFunc(engineRuns(), func(r engineRun) bool { return r.order == stage.InOrder })
}

// barriers runs rounds of cheap calls, each followed by n calls that wait for
// each other, and returns how many have waited in vain.
func barriers(t *testing.T, r engineRun, n, rounds int) (missed int64) {
	const patience = 5 * time.Second
	stretch := []int{0, 500, 3, 64, 129, 1}
	type barrier struct {
		left atomic.Int64
		met  chan struct{}
	}
	at := map[int]*barrier{} // by the number of the call
	size := 0
	for k := range rounds {
		b := &barrier{met: make(chan struct{})}
		b.left.Store(int64(n))
		size += stretch[k%len(stretch)]
		for range n {
			at[size] = b
			size++
		}
	}
	var calls, count atomic.Int64
	missing := make(chan struct{})
	err := r.run(t.Context(), stage.FromSlice(upTo(size)), n, func(context.Context, int) error {
		b := at[int(calls.Add(1))-1]
		if b == nil {
			return nil
		}
		if b.left.Add(-1) == 0 {
			close(b.met)
		}
		select {
		case <-b.met:
		case <-missing: // only the first one takes its time
		case <-time.After(patience):
			if count.Add(1) == 1 {
				close(missing)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return count.Load()
}

// Reduce combines pairs, so n calls need 2·n values.
func TestP3ReduceRunsNCalls(t *testing.T) {
	for _, n := range []int{2, 4, 8} {
		synctest.Test(t, func(t *testing.T) {
			var m meter
			gate := make(chan struct{})
			var wg sync.WaitGroup
			wg.Go(func() {
				sum, ok, err := stage.Reduce(t.Context(), stage.FromSlice(upTo(1000)), n, func(_ context.Context, a, b int) (int, error) {
					defer m.leave()
					if m.enter() > 300 {
						<-gate
					}
					return a + b, nil
				})
				if sum != 499500 || !ok || err != nil {
					t.Error(sum, ok, err)
				}
			})
			synctest.Wait()
			if got := int(m.running.Load()); got != n {
				t.Errorf("%d running, want %d", got, n)
			}
			close(gate)
			wg.Wait()
			if most := int(m.most.Load()); most != n {
				t.Errorf("%d at once, want %d", most, n)
			}
		})
	}
}

// Every stage of a chain has its n calls.
func TestP3EveryStageOfAChainRunsItsCalls(t *testing.T) {
	for _, op := range share.Rows(t, cellOps) {
		t.Run(op.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ns := []int{3, 5, 2, 8}
				meters := make([]meter, len(ns))
				gate := make(chan struct{})
				in := stage.FromSlice(upTo(5000))
				for i, n := range ns {
					in = op.over(in, n, func(_ context.Context, v int) error {
						meters[i].enter()
						defer meters[i].leave()
						if v >= 1000+500*(len(ns)-i) {
							<-gate
						}
						return nil
					}, stage.Window(n))
				}
				over := make(chan error, 1)
				go func() { over <- stage.Discard(t.Context(), in) }()
				synctest.Wait()
				last := len(ns) - 1
				if got := int(meters[last].running.Load()); got != ns[last] {
					t.Errorf("last stage: %d running, want %d", got, ns[last])
				}
				close(gate)
				if err := <-over; err != nil {
					t.Error(err)
				}
				for i, n := range ns {
					if most, calls := int(meters[i].most.Load()), int(meters[i].calls.Load()); most > n || calls != 5000 {
						t.Errorf("stage %d: %d at once of %d, %d calls", i, most, n, calls)
					}
				}
			})
		})
	}
}
