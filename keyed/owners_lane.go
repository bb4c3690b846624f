package keyed

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// ownersTable is a layout of the lanes. It is replaced as a whole, by Resize, while
// nothing is admitted.
type ownersTable[K comparable, S any] struct {
	epoch uint64
	since time.Duration
	lanes []ownersLane[K, S]
}

// ownersLane is a queue of tasks, and the states of the keys that fall on it. At
// any time one party at most has the lane: a worker that runs it, a caller that runs
// its own function, a task of several lanes that is held up in another one, or the
// list of turns; then busy is set. The states belong to whoever has the lane.
type ownersLane[K comparable, S any] struct {
	index int

	mu    sync.Mutex // never held while a function runs
	busy  bool
	first *seat[K, S]
	last  *seat[K, S]
	depth int // seats in the queue

	states map[K]*S
	keys   atomic.Int64
	laneMeter[K]
	_ [lineSize]byte
}

// turn is what a worker does next: a lane, or a task whose lanes are all held.
type turn[K comparable, S any] struct {
	lane *ownersLane[K, S]
	task *task[K, S]
}

func newOwnersTable[K comparable, S any](n int, epoch uint64) *ownersTable[K, S] {
	t := &ownersTable[K, S]{epoch: epoch, since: now(), lanes: make([]ownersLane[K, S], lanesFor(n))}
	for i := range t.lanes {
		t.lanes[i].index = i
		t.lanes[i].dice = uint64(i) + 1
	}
	return t
}

// lane is the lane of a key. Only for who has been admitted.
func (o *Owners[K, S]) lane(key K) *ownersLane[K, S] {
	t := o.table.Load()
	return &t.lanes[o.hash(key)&uint64(len(t.lanes)-1)]
}

// push puts a seat into the queue, and reports whether the lane needs a turn. Under
// mu.
func (l *ownersLane[K, S]) push(s *seat[K, S]) (first bool) {
	s.lane, s.queued = l, true
	if s.prev = l.last; s.prev == nil {
		l.first = s
	} else {
		l.last.next = s
	}
	l.last = s
	l.depth++
	first = !l.busy
	l.busy = true
	return first
}

// pop takes the next seat, or gives the lane up if there is none.
func (l *ownersLane[K, S]) pop() *seat[K, S] {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.first
	if s == nil {
		l.busy = false
		return nil
	}
	l.unlink(s)
	return s
}

// unlink takes a seat out of the queue. Under mu.
func (l *ownersLane[K, S]) unlink(s *seat[K, S]) {
	if s.prev == nil {
		l.first = s.next
	} else {
		s.prev.next = s.next
	}
	if s.next == nil {
		l.last = s.prev
	} else {
		s.next.prev = s.prev
	}
	s.prev, s.next, s.queued = nil, nil, false
	l.depth--
}

// remove takes the seat of a task that is gone out of the queue, so that tasks that
// are taken back do not pile up there.
func (l *ownersLane[K, S]) remove(s *seat[K, S]) {
	l.mu.Lock()
	if s.queued {
		l.unlink(s)
	}
	l.mu.Unlock()
}

// release ends the turn of whoever has the lane.
func (o *Owners[K, S]) release(l *ownersLane[K, S]) {
	l.mu.Lock()
	more := l.first != nil
	l.busy = more
	l.mu.Unlock()
	if more {
		o.schedule(turn[K, S]{lane: l})
	}
}

// permit takes one of the n permits, if there is one.
func (o *Owners[K, S]) permit() bool {
	for {
		r := o.running.Load()
		if r >= o.n.Load() {
			return false
		}
		if o.running.CompareAndSwap(r, r+1) {
			return true
		}
	}
}

// permitBack gives a permit back, to a new worker if there is something to do.
func (o *Owners[K, S]) permitBack() {
	o.running.Add(-1)
	if o.waiting.Load() > 0 {
		o.mu.Lock()
		o.hire()
		o.mu.Unlock()
	}
}

// schedule gives a turn to a worker.
func (o *Owners[K, S]) schedule(t turn[K, S]) {
	o.mu.Lock()
	o.ready = append(o.ready, t)
	o.waiting.Add(1) // before the look for a permit; permitBack looks here after it
	o.hire()
	o.mu.Unlock()
}

// hire starts a worker, if there is a turn and a permit. Under mu.
func (o *Owners[K, S]) hire() {
	if len(o.ready) > 0 && o.permit() {
		o.workers++
		go o.work(turn[K, S]{})
	}
}

// work is a worker: it takes turns until there is none, or until there are more
// workers than n. It begins with t.
func (o *Owners[K, S]) work(t turn[K, S]) {
	returned := false
	defer func() {
		if !returned {
			o.resume(t) // runtime.Goexit in a function
		}
	}()
	for {
		if t.lane != nil || t.task != nil {
			o.serve(&t)
			t = turn[K, S]{}
		}
		o.mu.Lock()
		if len(o.ready) == 0 || o.running.Load() > o.n.Load() {
			o.workers--
			o.running.Add(-1)
			o.hire()
			o.pump()
			o.mu.Unlock()
			returned = true
			return
		}
		t = o.ready[0]
		o.ready[0] = turn[K, S]{}
		if o.ready = o.ready[1:]; len(o.ready) == 0 {
			o.ready = nil
		}
		o.waiting.Add(-1)
		o.hire()
		o.mu.Unlock()
	}
}

// turnShare is how many seats of a lane are served before the next lane's turn.
const turnShare = 64

// serve does a turn. While a function runs, t says which.
func (o *Owners[K, S]) serve(t *turn[K, S]) {
	if t.task != nil {
		o.serveAll(t.task)
	}
	l := t.lane
	if l == nil {
		return
	}
	for range turnShare {
		s := l.pop()
		if s == nil {
			return
		}
		if s.task.all != nil {
			run, held := s.task.arrive(s)
			if run {
				o.schedule(turn[K, S]{task: s.task})
			}
			if held {
				return
			}
			continue
		}
		if !s.task.begin() {
			continue
		}
		t.task = s.task
		begun := l.begin(t.task.key, t.task.entered)
		o.call(t.task)
		l.end(begun)
		o.settle(t.task)
		t.task = nil
	}
	o.release(l)
}

// resume goes on with a turn whose goroutine was lost in a function.
func (o *Owners[K, S]) resume(t turn[K, S]) {
	if t.task != nil {
		t.task.err = stage.Goexit(o.name)
		if t.task.all != nil {
			o.releaseAll(t.task)
		}
		o.settle(t.task)
		t.task = nil
	}
	go o.work(t)
}
