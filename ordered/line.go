package ordered

import (
	"context"
	"runtime/pprof"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// line is the engine under PermissionPassing, ReplyTo and Cond: workers that take
// items from upstream one by one, call f, and bring the results to the reader by
// a way, which is what the strategies differ in.
//
// Who waits for whom:
//
//   - a worker without an item waits in idle, for rouse;
//   - the worker with the pull right waits inside upstream's Next;
//   - a worker whose result is not the next one may wait as its way says;
//   - a worker that passes a stream on waits for the reader to have taken what it
//     has put before;
//   - the reader waits in cons, for feed.
//
// Invariants:
//
//   - held is the number of items that have been taken from upstream and whose
//     places the reader has not passed, plus one while an item is being asked for.
//     held ≤ window when one is asked for, so the window is exact.
//   - calls is the number of workers in upstream's Next or in f. calls ≤ n. A
//     worker takes an item only if it may call f at once.
//   - A place is entered in the order in which the items are taken, for the pull
//     right is held meanwhile.
//   - An item may be taken: then coming is set, and a worker is on its way, or mu
//     is held by somebody who will rouse one. A worker that waits for its turn is
//     none of the n; so while it waits another one calls f, and the workers may be
//     as many as the window is large.
type line[A, B any] struct {
	desk
	scope    *stage.Scope // the reader's
	sub      *stage.Scope // the workers' and upstream's: cancelled by Close
	ctx      context.Context
	up       stage.Reader[A]
	name     string
	n        int
	window   int // 0: not given
	resize   *stage.Parallelism
	unheed   func() // ends the notes of resize
	recovers bool
	counted  bool // somebody looks at the Stats
	waits    bool // a worker whose result is early waits for its turn
	begun    bool // the reader's
	way      way[B]
	f        stage.Func[A, B]
	flat     func(context.Context, A) stage.Stream[B] // instead of f, for FlatMap

	// Under mu.
	pulling bool
	asking  bool // upstream for an item
	ended   bool // upstream has
	coming  bool // a worker has been called and has not come yet
	held    int
	calls   int
	idle    []*worker[A, B]
	alive   int
	gone    chan struct{}   // made by Close, closed by the last worker
	left    []*worker[A, B] // were lost while they had a stream open
	full    time.Time       // since when the window is full, or zero
	stat    stage.StageStats
}

func newLine[A, B any](by Strategy, operator string, in stage.Stream[A], n int, c stage.Config, f stage.Func[A, B], flat func(context.Context, A) stage.Stream[B]) stage.Stream[B] {
	return stage.New(func(s *stage.Scope) stage.Reader[B] {
		l := &line[A, B]{scope: s, sub: s.Child(), n: n, window: c.Window, resize: c.Parallelism, recovers: c.RecoverPanics, counted: s.Counted(), f: f, flat: flat}
		l.up = stage.Open(l.sub, in)
		l.name = s.Label(c.Name, operator)
		l.ctx = labelled(l.sub.Context(), l.name)
		l.cons = s.NewWaiter(l.name, func() string { return "its reader waits for a result" })
		switch by {
		case PermissionPassing:
			l.way, l.waits = newPassing[B](&l.desk, l.sub, l.name, flat != nil), true
		case Cond:
			l.way, l.waits = newTurns[B](&l.desk, flat != nil), true
		default:
			l.way = newReplies[B](&l.desk)
		}
		s.Report(l.snapshot)
		return l
	})
}

func labelled(ctx context.Context, name string) context.Context {
	return pprof.WithLabels(ctx, pprof.Labels("sluice.stage", name))
}

// Next takes results that are there, and blocks while none is.
func (l *line[A, B]) Next(dst []stage.Try[B]) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.room = min(len(dst), maxRoom)
	if !l.begun && !l.scope.Stopped() {
		l.begin()
	}
	for {
		k, passed := l.way.take(dst)
		if passed > 0 {
			l.held -= passed
			l.rouse()
		}
		if k > 0 {
			l.stat.Out += uint64(k)
			l.stat.Errors += errorsAmong(dst[:k], l.counted)
			return k
		}
		if !l.begun || l.ended && l.held == 0 || l.scope.Stopped() {
			return 0
		}
		l.hungry = true
		l.cons.Arm()
		l.mu.Unlock()
		l.cons.Park()
		l.mu.Lock()
		l.hungry = false
	}
}

// begin calls the first worker. Under mu.
func (l *line[A, B]) begin() {
	l.begun = true
	if l.resize != nil {
		l.unheed = l.resize.Notify(func() {
			l.mu.Lock()
			l.rouse()
			l.mu.Unlock()
		})
	}
	l.rouse()
}

// size is how many calls may run.
func (l *line[A, B]) size() int {
	if l.resize != nil && l.resize.N() > 0 {
		return l.resize.N()
	}
	return l.n
}

// limit is the window.
func (l *line[A, B]) limit() int {
	if l.window > 0 {
		return l.window
	}
	return l.size()
}

func errorsAmong[B any](items []stage.Try[B], counted bool) (k uint64) {
	if counted {
		for i := range items {
			if items[i].Error != nil {
				k++
			}
		}
	}
	return k
}

// may reports whether a worker may take an item. Under mu.
func (l *line[A, B]) may() bool {
	return !l.pulling && !l.ended && l.held < l.limit() && l.calls < l.size()
}

// rouse has a worker come and take an item, if one may. Under mu.
func (l *line[A, B]) rouse() {
	if l.coming {
		return
	}
	if !l.may() {
		l.blocked()
		return
	}
	l.coming = true
	if k := len(l.idle) - 1; k >= 0 {
		w := l.idle[k]
		l.idle = l.idle[:k]
		w.parked, w.called = false, true
		w.wait.Wake()
		return
	}
	w := &worker[A, B]{line: l, wait: l.sub.NewWaiter(l.name, l.why), called: true}
	l.alive++
	l.sub.GoElse(l.name, w.live, w.lost)
}

// blocked notes since when nothing may be taken for want of room. Under mu.
func (l *line[A, B]) blocked() {
	if l.counted && l.full.IsZero() && !l.pulling && !l.ended && l.held >= l.limit() {
		l.full = time.Now()
	}
}

// why describes a worker of a stalled run.
func (l *line[A, B]) why() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.pulling && !l.ended && l.held >= l.limit() {
		return "window is full, its reader waits elsewhere"
	}
	return ""
}

// retire is the end of a worker.
func (l *line[A, B]) retire(w *worker[A, B]) {
	w.wait.Free()
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.stream != nil {
		l.left = append(l.left, w)
	}
	if l.alive--; l.alive == 0 && l.gone != nil {
		close(l.gone)
		l.gone = nil
	}
}

// Close cancels the calls that run, and waits for the workers and for what feeds
// them.
func (l *line[A, B]) Close() {
	l.sub.Cancel(stage.ErrClosed)
	l.mu.Lock()
	l.ended = true // so that a change of n calls no worker any more
	var gone chan struct{}
	if l.alive > 0 {
		gone = make(chan struct{})
		l.gone = gone
	}
	l.mu.Unlock()
	l.cons.Free()
	if l.unheed != nil {
		l.unheed()
	}
	if gone != nil && !l.sub.Await(gone) {
		return // what feeds the one that is stuck is left as it is
	}
	for _, w := range l.left {
		w.shut()
	}
	l.up.Close()
	l.mu.Lock()
	l.way.close()
	l.left, l.idle = nil, nil
	l.held, l.calls = 0, 0
	l.begun, l.ended, l.asking, l.full = true, true, false, time.Time{}
	l.mu.Unlock()
}

func (l *line[A, B]) snapshot() stage.StageStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stat
	s.Name, s.N, s.Window, s.InFlight, s.Calls = l.name, l.size(), l.limit(), l.held, l.calls
	if l.asking {
		s.InFlight--
		s.Calls--
	}
	if !l.full.IsZero() {
		s.Blocked += time.Since(l.full)
	}
	return s
}
