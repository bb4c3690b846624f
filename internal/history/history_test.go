package history_test

import (
	"sync/atomic"
	"testing"

	"github.com/seed95b73fdc/sluice/internal/history"
)

// register is the model of a number that is written and read.
var register = history.Model([]int{0}, func(state []int, a history.Act) (bool, []int) {
	if a.Name == "write" {
		return true, []int{a.In}
	}
	return a.Out == state[0], state
})

// Two calls that meet may have come in either order, which one that came after both
// has to agree with.
func TestCheckAcceptsWhatTheModelExplainsAndNothingElse(t *testing.T) {
	for read, found := range map[int]bool{1: false, 2: false, 0: true, 3: true} {
		got := history.Check(t, register, 3, history.MustMeet, func(r *history.Recorder) {
			first, second := r.Now(), r.Now()
			r.Add(0, first, r.Now(), history.Act{Name: "write", In: 1, OK: true})
			r.Add(1, second, r.Now(), history.Act{Name: "write", In: 2, OK: true})
			do, end := r.Client(2)
			do("read", 0, func() (int, bool) { return read, true })
			end()
		})
		if got != found {
			t.Errorf("a read of %d after the writes of 1 and 2: found %v", read, got)
		}
	}
}

func TestTogetherWaitsForAll(t *testing.T) {
	var n atomic.Int64
	add := func() { n.Add(1) }
	history.Together(add, add, add)
	if n.Load() != 3 {
		t.Errorf("%d of 3 clients have run", n.Load())
	}
}
