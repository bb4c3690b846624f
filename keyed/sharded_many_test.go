package keyed_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed95b73fdc/sluice/keyed"
)

type entries = []*keyed.Entry[int, int]

func TestUpdateManyHandsOutEntriesInTheOrderOfKeys(t *testing.T) {
	m := keyed.NewSharded[int, int](8)
	for _, k := range []int{1, 3} {
		m.Store(k, 10*k)
	}
	keys := []int{3, 2, 1, 3}
	if err := m.UpdateMany(keys, func(es entries) error {
		for i, e := range es {
			if want := (keyed.Entry[int, int]{Key: keys[i], Value: 10 * keys[i], Present: true}); keys[i] == 2 {
				if *e != (keyed.Entry[int, int]{Key: 2}) {
					t.Errorf("absent: got %v", *e)
				}
			} else if *e != want {
				t.Errorf("entry %d: got %v, want %v", i, *e, want)
			}
		}
		if es[0] != es[3] {
			t.Error("a key that comes twice has two entries")
		}
		es[0].Value++
		es[3].Value++
		es[1].Value = 7 // and not Present: not stored
		es[2].Present = false
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if v, _ := m.Load(3); v != 32 {
		t.Errorf("got %d", v)
	}
	if n := m.Len(); n != 1 {
		t.Errorf("%d entries", n)
	}
}

func TestUpdateManyOfNothingCallsFOnce(t *testing.T) {
	calls := 0
	m := keyed.NewSharded[int, int](2)
	if err := m.UpdateMany(nil, func(es entries) error { calls += 1 + len(es); return errBoom }); err != errBoom || calls != 1 {
		t.Errorf("got %v, %d calls", err, calls)
	}
}

func TestUpdateManyChangesNothingWithAnError(t *testing.T) {
	m := keyed.NewSharded[int, int](2)
	m.Store(1, 1)
	m.Store(2, 2)
	if err := m.UpdateMany([]int{1, 2, 3}, func(es entries) error {
		es[0].Value, es[1].Present, es[2].Present = 100, false, true
		return errBoom
	}); err != errBoom {
		t.Errorf("got %v", err)
	}
	v1, _ := m.Load(1)
	v2, _ := m.Load(2)
	if v1 != 1 || v2 != 2 || m.Len() != 2 {
		t.Errorf("got %d, %d, %d entries", v1, v2, m.Len())
	}
}

// A deadlock would hang the test; keys in any order, with repeats, many to a shard.
func TestUpdateManyNeverDeadlocksAndMovesMoneyWithoutLoss(t *testing.T) {
	const accounts, goroutines, transfers, start = 24, 8, 3000, 100
	m := keyed.NewSharded[int, int](8)
	for a := range accounts {
		m.Store(a, start)
	}
	seed := uint64(time.Now().UnixNano())
	errPoor := errors.New("too little")
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(g)))
			for range transfers {
				from, to, amount := rng.IntN(accounts), rng.IntN(accounts), rng.IntN(50)
				m.UpdateMany([]int{from, to}, func(es entries) error {
					if es[0].Value < amount {
						return errPoor
					}
					es[0].Value -= amount
					es[1].Value += amount
					return nil
				})
				if rng.IntN(16) == 0 {
					all := rng.Perm(accounts)
					m.UpdateMany(all, func(es entries) error {
						sum := 0
						for _, e := range es {
							sum += e.Value
							if e.Value < 0 {
								t.Errorf("seed %d: account %d has %d", seed, e.Key, e.Value)
							}
						}
						if sum != accounts*start {
							t.Errorf("seed %d: sum %d", seed, sum)
						}
						return nil
					})
				}
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, v := range m.Range {
		sum += v
	}
	if sum != accounts*start {
		t.Errorf("seed %d: sum %d, want %d", seed, sum, accounts*start)
	}
}

// With one shard taken twice, or in another order than ascending, this would hang.
func TestUpdateManyTakesEachShardOnce(t *testing.T) {
	m := keyed.NewSharded[int, int](2)
	keys := make([]int, 100)
	for i := range keys {
		keys[i] = i
	}
	for range 3 {
		slices.Reverse(keys)
		if err := m.UpdateMany(keys, func(es entries) error {
			for _, e := range es {
				e.Value, e.Present = e.Value+1, true
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range m.Range {
		if v != 3 {
			t.Fatalf("got %d", v)
		}
	}
	if m.Len() != len(keys) {
		t.Errorf("%d entries", m.Len())
	}
}
