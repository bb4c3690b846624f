package keyed_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"

	"github.com/seed95b73fdc/sluice/keyed"
)

const linearKeys = 3

// mapState is the value of each key, 0 for none.
type mapState = [linearKeys]int

type mapCall struct {
	op   string
	keys [2]int // the second for "many" only
	v    int

	// deletes is set where keys are deleted: then a LoadOrCompute may return
	// what is not stored.
	deletes bool
}

// second is what the call "many" makes of its second key, if that is another.
func (c mapCall) second(v int) int {
	if c.deletes {
		return 0
	}
	return v + 2*c.v
}

type mapReply struct {
	v  int
	ok bool
	w  int // of the second key
}

// follow returns what the map may be after a call that returned r, in no state if
// it could not have.
func (c mapCall) follow(m mapState, r mapReply) []mapState {
	k, v := c.keys[0], m[c.keys[0]]
	next := m
	ok := true
	switch c.op {
	case "load":
		ok = r == mapReply{v: v, ok: v != 0}
	case "store":
		next[k] = c.v
	case "update":
		next[k] = v + c.v
		ok = r == mapReply{v: v, ok: v != 0}
	case "delete":
		next[k] = 0
		ok = r == mapReply{v: v, ok: v != 0}
	case "compute":
		if v != 0 {
			ok = r == mapReply{v: v, ok: true}
			break
		}
		next[k] = r.v
		switch {
		case !c.deletes:
			ok = r == mapReply{v: c.v}
		case r.ok:
			return []mapState{m} // waited for what was not stored, as the key was deleted
		case r.v == c.v:
			return []mapState{next, m} // deleted meanwhile: not stored
		default:
			ok = false
		}
	case "many":
		l := c.keys[1]
		ok = r == mapReply{v: m[k], w: m[l]}
		if next[k] += c.v; l != k {
			next[l] = c.second(m[l])
		}
	}
	if !ok {
		return nil
	}
	return []mapState{next}
}

// call does the call to a real map.
func (c mapCall) call(m *keyed.Sharded[int, int]) (r mapReply) {
	k := c.keys[0]
	switch c.op {
	case "load":
		r.v, r.ok = m.Load(k)
	case "store":
		m.Store(k, c.v)
	case "update":
		m.Update(k, func(v int, present bool) int {
			r.v, r.ok = v, present
			return v + c.v
		})
	case "delete":
		r.v, r.ok = m.Delete(k)
	case "compute":
		r.v, r.ok, _ = m.LoadOrCompute(context.Background(), k, func(context.Context) (int, error) {
			runtime.Gosched()
			return c.v, nil
		})
	case "many":
		m.UpdateMany(c.keys[:], func(es []*keyed.Entry[int, int]) error {
			r.v, r.w = es[0].Value, es[1].Value
			es[0].Value += c.v
			es[0].Present = true
			if es[1] != es[0] {
				es[1].Value = c.second(es[1].Value)
				es[1].Present = es[1].Value != 0
			}
			return nil
		})
	}
	return r
}

var mapModel = porcupine.NondeterministicModel{
	Init: func() []any { return []any{mapState{}} },
	Step: func(state, in, out any) (states []any) {
		for _, s := range in.(mapCall).follow(state.(mapState), out.(mapReply)) {
			states = append(states, s)
		}
		return states
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v: %+v", in, out) },
}

func TestShardedIsLinearizable(t *testing.T) {
	const goroutines, calls, rounds = 4, 25, 60
	seed := uint64(time.Now().UnixNano())
	overlapped := 0
	for round := range rounds {
		m := keyed.NewSharded[int, int](4)
		deletes := round%2 == 0
		ops := []string{"load", "store", "update", "compute", "many", "delete"}
		if !deletes {
			ops = ops[:5]
		}
		history := make([][]porcupine.Operation, goroutines)
		begin := time.Now()
		var wg sync.WaitGroup
		for g := range goroutines {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(seed, uint64(round*goroutines+g)))
				for range calls {
					c := mapCall{ops[rng.IntN(len(ops))], [2]int{rng.IntN(linearKeys), rng.IntN(linearKeys)}, 1 + rng.IntN(1000), deletes}
					op := porcupine.Operation{ClientId: g, Input: c, Call: time.Since(begin).Nanoseconds()}
					if rng.IntN(4) == 0 {
						runtime.Gosched()
					}
					op.Output = c.call(m)
					op.Return = time.Since(begin).Nanoseconds()
					history[g] = append(history[g], op)
				}
			})
		}
		wg.Wait()
		var all []porcupine.Operation
		for g, ops := range history {
			for _, op := range ops {
				for _, others := range history[:g] {
					for _, other := range others {
						if op.Call < other.Return && other.Call < op.Return {
							overlapped++
						}
					}
				}
			}
			all = append(all, ops...)
		}
		model := mapModel.ToModel()
		if !porcupine.CheckOperations(model, all) {
			t.Fatalf("seed %d, round %d: not linearizable", seed, round)
		}
	}
	if overlapped == 0 {
		t.Errorf("seed %d: vacuous: no two calls overlapped", seed)
	}
}

func TestShardedBehavesAsAPlainMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := keyed.NewSharded[int, int](rapid.SampledFrom([]int{1, 2, 4, 16}).Draw(t, "shards"))
		var model mapState
		for range rapid.IntRange(0, 40).Draw(t, "calls") {
			key := rapid.IntRange(0, linearKeys-1)
			c := mapCall{
				rapid.SampledFrom([]string{"load", "store", "update", "delete", "compute", "many"}).Draw(t, "op"),
				[2]int{key.Draw(t, "key"), key.Draw(t, "key")},
				rapid.IntRange(1, 1000).Draw(t, "v"),
				true,
			}
			r := c.call(m)
			next := c.follow(model, r)
			if next == nil {
				t.Fatalf("%+v of %v returned %+v", c, model, r)
			}
			model = next[0]
			count := 0
			for k, v := range model {
				got, ok := m.Load(k)
				if got != v || ok != (v != 0) {
					t.Fatalf("%+v: key %d is %d, %v, want %d", c, k, got, ok, v)
				}
				if v != 0 {
					count++
				}
			}
			if m.Len() != count {
				t.Fatalf("%d entries, want %d", m.Len(), count)
			}
		}
	})
}
