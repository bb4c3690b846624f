package keyed

import (
	"context"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed95b73fdc/sluice/lockfree"
	"github.com/seed95b73fdc/sluice/stage"
)

// Lanes: the engine under Map, OrderedMap, Process and Reduce. n workers take
// turns at pulling. Whoever has the pull right takes some items from upstream and
// puts each into the lane of its key; lanes that had none before go into the
// puller's own deque. A worker runs the lanes of its deque, one after the other,
// with all that has come for them; if it has none it pulls, or steals one from
// another worker's deque. Results go into the worker's outlet, which the reader
// empties. While calls are very cheap the puller runs what it has pulled itself,
// and there is nothing in the lanes (lanes_solo.go).
//
// Who waits for whom:
//
//   - a worker without work waits in idle, for rouse;
//   - the reader waits in cons, for a result that it can take, or the end;
//   - the worker with the pull right waits inside upstream's Next.
//
// Invariants:
//
//   - held is the number of items taken from upstream and not yet taken by
//     downstream, plus those just being asked for; held ≤ limit when a pull
//     begins, so the window is exact.
//   - A worker holds one of n permits, counted by running, while it runs lanes, and
//     none while it pulls or waits. So there are never more than n calls of f,
//     although there may be n+1 workers.
//   - While a lane lies in a deque, or something could be pulled, and a permit is
//     free and a worker idle, some worker is the guard: awake, and about to take
//     it (lanes_work.go). Lanes get into deques by a pull, which is followed by
//     rouse, or one by one behind a run whose worker takes the next one at once.
//   - There is no room: then short is set, before room is looked at once more, and
//     the reader, which makes room before it looks at short, rouses a worker.
//   - The reader sets want before it looks at the outlets once more, and a worker
//     publishes a result before it looks at want. So no result is slept through.
const (
	maxGrain    = 128 // items in a pull
	windowOfOne = 64  // the default window, for each of the n, while f is cheap

	// lanesPerWorker is how many lanes there are for each of the n workers: so
	// many that n keys seldom share one, and so few that a pull has more than one
	// item for a lane.
	lanesPerWorker = 16
	maxLanes       = 1 << 12

	cheapPull = 20 * time.Microsecond // a pull that is done in less makes the next larger
	slowPull  = 60 * time.Microsecond // one that takes more makes the next smaller
	slowCall  = 200 * time.Microsecond

	maxRun = 32 // entries of a lane that are run before the next lane's turn
)

type engine[A any, K comparable, S, B any] struct {
	spec[A, K, S, B]
	scope   *stage.Scope // the reader's
	sub     *stage.Scope // the workers' and upstream's: cancelled by Close
	ctx     context.Context
	up      stage.Reader[A]
	name    string
	procs   int
	refsA   bool
	refsB   bool
	cons    *stage.Waiter
	fences  []error
	load    *Load[K] // nil: nobody measures
	table   *table[A, K, S, B]
	lanes   []lane[A, K, S]
	workers []*worker[A, K, S, B]
	outlets []outlet[B]
	over    chan struct{} // closed when the last worker is gone
	gone    sync.Once

	// Written under mu while nobody but the writer has a permit: where the results
	// of the last soloist end.
	soloLast int32 // its outlet, from 1; 0: there was none
	soloMark uint64
	_        [lineSize]byte

	want  atomic.Uint64                      // 0: the reader is awake; 1: any result; s+2: the result of item s
	short atomic.Bool                        // some worker may lack room; set under mu
	slow  atomic.Bool                        // calls take longer than slowCall
	tiny  atomic.Bool                        // the grain is 1
	solo  atomic.Pointer[worker[A, K, S, B]] // the soloist; set under mu
	_     [lineSize]byte

	took atomic.Uint64 // items taken by downstream, ever
	errs atomic.Uint64
	_    [lineSize]byte

	farewells atomic.Int64 // evictions put into lanes and not done

	mu      sync.Mutex
	pulling bool // some worker has the pull right
	ended   bool // upstream has
	guard   bool // some worker is the guard, or has been woken to be
	grain   int
	cheap   bool   // calls cost less than to share them out
	dear    bool   // in the last run they did not
	gap     int    // so many pulls do not wait for quiet
	vain    int    // what gap was when it had last been waited in vain
	offer   int    // at most this much room is offered to upstream's Next
	pulled  uint64 // items taken from upstream, ever, and those being asked for
	asked   int    // those
	seen    uint64 // took as last looked at
	running int    // permits out
	alive   int    // workers whose goroutine has not ended
	idle    []*worker[A, K, S, B]
	opened  atomic.Uint64    // lanes that others than workers have given something
	handed  []*lane[A, K, S] // lanes with something to run that lie in no deque
	steals  atomic.Uint64
	free    shelf[A, K, S]
	full    time.Duration
	stat    stage.StageStats
	_       [lineSize]byte

	// The reader's.
	started bool
	spun    int
	late    reorder[B]
}

// spec is what an operator on lanes is made of.
type spec[A any, K comparable, S, B any] struct {
	config
	n       int
	key     func(A) K
	call    func(context.Context, A) (B, error) // or, with a state:
	with    func(context.Context, *S, A) (B, error)
	newS    func(context.Context, K) (S, error)
	bye     func(K, *S) // nil: nobody is told of evictions
	inOrder bool
}

// worker is one of those that call f. Its fields belong to its goroutine.
type worker[A any, K comparable, S, B any] struct {
	id      int32 // from 1
	wait    *stage.Waiter
	deque   *lockfree.Deque[*lane[A, K, S]]
	out     *outlet[B]
	free    shelf[A, K, S]
	buf     []stage.Try[A]
	keys    []K
	touched []*lane[A, K, S]
	guard   bool // woken to be the guard; written under mu by who wakes
	permit  bool
	again   bool // the lane at the deque's near end has just had its turn

	lane    *lane[A, K, S] // being run, or nil
	share   int            // entries of it to be run
	ran     int            // of them, those that have been
	byes    int            // and of these, farewells
	calling bool           // in f, or in newState, for its front entry
	began   time.Duration
	made    int    // items run since began
	dice    uint64 // with a Load: chooses what is measured

	solo   solo[A, K, S, B]
	opened atomic.Uint64 // lanes that it gave something and that had nothing
	closed atomic.Uint64 // lanes that had nothing more when it had run them

	// With Pinned.
	inbox  []*lane[A, K, S] // under mu
	parked bool             // under mu
	own    []*lane[A, K, S]
	at     int
	_      [lineSize]byte
}

func lanesFor(n int) int {
	return min(maxLanes, 1<<bits.Len(uint(lanesPerWorker*n-1)))
}

// operator makes the stream of a spec.
func operator[A any, K comparable, S, B any](name string, in stage.Stream[A], sp spec[A, K, S, B]) stage.Stream[B] {
	return stage.New(func(s *stage.Scope) stage.Reader[B] {
		sub := s.Child()
		up := stage.Open(sub, in)
		e := &engine[A, K, S, B]{
			spec: sp, scope: s, sub: sub, up: up, grain: 1, offer: 1,
			name: s.Label(sp.Name, name), ctx: sub.Context(),
			procs: min(sp.n, runtime.GOMAXPROCS(0)),
			refsA: lockfree.HoldsPointers[A]() || sp.with != nil, refsB: lockfree.HoldsPointers[B](),
			over: make(chan struct{}),
		}
		if sp.load != nil {
			e.load = sp.load.(*Load[K])
		}
		e.tiny.Store(true)
		e.cons = s.NewWaiter(e.name, func() string { return "its reader waits for a result" })
		s.Report(e.snapshot)
		return e
	})
}

// begin makes what the run needs, at the first Next.
func (e *engine[A, K, S, B]) begin() {
	e.started = true
	outlets := e.n + 1
	e.outlets = make([]outlet[B], outlets)
	e.fences = newFences(outlets)
	e.table = newTable(e)
	if !e.perKey {
		e.lanes = make([]lane[A, K, S], lanesFor(e.n))
		for i := range e.lanes {
			e.lanes[i].put, e.lanes[i].index = boxItems, int32(i)
			if e.load != nil {
				e.lanes[i].waits = new(laneWait)
			}
		}
	}
	if e.load != nil {
		e.load.begin(e.loads)
	}
	e.mu.Lock()
	e.rouse()
	e.mu.Unlock()
}

// limit is the window. Under mu, as all below.
func (e *engine[A, K, S, B]) limit() int {
	switch {
	case e.Window > 0:
		return e.Window
	case e.grain == 1:
		return min(windowOfOne*e.n, e.n+e.behind())
	default:
		return windowOfOne * e.n
	}
}

// maxPull is the most items that a pull may ask for.
func (e *engine[A, K, S, B]) maxPull() int {
	if e.Window > 0 {
		return max(1, min(maxGrain, e.Window/e.n))
	}
	return min(maxGrain, windowOfOne*e.n/2)
}

// behind is the number of items that wait behind another one of their lane, or with
// Pinned of their worker, and so cannot be run, whatever the number of workers. It is
// exact when nothing moves.
func (e *engine[A, K, S, B]) behind() int {
	var busy, done uint64
	for _, w := range e.workers {
		busy -= w.closed.Load()
	}
	for _, w := range e.workers {
		busy += w.opened.Load()
		done += w.out.published() - w.out.fenced.Load()
	}
	busy += e.opened.Load()
	if e.pinned {
		busy = uint64(e.busy())
	}
	return max(0, int(e.pulled)-e.asked-int(done)-int(busy))
}

func (e *engine[A, K, S, B]) held() int { return int(e.pulled - e.seen) }

// room is how many items may be pulled. It is exact where it is less than want.
func (e *engine[A, K, S, B]) room(want int) int {
	if e.Window == 0 && e.grain == 1 {
		e.seen = e.took.Load()
	}
	room := e.limit() - e.held()
	if room < want {
		e.seen = e.took.Load()
		room = e.limit() - e.held()
	}
	return room
}

// drained reports whether no result will come any more. Under mu.
func (e *engine[A, K, S, B]) drained() bool {
	e.seen = e.took.Load()
	return e.ended && e.held() == 0 && e.farewells.Load() == 0
}

func (e *engine[A, K, S, B]) snapshot() stage.StageStats {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = e.took.Load()
	s := e.stat
	s.Name, s.N, s.InFlight, s.Calls = e.name, e.n, e.held()-e.asked, e.running
	s.Window = e.n
	if e.Window > 0 || e.grain > 1 {
		s.Window = e.limit()
	}
	s.Out, s.Errors = e.took.Load(), e.errs.Load()
	if e.full != 0 {
		s.Blocked += now() - e.full
	}
	return s
}

// Close cancels the calls that run, and waits for the workers and for what feeds
// them.
func (e *engine[A, K, S, B]) Close() {
	e.sub.Cancel(stage.ErrClosed)
	if e.table != nil {
		e.table.silence()
	}
	e.mu.Lock()
	gone := e.alive == 0
	e.mu.Unlock()
	if !gone && !e.sub.Await(e.over) {
		e.cons.Free()
		return // what feeds the one that is stuck is left as it is
	}
	e.cons.Free()
	e.up.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.load != nil && e.table != nil {
		for _, w := range e.workers {
			e.account(w)
		}
		e.load.end(e.loads())
	}
	e.outlets, e.table, e.lanes, e.workers, e.idle = nil, nil, nil, nil, nil
	e.late = reorder[B]{}
	e.solo.Store(nil)
	e.free = shelf[A, K, S]{}
	e.running, e.asked = 0, 0
	e.pulled = e.took.Load()
	e.ended, e.full = true, 0
	e.started = true
}

// loads is what a Load shows of the lanes. It takes no lock.
func (e *engine[A, K, S, B]) loads() (lanes []LaneStats, steals uint64) {
	for i := range e.lanes {
		l := &e.lanes[i]
		lanes = append(lanes, LaneStats{
			Depth: int(l.pending.Load()), Done: l.done.Load(),
			Wait:    mean(time.Duration(l.waits.wait.Load()), l.waits.waits.Load()),
			Service: mean(time.Duration(l.service.Load()), l.samples.Load()),
		})
	}
	return lanes, e.steals.Load()
}

// birth is when time began.
var birth = time.Now()

// now is a reading of the runtime's monotonic clock; never 0.
func now() time.Duration { return time.Since(birth) + 1 }
