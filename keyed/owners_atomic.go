package keyed

import (
	"context"
	"slices"

	"github.com/seed95b73fdc/sluice/stage"
)

// Atomically runs f on the states of several keys at once, while no other function
// runs on any of them. It waits, and returns, as [Owners.Do] does. states are in the
// order of keys; a key that is given twice has one state, given twice. It cannot
// deadlock, whatever keys other calls have in whatever order.
//
// All or nothing: f works on copies of the states, and they are taken over only if
// it returns nil. With an error or a panic no state has changed. The copies are
// those of an assignment: what a state points to is not copied, and f must replace
// it and not change it, so that the rule holds.
//
// While such a call waits for one of its lanes, those that it has already wait too;
// so it costs others time, the more the more lanes it takes. Stats tell the share of
// such calls.
func (o *Owners[K, S]) Atomically(ctx context.Context, keys []K, f func(states []*S) error) error {
	stage.CheckFunc("keyed.Owners.Atomically", "f", f == nil)
	if err := o.admit(ctx); err != nil {
		return err
	}
	t := &task[K, S]{keys: slices.Clone(keys), all: f, done: make(chan struct{}), entered: now()}
	o.submitAll(t)
	return o.await(ctx, t)
}

// submitAll takes a seat in each lane of a task, in all of them at one moment: so
// two tasks that share several lanes are in the same order in each of them, and the
// one that is first waits for nobody behind it. The locks are taken in the order of
// the lanes.
func (o *Owners[K, S]) submitAll(t *task[K, S]) {
	var lanes []*ownersLane[K, S]
	for _, k := range t.keys {
		lanes = append(lanes, o.lane(k))
	}
	slices.SortFunc(lanes, func(a, b *ownersLane[K, S]) int { return a.index - b.index })
	lanes = slices.Compact(lanes)
	t.seats = make([]seat[K, S], len(lanes))
	t.missing = len(lanes)
	for _, l := range lanes {
		l.mu.Lock()
	}
	var turns []turn[K, S]
	for i, l := range lanes {
		t.seats[i].task = t
		if l.push(&t.seats[i]) {
			turns = append(turns, turn[K, S]{lane: l})
		}
	}
	for _, l := range lanes {
		l.mu.Unlock()
	}
	if len(lanes) == 0 {
		t.stage = taskBegun
		turns = append(turns, turn[K, S]{task: t})
	}
	for _, tu := range turns {
		o.schedule(tu)
	}
}

// serveAll runs a task whose lanes are all held.
func (o *Owners[K, S]) serveAll(t *task[K, S]) {
	began := now()
	o.call(t)
	o.releaseAll(t)
	o.mu.Lock()
	o.counts.atomically++
	o.counts.atomicLanes += uint64(len(t.seats))
	o.counts.atomicWait += began - t.entered
	o.counts.atomicBusy += now() - began
	o.mu.Unlock()
	o.settle(t)
}

func (o *Owners[K, S]) releaseAll(t *task[K, S]) {
	for i := range t.seats {
		o.release(t.seats[i].lane)
	}
}

// callAll calls f with copies of the states, and takes them over.
func (o *Owners[K, S]) callAll(t *task[K, S]) error {
	type pair struct {
		own  *S
		copy S
	}
	pairs := make(map[K]*pair, len(t.keys))
	states := make([]*S, len(t.keys))
	for i, k := range t.keys {
		p := pairs[k]
		if p == nil {
			s, err := o.lane(k).state(o, k)
			if err != nil {
				return err
			}
			p = &pair{s, *s}
			pairs[k] = p
		}
		states[i] = &p.copy
	}
	if err := t.all(states); err != nil {
		return err
	}
	for _, p := range pairs {
		*p.own = p.copy
	}
	return nil
}
