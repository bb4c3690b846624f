package keyed

// Pinned: worker i runs the lanes of which it is the home, and worker n+1 pulls.
// Lanes are handed to their homes in inboxes, under mu; nobody steals, so there is
// no guard, and every worker with something in its inbox is awake.

// inject hands lanes to their homes. It takes mu.
func (e *engine[A, K, S, B]) inject(lanes []*lane[A, K, S]) {
	e.mu.Lock()
	e.injectLocked(lanes)
	e.mu.Unlock()
}

func (e *engine[A, K, S, B]) injectLocked(lanes []*lane[A, K, S]) {
	for _, l := range lanes {
		w := e.workers[l.home]
		w.inbox = append(w.inbox, l)
		if w.parked {
			w.parked = false
			w.wait.Wake()
		}
	}
}

// rousePinned starts the workers, and wakes the one that pulls. Under mu.
func (e *engine[A, K, S, B]) rousePinned() {
	if len(e.workers) == 0 {
		for range e.n + 1 {
			e.hire()
		}
		for i := range e.lanes {
			e.lanes[i].home = int32(i % e.n)
		}
		for _, w := range e.workers {
			e.start(w)
		}
	}
	if w := e.workers[e.n]; w.parked {
		w.parked = false
		w.wait.Wake()
	}
}

// nextPinned is next for a worker that steals nothing.
func (e *engine[A, K, S, B]) nextPinned(w *worker[A, K, S, B]) *lane[A, K, S] {
	if l := w.pop(); l != nil {
		return l
	}
	clock := now()
	e.mu.Lock()
	tiny := e.grain == 1
	e.book(w, clock, 0)
	if tiny {
		e.tend() // the window is larger: w is free, or the grain has grown
	}
	for {
		if e.sub.Stopped() {
			e.mu.Unlock()
			return nil
		}
		if int(w.id) > e.n {
			if !e.ended && e.roomOrShort() {
				e.pull(w, max(1, e.room(e.grain)), false) // it may be less than a moment ago
				continue
			}
		} else if len(w.inbox) > 0 {
			w.own, w.inbox = w.inbox, w.own[:0]
			w.at = 0
			e.running++
			w.permit = true
			e.mu.Unlock()
			w.began = now()
			return w.pop()
		}
		w.parked = true
		w.wait.Arm()
		e.mu.Unlock()
		w.wait.Park()
		e.mu.Lock()
	}
}

// busy is the number of workers that run something, or are about to. Under mu.
func (e *engine[A, K, S, B]) busy() int {
	busy := e.running
	for _, w := range e.workers[:e.n] {
		if !w.permit && len(w.inbox) > 0 {
			busy++
		}
	}
	return busy
}

// pop takes the next one of the worker's own lanes, in the order in which they
// came.
func (w *worker[A, K, S, B]) pop() *lane[A, K, S] {
	if w.at == len(w.own) {
		clear(w.own)
		w.own, w.at = w.own[:0], 0
		return nil
	}
	l := w.own[w.at]
	w.at++
	if w.at >= maxGrain && 2*w.at >= len(w.own) {
		k := copy(w.own, w.own[w.at:])
		clear(w.own[k:])
		w.own, w.at = w.own[:k], 0
	}
	return l
}
