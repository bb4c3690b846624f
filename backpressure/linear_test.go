package backpressure_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/seed95b73fdc/sluice/backpressure"
	"github.com/seed95b73fdc/sluice/internal/history"
	"github.com/seed95b73fdc/sluice/internal/share"
)

// meeting is what is asked of the calls: where they are paused in their middle, they meet.
const meeting = history.Meeting(backpressure.Pausing)

// histories is how many calls of each structure are checked.
func histories(t *testing.T) int {
	if backpressure.Pausing {
		return scaled(t, 25_000)
	}
	return scaled(t, 100_000)
}

// perturb lets other goroutines in, in the middle of operations, where the build has a
// place for that.
func perturb(t *testing.T) {
	backpressure.SetPause(func() {
		if rand.IntN(3) == 0 {
			runtime.Gosched()
		}
	})
	t.Cleanup(func() { backpressure.SetPause(nil) })
	if !backpressure.Pausing {
		t.Log("calls are not paused in their middle: that is for -race and -tags sluicedebug")
	}
}

// permitModel is a semaphore: its limit and the permits in use. A TryAcquire may always
// fail, because somebody may be waiting; that it does not without a reason is tested
// elsewhere.
func permitModel(state []int, a history.Act) (bool, []int) {
	limit, inUse := state[0], state[1]
	switch a.Name {
	case "acquire":
		return inUse+a.In <= limit, []int{limit, inUse + a.In}
	case "try":
		if a.OK {
			return inUse+a.In <= limit, []int{limit, inUse + a.In}
		}
		return true, state
	case "cancelled":
		return true, state
	case "release":
		return inUse >= a.In, []int{limit, inUse - a.In}
	case "resize":
		return true, []int{a.In, inUse}
	}
	panic(a.Name)
}

// permits is what both the real semaphores and one with a planted bug can do.
type permits interface {
	Acquire(ctx context.Context, n int) error
	TryAcquire(n int) bool
	Release(n int)
	Resize(n int)
}

func permitPiece(of func() permits) func(r *history.Recorder) {
	return func(r *history.Recorder) {
		const clients, calls = 4, 6
		sem := of()
		client := func(id int) func() {
			return func() {
				do, end := r.Client(id)
				defer end()
				for k := range calls {
					n := 1 + (id+k)%3
					held := true
					start := r.Now()
					switch (id + k) % 3 {
					case 0:
						held = sem.TryAcquire(n)
						r.Add(id, start, r.Now(), history.Act{Name: "try", In: n, OK: held})
					case 1:
						ctx, cancel := context.WithCancel(context.Background())
						go func() {
							runtime.Gosched()
							cancel()
						}()
						name := "acquire"
						if sem.Acquire(ctx, n) != nil {
							name, held = "cancelled", false
						}
						r.Add(id, start, r.Now(), history.Act{Name: name, In: n, OK: held})
					default:
						sem.Acquire(context.Background(), n)
						r.Add(id, start, r.Now(), history.Act{Name: "acquire", In: n, OK: true})
					}
					if k%2 == 0 {
						runtime.Gosched()
					}
					if held {
						do("release", n, func() (int, bool) { sem.Release(n); return 0, true })
					}
				}
			}
		}
		resizer := func() {
			do, end := r.Client(clients)
			defer end()
			for k := range 4 {
				n := 3 + k%2
				do("resize", n, func() (int, bool) { sem.Resize(n); return 0, true })
				runtime.Gosched()
			}
		}
		history.Together(client(0), client(1), client(2), client(3), resizer)
	}
}

func TestSemaphoresAreLinearizable(t *testing.T) {
	share.Once(t)
	perturb(t)
	for name, of := range semaphores {
		for _, procs := range []int{1, 2, 4} {
			t.Run(fmt.Sprintf("%s/GOMAXPROCS=%d", name, procs), func(t *testing.T) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				if history.Check(t, history.Model([]int{3, 0}, permitModel), histories(t)/3, meeting, permitPiece(func() permits { return of(3) })) {
					t.Error("a history that no semaphore can have")
				}
			})
		}
	}
}

// hasty looks whether there is room, and takes it later.
type hasty struct{ limit, inUse atomic.Int64 }

func (s *hasty) TryAcquire(n int) bool {
	if s.inUse.Load()+int64(n) > s.limit.Load() {
		return false
	}
	runtime.Gosched()
	s.inUse.Add(int64(n))
	return true
}

func (s *hasty) Acquire(ctx context.Context, n int) error {
	for !s.TryAcquire(n) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		runtime.Gosched()
	}
	return nil
}

func (s *hasty) Release(n int) { s.inUse.Add(-int64(n)) }
func (s *hasty) Resize(n int)  { s.limit.Store(int64(n)) }

func TestSemaphorePlantedBugIsFound(t *testing.T) {
	perturb(t)
	found := history.Check(t, history.Model([]int{3, 0}, permitModel), histories(t), meeting, permitPiece(func() permits {
		s := &hasty{}
		s.Resize(3)
		return s
	}))
	if !found {
		t.Error("not found")
	}
}

// queueModel is a conduit; the first number of its state is 1 when it is closed, and 2
// when somebody has been told of the end. Between the two, late senders of a Chan may
// still come in, and a TryRecv may find nothing though an item is about to arrive.
func queueModel(capacity int, late bool) func(state []int, a history.Act) (bool, []int) {
	return func(state []int, a history.Act) (bool, []int) {
		closed, items := state[0], state[1:]
		switch a.Name {
		case "send":
			return (closed == 0 || closed == 1 && late) && len(items) < capacity, append(state[:len(state):len(state)], a.In)
		case "full":
			return len(items) == capacity && closed == 0, state
		case "refused":
			return closed != 0, state
		case "recv":
			return len(items) > 0 && items[0] == a.Out, append([]int{closed}, items[min(1, len(items)):]...)
		case "empty":
			return closed == 0 && len(items) == 0 || closed == 1 && late, state
		case "end":
			return closed != 0 && len(items) == 0, []int{2}
		case "close":
			return true, append([]int{max(1, closed)}, items...)
		case "gone": // a context was done
			return true, state
		}
		panic(a.Name)
	}
}

// conduit is what both the real ones and one with a planted bug can do.
type conduit interface {
	Send(ctx context.Context, items []int) (int, error)
	Recv(ctx context.Context, dst []int) (int, error)
	TrySend(items []int) (int, error)
	TryRecv(dst []int) (int, error)
	Close()
}

func conduitPiece(ends int, of func() conduit) func(r *history.Recorder) {
	round := 0
	return func(r *history.Recorder) {
		const calls = 12
		round++
		c, turn := of(), round
		name := func(n int, err error, done, none, over string) string {
			switch {
			case n == 1:
				return done
			case errors.Is(err, context.Canceled):
				return "gone"
			case err != nil:
				return over
			}
			return none
		}
		// ctx is one that ends some time, if the other end has gone.
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		sender := func(id int) func() {
			return func() {
				for k := range calls {
					v, n, err := 100*id+k, 0, error(nil)
					start := r.Now()
					if k%3 == 0 {
						n, err = c.TrySend([]int{v})
					} else {
						n, err = c.Send(ctx, []int{v})
					}
					r.Add(id, start, r.Now(), history.Act{Name: name(n, err, "send", "full", "refused"), In: v, OK: true})
				}
			}
		}
		receiver := func(id int) func() {
			return func() {
				for k := range calls {
					n, err := 0, error(nil)
					var dst [1]int
					start := r.Now()
					if k%3 == 0 {
						n, err = c.TryRecv(dst[:])
					} else {
						n, err = c.Recv(ctx, dst[:])
					}
					r.Add(id, start, r.Now(), history.Act{Name: name(n, err, "recv", "empty", "end"), Out: dst[0], OK: true})
				}
			}
		}
		closer := func() {
			do, end := r.Client(2 * ends)
			defer end()
			for range turn % 20 {
				runtime.Gosched()
			}
			do("close", 0, func() (int, bool) { c.Close(); return 0, true })
		}
		clients := []func(){closer}
		for end := range ends {
			clients = append(clients, sender(2*end), receiver(2*end+1))
		}
		history.Together(clients...)
	}
}

func TestConduitsAreLinearizable(t *testing.T) {
	share.Once(t)
	perturb(t)
	for transport, ends := range map[backpressure.Transport]int{backpressure.Ring: 1, backpressure.Chan: 2} {
		for _, procs := range []int{1, 2, 4} {
			t.Run(fmt.Sprintf("%v/GOMAXPROCS=%d", transport, procs), func(t *testing.T) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				m := history.Model([]int{0}, queueModel(2, transport == backpressure.Chan))
				piece := conduitPiece(ends, func() conduit { return backpressure.NewConduit[int](transport, 2) })
				if history.Check(t, m, histories(t)/3, meeting, piece) {
					t.Error("a history that no conduit can have")
				}
			})
		}
	}
}

// forgetful looks whether it is closed before it sends, and loses what comes in between.
type forgetful struct {
	backpressure.Conduit[int]
	closed atomic.Bool
}

func (f *forgetful) Close() { f.closed.Store(true); f.Conduit.Close() }

func (f *forgetful) TrySend(items []int) (int, error) {
	if f.closed.Load() {
		return 0, backpressure.ErrClosed
	}
	runtime.Gosched()
	if n, err := f.Conduit.TrySend(items); n > 0 || err == nil {
		return n, err
	}
	return len(items), nil
}

func TestConduitPlantedBugIsFound(t *testing.T) {
	perturb(t)
	m := history.Model([]int{0}, queueModel(2, false))
	if !history.Check(t, m, histories(t), meeting, conduitPiece(1, func() conduit {
		return &forgetful{Conduit: backpressure.NewConduit[int](backpressure.Ring, 2)}
	})) {
		t.Error("not found")
	}
}
