package lockfree_test

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/seed95b73fdc/sluice/internal/history"
	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/lockfree"
)

// meeting is what is asked of the calls: where they are paused in their middle, they meet.
const meeting = history.Meeting(lockfree.Pausing)

// histories is how many calls of each structure are checked.
func histories(t *testing.T) int { return inTime(t, 100_000) }

// perturb lets other goroutines in, in the middle of operations, where the build has a
// place for that.
func perturb(t *testing.T) {
	lockfree.SetPause(func() {
		if rand.IntN(3) == 0 {
			runtime.Gosched()
		}
	})
	t.Cleanup(func() { lockfree.SetPause(nil) })
	if !lockfree.Pausing {
		t.Log("calls are not paused in their middle: that is for -race and -tags sluicedebug")
	}
}

// pieceLen is how many calls a client makes in one piece of a history. The more of them
// overlap, the longer it takes to find an order that explains them.
func pieceLen() int {
	if lockfree.Pausing {
		return 20
	}
	return 200
}

// yield lets others run, now and then.
func yield(k int) {
	if k%3 == 0 {
		runtime.Gosched()
	}
}

// spsc is what both the real ring and one with a planted bug can do.
type spsc interface {
	TryPush(int) bool
	TryPop() (int, bool)
	Len() int
	Close()
	Closed() bool
}

// queueModel is a queue of limited length; the first number of its state is 1 when it is
// closed.
func queueModel(capacity int) func(state []int, a history.Act) (bool, []int) {
	return func(state []int, a history.Act) (bool, []int) {
		closed, items := state[0], state[1:]
		switch a.Name {
		case "push":
			if a.OK {
				return closed == 0 && len(items) < capacity, append(state[:len(state):len(state)], a.In)
			}
			return closed == 1 || len(items) == capacity, state
		case "pop":
			if a.OK {
				return len(items) > 0 && items[0] == a.Out, append([]int{closed}, items[min(1, len(items)):]...)
			}
			return len(items) == 0, state
		case "len":
			return a.Out == len(items), state
		case "close":
			return true, append([]int{1}, items...)
		case "closed":
			return a.OK == (closed == 1), state
		}
		panic(a.Name)
	}
}

func spscPiece(of func() spsc) func(r *history.Recorder) {
	round := 0
	return func(r *history.Recorder) {
		calls := pieceLen()
		round++
		q, turn := of(), round
		producer := func() {
			do, end := r.Client(0)
			defer end()
			for k := range calls {
				do("push", k, func() (int, bool) { return 0, q.TryPush(k) })
				if k%(8+turn%50) == 0 {
					runtime.Gosched()
				}
			}
		}
		consumer := func() {
			do, end := r.Client(1)
			defer end()
			for k := range calls {
				do("pop", 0, q.TryPop)
				if k%(8+turn%70) == 0 {
					runtime.Gosched()
				}
			}
		}
		other := func() {
			do, end := r.Client(2)
			defer end()
			for k := range turn % 64 {
				do("len", 0, func() (int, bool) { return q.Len(), true })
				yield(k)
			}
			do("closed", 0, func() (int, bool) { return 0, q.Closed() })
			do("close", 0, func() (int, bool) { q.Close(); return 0, true })
			do("closed", 0, func() (int, bool) { return 0, q.Closed() })
			do("len", 0, func() (int, bool) { return q.Len(), true })
		}
		history.Together(producer, consumer, other)
	}
}

func TestSPSCIsLinearizable(t *testing.T) {
	share.Once(t)
	perturb(t)
	for _, procs := range []int{1, 2, 4} {
		func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			m := history.Model([]int{0}, queueModel(4))
			if history.Check(t, m, histories(t)/3, meeting, spscPiece(func() spsc { return lockfree.NewSPSCFrom[int](4, 10) })) {
				t.Errorf("GOMAXPROCS=%d: a history that no queue can have", procs)
			}
		}()
	}
}

// lateTail publishes a value before it is in its slot, the mistake of a ring whose
// cursors are stored in the wrong order. All of it is atomic, so that the race detector
// has nothing to say.
type lateTail struct {
	*lockfree.SPSC[int] // for Close and Closed
	slots               [4]atomic.Int64
	head, tail          atomic.Int64
}

func (q *lateTail) TryPush(v int) bool {
	tail := q.tail.Load()
	if q.Closed() || tail-q.head.Load() == 4 {
		return false
	}
	q.tail.Store(tail + 1)
	runtime.Gosched()
	q.slots[tail%4].Store(int64(v))
	return true
}

func (q *lateTail) TryPop() (int, bool) {
	head := q.head.Load()
	if head == q.tail.Load() {
		return 0, false
	}
	v := q.slots[head%4].Load()
	q.head.Store(head + 1)
	return int(v), true
}

func (q *lateTail) Len() int { return int(q.tail.Load() - q.head.Load()) }

func TestSPSCPlantedBugIsFound(t *testing.T) {
	perturb(t)
	m := history.Model([]int{0}, queueModel(4))
	if !history.Check(t, m, histories(t), meeting, spscPiece(func() spsc { return &lateTail{SPSC: lockfree.NewSPSC[int](4)} })) {
		t.Error("not found")
	}
}

// deque is what both the real deque and one with a planted bug can do.
type deque interface {
	Push(int)
	Pop() (int, bool)
	Steal() (int, lockfree.Outcome)
	Len() int
}

func dequeModel(state []int, a history.Act) (bool, []int) {
	n := len(state)
	switch a.Name {
	case "push":
		return true, append(state[:n:n], a.In)
	case "pop":
		if a.OK {
			return n > 0 && state[n-1] == a.Out, state[:max(0, n-1)]
		}
		return n == 0, state
	case "steal":
		if a.OK {
			return n > 0 && state[0] == a.Out, state[min(1, n):]
		}
		return n == 0, state
	case "retry":
		return true, state
	case "len":
		return a.Out == n, state
	}
	panic(a.Name)
}

func dequePiece(of func() deque) func(r *history.Recorder) {
	round := 0
	return func(r *history.Recorder) {
		const thieves = 2
		calls := pieceLen()
		round++
		d, turn := of(), round
		clients := []func(){func() {
			do, end := r.Client(0)
			defer end()
			for k := range calls {
				if k%(2+turn%3) == 0 || k < turn%10 {
					do("push", k, func() (int, bool) { d.Push(k); return 0, true })
				} else {
					do("pop", 0, d.Pop)
				}
				if k%(10+turn%40) == 0 {
					runtime.Gosched()
				}
			}
		}}
		for thief := range thieves {
			clients = append(clients, func() {
				do, end := r.Client(1 + thief)
				defer end()
				for k := range calls / 2 {
					if k%5 == 4 {
						do("len", 0, func() (int, bool) { return d.Len(), true })
						continue
					}
					start := r.Now()
					v, o := d.Steal()
					stop := r.Now()
					name := "steal"
					if o == lockfree.Retry {
						name = "retry"
					}
					r.Add(1+thief, start, stop, history.Act{Name: name, Out: v, OK: o == lockfree.Success})
					if k%(10+turn%30) == 0 {
						runtime.Gosched()
					}
				}
			})
		}
		history.Together(clients...)
	}
}

func TestDequeIsLinearizable(t *testing.T) {
	perturb(t)
	for _, procs := range []int{1, 2, 4} {
		func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			if history.Check(t, history.Model(nil, dequeModel), histories(t)/3, meeting, dequePiece(func() deque { return lockfree.NewDeque[int](1) })) {
				t.Errorf("GOMAXPROCS=%d: a history that no deque can have", procs)
			}
		}()
	}
}

// greedy is a deque whose owner takes the last item without asking the thieves.
type greedy struct {
	slots       [64]atomic.Int64
	top, bottom atomic.Int64
}

func (d *greedy) Push(v int) {
	b := d.bottom.Load()
	d.slots[b%64].Store(int64(v))
	d.bottom.Store(b + 1)
}

func (d *greedy) Pop() (int, bool) {
	b := d.bottom.Load() - 1
	if d.top.Load() > b {
		return 0, false
	}
	runtime.Gosched()
	d.bottom.Store(b)
	return int(d.slots[b%64].Load()), true
}

func (d *greedy) Steal() (int, lockfree.Outcome) {
	t := d.top.Load()
	if t >= d.bottom.Load() {
		return 0, lockfree.Empty
	}
	v := int(d.slots[t%64].Load())
	runtime.Gosched()
	if !d.top.CompareAndSwap(t, t+1) {
		return 0, lockfree.Retry
	}
	return v, lockfree.Success
}

func (d *greedy) Len() int { return int(max(0, d.bottom.Load()-d.top.Load())) }

func TestDequePlantedBugIsFound(t *testing.T) {
	perturb(t)
	if !history.Check(t, history.Model(nil, dequeModel), histories(t), meeting, dequePiece(func() deque { return &greedy{} })) {
		t.Error("not found")
	}
}
