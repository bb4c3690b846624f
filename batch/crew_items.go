package batch

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// mapWorker is a worker of a MapReduce; see [crewReader].
type mapWorker[A any, K comparable, V any] struct {
	_     pad
	word  atomic.Uint64
	_     pad
	r     *crewReader[A, K, V]
	items []A
	errs  []error // in place of items; empty if there are none
	table *table[K, V]
	do    func(context.Context, A) error // with an item, for the table
	wait  *stage.Waiter
	works bool // under mu
	waits bool // in idle. Under mu
	has   bool // in having. Under mu
	grain int
	refs  bool      // of A
	began time.Time // when it began what it works on
	had   int       // items of that
}

// The room that a worker offers to upstream: it doubles while what fills it takes
// less than cheap, and falls when it takes longer than slow.
const (
	maxGrain = 256
	cheap    = 25 * time.Microsecond
	slow     = 100 * time.Microsecond
)

// patience is how often a worker yields before it takes what another one may
// be about to begin, and before it waits: to wake it costs more than that.
const patience = 16

// run is a worker's goroutine.
func (w *mapWorker[A, K, V]) run() {
	r := w.r
	defer w.wait.Free()
	defer w.quit()
	ctx := r.sub.Context()
	var none A
	for w.refill() {
		for i, ok := w.claim(); ok; i, ok = w.claim() {
			if len(w.errs) > 0 && w.errs[i] != nil {
				r.fail(w.errs[i])
				return
			}
			if r.sub.Stopped() {
				return
			}
			a := w.items[i]
			if w.refs {
				w.items[i] = none
			}
			if err := w.do(ctx, a); err != nil {
				r.fail(err)
				return
			}
		}
	}
	if !r.sub.Stopped() {
		r.bring(w.table)
	}
}

// quit is called however the goroutine ends.
func (w *mapWorker[A, K, V]) quit() {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	w.rest(time.Since(w.began))
	w.table.close()
}

// rest notes that w has done what it had, in the time given. Under mu.
func (w *mapWorker[A, K, V]) rest(took time.Duration) {
	if w.works {
		w.works = false
		w.r.working--
		w.r.stats.Busy += took
	}
}

func (w *mapWorker[A, K, V]) claim() (int, bool) {
	v := w.word.Add(1)
	i := uint32(v) - 1
	return int(i), uint64(i) < v>>32
}

// unclaimed is how many items of its chunk nobody has claimed.
func (w *mapWorker[A, K, V]) unclaimed() int {
	v := w.word.Load()
	return max(0, int(v>>32)-int(uint32(v)))
}

// holds returns 1 if w is in a call, and how many items of its chunk nobody has
// claimed: by one look, so that none is counted twice. Under mu.
func (w *mapWorker[A, K, V]) holds() (calls, left int) {
	v := w.word.Load()
	claimed, all := int(uint32(v)), int(v>>32)
	if w.works && 0 < claimed && claimed <= all {
		calls = 1
	}
	return calls, max(0, all-claimed)
}

// refill gets the worker items. It is false at the end.
//
// There is no defer of Unlock: upstream's Next may panic, with mu free.
func (w *mapWorker[A, K, V]) refill() bool {
	r := w.r
	took := w.pace()
	r.mu.Lock()
	w.rest(took)
	for looks := 0; ; looks++ {
		may := r.working < r.n
		switch {
		case r.sub.Stopped():
			r.mu.Unlock()
			return false
		case may && w.find(r.ended || looks >= patience):
			w.works = true
			w.began = time.Now()
			r.working++
			switch {
			case r.working == r.n:
			case r.pulling && r.unclaimed():
				r.watch() // the one that waits for upstream is none of the n
			default:
				r.wakeOne()
			}
			r.mu.Unlock()
			return true
		case may && !r.pulling && !r.ended:
			w.pull()
			looks = -1
		case r.ended && !r.unclaimed():
			r.wakeOne()
			r.mu.Unlock()
			return false
		case looks < patience:
			r.mu.Unlock()
			runtime.Gosched()
			r.mu.Lock()
		default:
			w.waits = true
			r.idle = append(r.idle, w)
			w.wait.Arm()
			r.mu.Unlock()
			if !w.wait.Park() {
				return false
			}
			r.mu.Lock()
			looks = -1
		}
	}
}

// find looks for items: its own, those of a worker that waits, and if all is set
// those of any other one. Under mu.
func (w *mapWorker[A, K, V]) find(all bool) bool {
	return w.unclaimed() > 0 || len(w.r.idle) > 0 && w.steal(false) || all && w.steal(true)
}

// steal takes half of what another worker has not claimed, the one that has most;
// unless all is set, of those that wait. Under mu.
func (w *mapWorker[A, K, V]) steal(all bool) bool {
	w.r.having = slices.DeleteFunc(w.r.having, (*mapWorker[A, K, V]).hasNone)
	for {
		var victim *mapWorker[A, K, V]
		var old, most uint64
		for _, o := range w.r.having {
			if !all && !o.waits {
				continue
			}
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
			k := copy(w.items, victim.items[middle:to])
			clear(victim.items[middle:to])
			w.errs = w.errs[:0]
			if len(victim.errs) > 0 {
				w.errs = append(w.errs, victim.errs[middle:to]...)
			}
			w.got(k)
			return true
		}
	}
}

// pull asks upstream for items. It is called with mu, and gives it up meanwhile.
func (w *mapWorker[A, K, V]) pull() {
	r := w.r
	r.pulling = true
	w.room(w.grain)
	if r.unclaimed() {
		r.watch()
	}
	r.mu.Unlock()
	began := time.Now()
	k := w.read(w.grain)
	waited := time.Since(began)
	r.mu.Lock()
	r.pulling = false
	r.stats.Starved += waited
	r.stats.In += uint64(k)
	if k > 0 {
		w.got(k)
	} else {
		r.ended = true
	}
}

// read reads up to k items, those that lie side by side as they are.
func (w *mapWorker[A, K, V]) read(k int) int {
	r := w.r
	w.errs = w.errs[:0]
	if r.values != nil {
		if got := r.values.NextValues(w.items[:k]); got > 0 {
			return got
		}
	}
	if len(r.buf) < k {
		r.buf = make([]stage.Try[A], k)
	}
	some := r.buf[:r.up.Next(r.buf[:k])]
	for i := range some {
		w.items[i] = some[i].Value
		if some[i].Error != nil && len(w.errs) == 0 {
			w.errs = slices.Grow(w.errs, len(some))[:len(some)]
			clear(w.errs)
		}
		if len(w.errs) > 0 {
			w.errs[i] = some[i].Error
		}
	}
	clear(some)
	return len(some)
}

// watch sees to it that somebody looks after what is unclaimed. Under mu.
func (r *crewReader[A, K, V]) watch() {
	if len(r.idle) == 0 && len(r.workers) == r.n {
		r.hire()
	}
	r.wakeOne() // who is neither idle nor works is awake
}

// unclaimed reports whether any item is. Under mu.
func (r *crewReader[A, K, V]) unclaimed() bool {
	for n := len(r.having); n > 0; n-- {
		if !r.having[n-1].hasNone() {
			return true
		}
		r.having[n-1] = nil
		r.having = r.having[:n-1]
	}
	return false
}

// hasNone reports whether w has nothing unclaimed, so that it is taken off having.
// Under mu.
func (w *mapWorker[A, K, V]) hasNone() bool {
	w.has = w.unclaimed() > 0
	return !w.has
}

// wakeOne wakes a worker that waits, if there is one. Under mu.
func (r *crewReader[A, K, V]) wakeOne() {
	if n := len(r.idle); n > 0 {
		w := r.idle[n-1]
		r.idle[n-1] = nil
		r.idle = r.idle[:n-1]
		w.waits = false
		w.wait.Wake()
	}
}

// got makes the first k items of buf those to be claimed. Under mu.
func (w *mapWorker[A, K, V]) got(k int) {
	w.word.Store(span(0, uint64(k)))
	w.had = k
	if !w.has {
		w.has = true
		w.r.having = append(w.r.having, w)
	}
}

func (w *mapWorker[A, K, V]) room(k int) {
	if len(w.items) < k {
		w.items = make([]A, k)
	}
}

// pace chooses the grain by how long the last items took, and returns that.
func (w *mapWorker[A, K, V]) pace() (took time.Duration) {
	if w.had == 0 {
		return 0
	}
	switch took = time.Since(w.began); {
	case took < cheap && w.had >= w.grain:
		w.grain = min(2*w.grain, maxGrain)
	case took > slow:
		w.grain = max(1, min(w.grain/2, int(int64(w.had)*int64(slow)/int64(took))))
	}
	w.had = 0
	return took
}
