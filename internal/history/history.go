// Package history writes down what several goroutines do to one thing at once,
// and asks porcupine whether a sequential model can explain it. It serves tests.
package history

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// patience is how long porcupine may think about one piece of a history.
const patience = time.Minute

// An Act is one call with its result, as a model sees it.
type Act struct {
	Name string
	In   int
	Out  int
	OK   bool
}

// A Recorder writes down what several clients do at once. Its clock counts calls and
// returns, so that no two happen at the same time.
type Recorder struct {
	clock atomic.Int64
	mu    sync.Mutex
	ops   []porcupine.Operation
}

// Client returns a function that carries out and records calls of one client, and one to
// be called when it has ended.
func (r *Recorder) Client(id int) (do func(name string, in int, call func() (int, bool)), end func()) {
	var ops []porcupine.Operation
	do = func(name string, in int, call func() (int, bool)) {
		start := r.Now()
		out, ok := call()
		a := Act{name, in, out, ok}
		ops = append(ops, porcupine.Operation{ClientId: id, Input: a, Output: a, Call: start, Return: r.Now()})
	}
	return do, func() {
		r.mu.Lock()
		r.ops = append(r.ops, ops...)
		r.mu.Unlock()
	}
}

// Now is a time of the recorder's clock, later than all before it.
func (r *Recorder) Now() int64 { return r.clock.Add(1) }

// Add records a call that somebody has timed himself, by Now.
func (r *Recorder) Add(id int, start, stop int64, a Act) {
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

// Model makes a porcupine.Model of a state that is a list of numbers.
func Model(first []int, step func(state []int, a Act) (bool, []int)) porcupine.Model {
	return porcupine.Model{
		Init:  func() any { return first },
		Step:  func(state, _, output any) (bool, any) { return step(state.([]int), output.(Act)) },
		Equal: func(a, b any) bool { return slices.Equal(a.([]int), b.([]int)) },
	}
}

// Meeting says whether the calls of a history can be counted on to overlap.
type Meeting bool

const (
	// MustMeet makes Check fail if less than a tenth of the calls overlap.
	MustMeet Meeting = true
	// MayMeet lets them be one after the other.
	MayMeet Meeting = false
)

// Check runs pieces of a history until they have ops calls in all. It reports whether
// a piece cannot be explained by the model, and stops at the first such: to some that is
// a failure, to those who have planted a bug what they want.
func Check(t *testing.T, m porcupine.Model, ops int, meeting Meeting, piece func(r *Recorder)) (found bool) {
	t.Helper()
	done, contended := 0, 0
	for done < ops {
		var r Recorder
		piece(&r)
		done += len(r.ops)
		contended += overlaps(r.ops)
		switch porcupine.CheckOperationsTimeout(m, r.ops, patience) {
		case porcupine.Illegal:
			return true
		case porcupine.Unknown:
			t.Fatal("a piece was too long to be checked")
		}
	}
	t.Logf("%d calls, %d while another one was under way", done, contended)
	if meeting == MustMeet && contended < done/10 {
		t.Error("the calls hardly met")
	}
	return false
}
