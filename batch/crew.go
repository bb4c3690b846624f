package batch

import (
	"sync"

	"github.com/seed95b73fdc/sluice/lockfree"
	"github.com/seed95b73fdc/sluice/stage"
)

// crewReader runs the workers of a MapReduce and emits the one map that they
// come to. Invariants:
//
//   - Each worker has a chunk of items, and a word that says which of them are not
//     claimed yet, as in a [sweep]. They are claimed one by one.
//   - A worker that has found items works until it finds none. That is decided
//     under mu, and n work at most: so no more than n calls run.
//   - One worker at a time pulls, one that has no items, and does not work
//     meanwhile. It may have to wait, and the others may be held up in calls: so if
//     anything is unclaimed then, one that does not work is awake to look after
//     that. For this there is one worker more than n. Usually the puller is back
//     before that one acts, so that cheap items stay where they are.
//   - If n others work when the puller comes back, it waits and leaves its chunk to
//     them. Nothing is pulled before that is claimed.
//   - A worker takes items from another's chunk under mu, and fills its own one
//     only after it has had mu: so no slot is filled while it is read.
//   - Who gets items is put into having, and found there by who looks for some; so to
//     look costs no more because there are many workers that have none.
//   - A worker waits only if it may not work, or finds nothing to do while another
//     one pulls. Whoever begins to work, or ends, wakes one that waits, if it may
//     work; so does whoever pulls while something is unclaimed.
//   - The reader waits until all workers have ended and their tables are merged, or
//     one has failed.
type crewReader[A any, K comparable, V any] struct {
	scope  *stage.Scope
	sub    *stage.Scope // upstream's and the workers'
	up     stage.Reader[A]
	name   string
	values stage.ValueReader[A] // up, if it is one
	into   into[A, K, V]
	m      *mapping[K, V]
	n      int
	done   *stage.Waiter // the reader's
	begun  bool

	mu      sync.Mutex // never held while somebody waits
	workers []*mapWorker[A, K, V]
	working int // of them
	pulling bool
	buf     []stage.Try[A]        // of who pulls
	ended   bool                  // upstream
	idle    []*mapWorker[A, K, V] // those that wait
	having  []*mapWorker[A, K, V] // all that have unclaimed items, and some that had
	left    int                   // workers that have not brought their table yet
	alive   int                   // goroutines
	tables  []*table[K, V]
	result  map[K]V
	err     error
	whole   bool // result is there
	given   bool
	stats   stage.StageStats
}

func openMapReduce[A any, K comparable, V any](s *stage.Scope, in stage.Stream[A], n int, into into[A, K, V], m *mapping[K, V]) *crewReader[A, K, V] {
	r := &crewReader[A, K, V]{scope: s, sub: s.Child(), into: into, m: m, n: n}
	r.m.scope = r.sub
	r.up = stage.Open(r.sub, in)
	r.values, _ = r.up.(stage.ValueReader[A])
	r.name = s.Label("", "mapreduce")
	r.done = s.NewWaiter(r.name, func() string { return "waits for its workers" })
	s.Report(r.snapshot)
	return r
}

// Next blocks until the result is complete, or an error has ended the workers.
func (r *crewReader[A, K, V]) Next(dst []stage.Try[map[K]V]) int {
	if !r.begun {
		if r.sub.Stopped() {
			return 0
		}
		r.begun = true
		r.mu.Lock()
		for range r.n {
			r.hire()
		}
		r.mu.Unlock()
	}
	for {
		r.mu.Lock()
		if r.given || r.err != nil || r.whole {
			defer r.mu.Unlock()
			if r.given {
				return 0
			}
			r.given = true
			dst[0] = stage.Try[map[K]V]{Value: r.result, Error: r.err}
			if r.err != nil {
				dst[0].Value = nil
			}
			return 1
		}
		r.done.Arm()
		r.mu.Unlock()
		if !r.done.Park() {
			r.mu.Lock()
			failed := r.err != nil
			r.mu.Unlock()
			if !failed { // an error that was there is not masked
				return 0
			}
		}
	}
}

// hire starts one more worker. Under mu.
func (r *crewReader[A, K, V]) hire() {
	t := newTable(r.m, r.fail)
	w := &mapWorker[A, K, V]{r: r, grain: 1, table: t, do: r.into(t), refs: lockfree.HoldsPointers[A]()}
	w.wait = r.sub.NewWaiter(r.name, func() string { return "waits for another worker, which waits for an item" })
	r.workers = append(r.workers, w)
	r.left++
	r.start(w.run)
}

// start starts a goroutine. Under mu.
func (r *crewReader[A, K, V]) start(f func()) {
	r.alive++
	r.sub.Go(r.name, func() {
		defer r.leave()
		f()
	})
}

// fail ends the workers for an error: the first one counts, but one that only says
// that the run has ended does not.
func (r *crewReader[A, K, V]) fail(err error) {
	r.mu.Lock()
	if r.err == nil && !(isCancel(err) && r.sub.Stopped()) {
		r.err = err
		r.done.Wake()
	}
	r.mu.Unlock()
	r.sub.Cancel(stage.ErrEnded)
}

// bring is called by each worker with its table when no item is left. The last
// one merges them, and starts others to help with that if there are many keys.
func (r *crewReader[A, K, V]) bring(t *table[K, V]) {
	r.mu.Lock()
	r.left--
	if len(t.few) > 0 || t.few == nil {
		r.tables = append(r.tables, t)
	}
	last := r.left == 0
	r.mu.Unlock()
	if !last {
		return
	}
	if c := r.m.common; c != nil {
		r.tables = append(r.tables, c.table(r.m))
	}
	g, err := newMerger(r.sub, r.m, r.tables)
	r.tables = nil
	if err != nil {
		r.fail(err)
		return
	}
	r.mu.Lock()
	for range min(r.n, g.parts) - 1 {
		r.start(func() { r.merge(g) })
	}
	r.mu.Unlock()
	r.merge(g)
}

// merge takes part in the merge of the tables.
func (r *crewReader[A, K, V]) merge(g *merger[K, V]) {
	complete, err := g.work()
	if err != nil {
		r.fail(err)
	}
	if complete {
		r.mu.Lock()
		r.result, r.whole = g.result, true
		r.done.Wake()
		r.mu.Unlock()
	}
}

// leave is called by each goroutine at its end. The last one closes what they read:
// so the terminal, which waits for all goroutines of a run, need not wait here for
// a call that ignores its context, and keeps to [stage.PanicGrace].
func (r *crewReader[A, K, V]) leave() {
	r.mu.Lock()
	r.alive--
	last := r.alive == 0
	r.mu.Unlock()
	if last {
		r.up.Close()
	}
}

// Close ends the workers. The terminal waits for them.
func (r *crewReader[A, K, V]) Close() {
	r.sub.Cancel(stage.ErrClosed)
	if !r.begun {
		r.up.Close()
	}
	r.done.Free()
}

// snapshot is what the Stats of the run list.
func (r *crewReader[A, K, V]) snapshot() stage.StageStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stats
	s.Name, s.N, s.Window = r.name, r.n, maxGrain*(r.n+1)
	for _, w := range r.workers {
		calls, left := w.holds()
		s.Calls += calls
		s.InFlight += calls + left
	}
	s.Out = s.In - uint64(s.InFlight)
	return s
}
