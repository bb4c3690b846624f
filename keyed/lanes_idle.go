package keyed

import "time"

// watch sets the timer of IdleAfter, if there are states to look after. Under the
// table's mu.
func (t *table[A, K, S, B]) watch() {
	if t.timer == nil && t.live > 0 {
		t.timer = time.AfterFunc(t.e.idleAfter, t.ring)
	}
}

// ring is the timer's function. It parts with the states of keys that have been
// idle, and hands their lanes to whoever is free.
func (t *table[A, K, S, B]) ring() {
	select {
	case <-t.rung:
	default:
		return // silenced
	}
	e := t.e
	var w worker[A, K, S, B]
	t.mu.Lock()
	t.timer = nil
	if !e.sub.Stopped() {
		t.partAll(&w, now()-e.idleAfter)
	}
	e.opened.Add(w.commit())
	t.watch()
	t.mu.Unlock()
	e.mu.Lock()
	e.hand(w.touched)
	e.mu.Unlock()
	t.rung <- struct{}{}
}

// silence ends the timer, and waits for its function.
func (t *table[A, K, S, B]) silence() {
	if t.rung == nil || t.silent {
		return
	}
	t.silent = true
	<-t.rung // and never given back
	t.mu.Lock()
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	t.mu.Unlock()
}
