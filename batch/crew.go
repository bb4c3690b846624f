package batch

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// crewReader runs the workers of a MapReduce and emits the one table that they
// come to. Invariants:
//
//   - Each worker has a chunk of items, and a word that says which of them are not
//     claimed yet, as in a [sweep]. They are claimed one by one.
//   - One worker at a time pulls, and only when, under mu, no chunk has an item to
//     be claimed. So while upstream is waited for, each item that has come has
//     begun, and nobody waits for upstream who could run one.
//   - A worker takes items from another's chunk under mu, and fills its own one
//     only after it has had mu: so no slot is filled while it is read.
//   - A worker waits only while another one pulls. The one who pulls wakes
//     one when it comes back, and each that is woken and finds work wakes the next.
//   - The reader waits until all workers have ended, or failed.
type crewReader[A any, K comparable, V any] struct {
	scope   *stage.Scope
	sub     *stage.Scope // upstream's and the workers'
	up      stage.Reader[A]
	name    string
	m       mapping[A, K, V]
	workers []*mapWorker[A, K, V]
	done    *stage.Waiter // the reader's
	begun   bool

	mu      sync.Mutex // never held while somebody waits
	pulling bool
	ended   bool // upstream
	idle    []*mapWorker[A, K, V]
	left    int // tables that there are or will be
	alive   int // workers
	table   map[K]V
	err     error
	whole   bool // table is all there is
	given   bool
	stats   stage.StageStats
}

type mapWorker[A any, K comparable, V any] struct {
	_     pad
	word  atomic.Uint64
	_     pad
	r     *crewReader[A, K, V]
	buf   []stage.Try[A]
	table *table[K, V]
	wait  *stage.Waiter
	grain int
	began time.Time // when it got what it works on
	had   int       // items of that
}

// The room that a worker offers to upstream: it doubles while what fills it takes
// less than cheap, and falls when it takes longer than slow.
const (
	maxGrain = 256
	cheap    = 10 * time.Microsecond
	slow     = 40 * time.Microsecond
)

func openMapReduce[A any, K comparable, V any](s *stage.Scope, in stage.Stream[A], n int, m mapping[A, K, V]) *crewReader[A, K, V] {
	r := &crewReader[A, K, V]{scope: s, sub: s.Child(), m: m, left: n}
	r.up = stage.Open(r.sub, in)
	r.name = s.Label("", "mapreduce")
	r.done = s.NewWaiter(r.name, func() string { return "waits for its workers" })
	for range n {
		r.workers = append(r.workers, &mapWorker[A, K, V]{r: r, grain: 1})
	}
	s.Report(r.snapshot)
	return r
}

// Next blocks until the table is complete, or an error has ended the workers.
func (r *crewReader[A, K, V]) Next(dst []stage.Try[map[K]V]) int {
	if !r.begun {
		if r.sub.Stopped() {
			return 0
		}
		r.begun = true
		r.alive = len(r.workers)
		for _, w := range r.workers {
			w.wait = r.sub.NewWaiter(r.name, func() string { return "waits for another worker, which waits for an item" })
			r.sub.Go(r.name, w.run)
		}
	}
	for {
		r.mu.Lock()
		if r.given || r.err != nil || r.whole {
			defer r.mu.Unlock()
			if r.given {
				return 0
			}
			r.given = true
			dst[0] = stage.Try[map[K]V]{Value: r.table, Error: r.err}
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

// run is a worker's goroutine.
func (w *mapWorker[A, K, V]) run() {
	r := w.r
	defer r.leave()
	defer w.wait.Free()
	w.table = newTable[K](r.m.reducer)
	ctx := r.sub.Context()
	for w.refill() {
		for i, ok := w.claim(); ok; i, ok = w.claim() {
			it := w.buf[i]
			w.buf[i] = stage.Try[A]{}
			err := it.Error
			if err == nil {
				if r.sub.Stopped() {
					return
				}
				err = r.m.add(ctx, w.table, it.Value)
			}
			if err != nil {
				r.fail(err)
				return
			}
		}
	}
	if !r.sub.Stopped() {
		r.finish(w.table)
	}
}

func (w *mapWorker[A, K, V]) claim() (int, bool) {
	v := w.word.Add(1)
	i := uint32(v) - 1
	return int(i), uint64(i) < v>>32
}

// refill gets the worker items: others', or upstream's. It is false at the end.
func (w *mapWorker[A, K, V]) refill() bool {
	r := w.r
	w.pace()
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		switch {
		case r.sub.Stopped():
			return false
		case w.steal():
			r.wakeOne()
			return true
		case r.ended:
			return false
		case !r.pulling:
			return w.pull()
		}
		r.idle = append(r.idle, w)
		w.wait.Arm()
		r.mu.Unlock()
		woken := w.wait.Park()
		r.mu.Lock()
		if !woken {
			return false
		}
	}
}

// steal takes half of what another worker has not claimed. Under mu.
func (w *mapWorker[A, K, V]) steal() bool {
	for {
		var victim *mapWorker[A, K, V]
		var old, most uint64
		for _, o := range w.r.workers {
			v := o.word.Load()
			if from, to := uint64(uint32(v)), v>>32; from < to && to-from > most {
				victim, old, most = o, v, to-from
			}
		}
		if victim == nil {
			return false
		}
		from, to := uint64(uint32(old)), old>>32
		middle := from + most/2
		if victim.word.CompareAndSwap(old, span(from, middle)) {
			w.room(int(to - middle))
			w.got(copy(w.buf, victim.buf[middle:to]))
			clear(victim.buf[middle:to])
			return true
		}
	}
}

// pull asks upstream for items. It is called with mu, and gives it up meanwhile.
func (w *mapWorker[A, K, V]) pull() bool {
	r := w.r
	r.pulling = true
	w.room(w.grain)
	r.mu.Unlock()
	began := time.Now()
	k := r.up.Next(w.buf[:w.grain])
	waited := time.Since(began)
	r.mu.Lock()
	r.pulling = false
	r.stats.Starved += waited
	r.stats.In += uint64(k)
	if k == 0 {
		r.ended = true
		for len(r.idle) > 0 {
			r.wakeOne()
		}
		return false
	}
	w.got(k)
	r.wakeOne()
	return true
}

// got makes the first k items of buf those to be claimed.
func (w *mapWorker[A, K, V]) got(k int) {
	w.word.Store(span(0, uint64(k)))
	w.began, w.had = time.Now(), k
}

func (w *mapWorker[A, K, V]) room(k int) {
	if len(w.buf) < k {
		w.buf = make([]stage.Try[A], k)
	}
}

// pace chooses the grain by how long the last items took.
func (w *mapWorker[A, K, V]) pace() {
	if w.had == 0 {
		return
	}
	switch took := time.Since(w.began); {
	case took < cheap && w.had >= w.grain:
		w.grain = min(2*w.grain, maxGrain)
	case took > slow:
		w.grain = max(1, min(w.grain/2, int(int64(w.had)*int64(slow)/int64(took))))
	}
	w.had = 0
}

// wakeOne wakes a worker that waits for another one to have pulled. Under mu.
func (r *crewReader[A, K, V]) wakeOne() {
	if n := len(r.idle); n > 0 {
		w := r.idle[n-1]
		r.idle[n-1] = nil
		r.idle = r.idle[:n-1]
		w.wait.Wake()
	}
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

// finish merges a worker's table with those of workers that have ended, as long as
// there is one.
func (r *crewReader[A, K, V]) finish(t *table[K, V]) {
	for {
		mine := t.whole()
		r.mu.Lock()
		other := r.table
		if other == nil {
			r.table = mine
			if r.left == 1 {
				r.whole = true
				r.done.Wake()
			}
			r.mu.Unlock()
			return
		}
		r.table = nil
		r.left--
		r.mu.Unlock()
		if err := t.merge(r.sub, other); err != nil {
			r.fail(err)
			return
		}
	}
}

// leave is called by each worker at its end. The last one closes what they read:
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
	s.Name, s.N, s.Window = r.name, len(r.workers), maxGrain*len(r.workers)
	for _, w := range r.workers {
		v := w.word.Load()
		if from, to := int(uint32(v)), int(v>>32); from < to {
			s.InFlight += to - from
		}
	}
	s.Out = s.In - uint64(s.InFlight)
	return s
}
