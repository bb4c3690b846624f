package keyed

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/seed95b73fdc/sluice/stage"
)

// ErrCycle is returned by [Sharded.LoadOrCompute] when the computation of a key
// asks, directly or through others, for the key itself: it would wait for ever.
var ErrCycle = errors.New("keyed: computation of a key waits for itself")

// computation is one call of a function by LoadOrCompute, and what became of it.
// Who computes writes value, err and outcome before it closes done; all others
// read them after that.
type computation[V any] struct {
	node    waitNode
	done    chan struct{}
	outcome computed
	value   V
	err     error
}

// computed is what became of a computation.
type computed int

const (
	abandoned computed = iota // by a panic, Goexit, or the end of its caller's context
	succeeded
	failed
)

// LoadOrCompute returns the key's value and true if there is one. If not, it calls
// f, stores what that returns, and returns it and false. While f runs, others
// that ask for the key wait for it instead of calling theirs, and get its value
// and true; other keys, of the same shard too, are not held up, and Load, Store,
// Update and Delete of this one are not either.
//
// An error of f goes to its caller and to those who wait for it, and nothing is
// stored. A panic, runtime.Goexit, or an error after the context of f's caller has
// ended concern that caller alone: the next of those who wait calls its own f.
//
// If the key has been stored meanwhile, that value is the one returned, with true.
// If it has been deleted meanwhile, the value that f made is returned but not
// stored.
//
// It blocks until f returns, or the computation that it waits for is done, or ctx
// ends while it waits; then it returns [context.Cause]. It does not begin f after
// ctx has ended. f gets ctx with a mark, and should pass it on: an f that asks the
// map for a key whose computation waits for its own gets ErrCycle instead of
// waiting for ever.
func (m *Sharded[K, V]) LoadOrCompute(ctx context.Context, key K, f func(context.Context) (V, error)) (v V, loaded bool, err error) {
	stage.CheckFunc("keyed.Sharded.LoadOrCompute", "f", f == nil)
	for {
		s := m.lock(key)
		if v, ok := s.m[key]; ok {
			s.unlock()
			return v, true, nil
		}
		c, running := s.computing[key]
		if !running {
			if ctx.Err() != nil {
				s.unlock()
				return v, false, context.Cause(ctx)
			}
			c = &computation[V]{done: make(chan struct{})}
			if s.computing == nil {
				s.computing = make(map[K]*computation[V])
			}
			if key == key { // else it could not be deleted again
				s.computing[key] = c
			}
			s.unlock()
			return m.compute(ctx, s, key, c, f)
		}
		s.unlock()
		if err := m.await(ctx, c); err != nil {
			return v, false, err
		}
		switch c.outcome {
		case succeeded:
			return c.value, true, nil
		case failed:
			return v, false, c.err
		}
	}
}

// compute calls f for c, and settles c however f ends.
func (m *Sharded[K, V]) compute(ctx context.Context, s *shard[K, V], key K, c *computation[V], f func(context.Context) (V, error)) (v V, loaded bool, err error) {
	outer := computing(ctx)
	waiting.add(outer, &c.node)
	defer func() {
		s.lock()
		current := s.computing[key] == c
		if current {
			delete(s.computing, key)
		}
		if c.outcome == succeeded {
			if present, ok := s.m[key]; ok {
				c.value, v, loaded = present, present, true
			} else if current || key != key {
				s.m[key] = c.value
			}
		}
		s.unlock()
		waiting.remove(outer, &c.node)
		close(c.done)
	}()
	v, err = f(context.WithValue(ctx, computingKey{}, &c.node))
	switch {
	case err == nil:
		c.value, c.outcome = v, succeeded
	case ctx.Err() == nil:
		c.err, c.outcome = err, failed
	}
	if err != nil {
		v = c.value // the zero value
	}
	return v, false, err
}

// await waits until c is settled.
func (m *Sharded[K, V]) await(ctx context.Context, c *computation[V]) error {
	if outer := computing(ctx); outer != nil {
		if !waiting.addAcyclic(outer, &c.node) {
			return ErrCycle
		}
		defer waiting.remove(outer, &c.node)
	}
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// waitNode is a computation in the graph of who waits for whom.
type waitNode struct {
	waitsFor []*waitNode // guarded by the graph's lock
}

// waitGraph has an edge from a computation to each one that its function has
// asked for and not yet got. It never has a cycle: the edge that would close one
// is refused. Only computations within computations touch it.
type waitGraph struct {
	mu sync.Mutex
}

// waiting is the graph of all maps, since a cycle may lead through several.
var waiting waitGraph

// computingKey is the context key of the computation that a function works for.
type computingKey struct{}

func computing(ctx context.Context) *waitNode {
	n, _ := ctx.Value(computingKey{}).(*waitNode)
	return n
}

// add adds an edge to a computation that has just begun, and waits for nobody.
func (g *waitGraph) add(from, to *waitNode) {
	if from == nil {
		return
	}
	g.mu.Lock()
	from.waitsFor = append(from.waitsFor, to)
	g.mu.Unlock()
}

// addAcyclic adds an edge unless it would close a cycle, and reports whether it did.
func (g *waitGraph) addAcyclic(from, to *waitNode) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if to.reaches(from, make(map[*waitNode]bool)) {
		return false
	}
	from.waitsFor = append(from.waitsFor, to)
	return true
}

// remove removes one edge.
func (g *waitGraph) remove(from, to *waitNode) {
	if from == nil {
		return
	}
	g.mu.Lock()
	i := slices.Index(from.waitsFor, to)
	from.waitsFor = slices.Delete(from.waitsFor, i, i+1)
	g.mu.Unlock()
}

func (n *waitNode) reaches(goal *waitNode, seen map[*waitNode]bool) bool {
	if n == goal {
		return true
	}
	if seen[n] {
		return false
	}
	seen[n] = true
	return slices.ContainsFunc(n.waitsFor, func(next *waitNode) bool { return next.reaches(goal, seen) })
}
