package backpressure_test

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/seed95b73fdc/sluice/backpressure"
)

// act is one call with its result, as a model sees it.
type act struct {
	name string
	in   int
	out  int
	ok   bool
}

// recorder writes down what several clients do at once. Its clock counts calls and
// returns, so that no two happen at the same time.
type recorder struct {
	clock atomic.Int64
	mu    sync.Mutex
	ops   []porcupine.Operation
}

// client returns a function that carries out and records calls of one client, and one to
// be called when it has ended.
func (r *recorder) client(id int) (do func(name string, in int, call func() (int, bool)), end func()) {
	var ops []porcupine.Operation
	do = func(name string, in int, call func() (int, bool)) {
		start := r.clock.Add(1)
		out, ok := call()
		a := act{name, in, out, ok}
		ops = append(ops, porcupine.Operation{ClientId: id, Input: a, Output: a, Call: start, Return: r.clock.Add(1)})
	}
	return do, func() {
		r.mu.Lock()
		r.ops = append(r.ops, ops...)
		r.mu.Unlock()
	}
}

// add records a call that somebody has timed himself.
func (r *recorder) add(id int, start, stop int64, a act) {
	r.mu.Lock()
	r.ops = append(r.ops, porcupine.Operation{ClientId: id, Input: a, Output: a, Call: start, Return: stop})
	r.mu.Unlock()
}

// overlaps is how many calls began while another one was under way.
func overlaps(ops []porcupine.Operation) int {
	ops = slices.Clone(ops)
	slices.SortFunc(ops, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	n, last := 0, int64(0)
	for _, op := range ops {
		if op.Call < last {
			n++
		}
		last = max(last, op.Return)
	}
	return n
}

// model makes a porcupine.Model of a state that is a list of numbers.
func model(first []int, step func(state []int, a act) (bool, []int)) porcupine.Model {
	return porcupine.Model{
		Init:  func() any { return first },
		Step:  func(state, _, output any) (bool, any) { return step(state.([]int), output.(act)) },
		Equal: func(a, b any) bool { return slices.Equal(a.([]int), b.([]int)) },
	}
}

// checkHistories runs pieces of a history until they have ops calls in all, and fails
// unless each can be explained by the model. It reports whether a piece could not, to
// those who have planted a bug.
func checkHistories(t *testing.T, m porcupine.Model, ops int, piece func(r *recorder)) (found bool) {
	t.Helper()
	done, contended := 0, 0
	for done < ops {
		var r recorder
		piece(&r)
		done += len(r.ops)
		contended += overlaps(r.ops)
		switch porcupine.CheckOperationsTimeout(m, r.ops, time.Minute) {
		case porcupine.Illegal:
			return true
		case porcupine.Unknown:
			t.Fatal("a piece was too long to be checked")
		}
	}
	t.Logf("%d calls, %d while another one was under way", done, contended)
	if backpressure.Pausing && contended < done/10 {
		t.Error("the calls hardly met")
	}
	return false
}

// together starts the clients at the same moment, as far as there are processors, and
// waits for them.
func together(clients ...func()) {
	const patience = 100_000
	var wg sync.WaitGroup
	var ready atomic.Int64
	procs := min(len(clients), runtime.GOMAXPROCS(0), runtime.NumCPU())
	for _, c := range clients {
		wg.Go(func() {
			ready.Add(1)
			for k := 0; int(ready.Load()) < procs && k < patience; k++ {
				if k%1000 == 999 {
					runtime.Gosched()
				}
			}
			c()
		})
	}
	wg.Wait()
}
