package keyed_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/seed95b73fdc/sluice/keyed"
)

func TestAssignKeepsEveryLoadBelowItsBound(t *testing.T) {
	members := []keyed.Member{{Name: "a"}, {Name: "b", Weight: 2}, {Name: "c", Weight: 3}, {Name: "d"}, {Name: "e"}}
	const weights = 8
	r := ring(t, members, keyed.VirtualNodes(4)) // uneven
	for _, n := range []int{0, 1, 7, 64, 1000, 4096} {
		for _, factor := range []float64{1.0000001, 1.01, 1.25, 2} {
			owners := r.Assign(n, factor)
			loads := make(map[string]int)
			for p, o := range owners {
				if o == "" {
					t.Fatalf("partition %d of %d has no owner", p, n)
				}
				loads[o]++
			}
			for _, m := range r.Members() {
				if most := int(math.Ceil(factor * float64(n) * float64(m.Weight) / weights)); loads[m.Name] > most {
					t.Errorf("%d partitions, factor %v: %s has %d, bound %d", n, factor, m.Name, loads[m.Name], most)
				}
			}
			if len(owners) != n {
				t.Errorf("%d owners of %d partitions", len(owners), n)
			}
		}
	}
}

func TestAssignWithRoomForAllIsTheRing(t *testing.T) {
	r := ring(t, keyed.Named(nodes(5)...))
	for p, owner := range r.Assign(500, 5) {
		if want := r.OwnerOfHash(keyed.HashInt(int64(p))); owner != want {
			t.Errorf("partition %d: got %s, want %s", p, owner, want)
		}
	}
}

// The price of the bound: members that were full, or had room, hand on too.
func TestAssignMovesLittleMoreThanTheShareOfAMember(t *testing.T) {
	const n, partitions = 20, 20_000
	members := keyed.Named(nodes(n)...)
	full, less := ring(t, members).Assign(partitions, 1.25), ring(t, members[1:]).Assign(partitions, 1.25)
	moved := 0
	for p := range full {
		if full[p] != less[p] {
			moved++
		}
	}
	if share := float64(moved) / partitions; share > 2./n {
		t.Errorf("%.4f of the partitions move, %d members", share, n)
	}
}

func TestBoundedNeverExceedsItsBoundAndForgetsNothing(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	members := []keyed.Member{{Name: "a"}, {Name: "b", Weight: 2}, {Name: "c"}}
	r := ring(t, members, keyed.VirtualNodes(3))
	b := keyed.NewBounded(r, 1.25)
	rng := rand.New(rand.NewPCG(seed, 0))
	var held []string
	diverted := 0
	for i := range 5000 {
		if len(held) > 0 && rng.IntN(5) < 2 {
			j := rng.IntN(len(held))
			b.Release(held[j])
			held[j] = held[len(held)-1]
			held = held[:len(held)-1]
		} else {
			key := fmt.Sprint(i)
			owner := b.Acquire(key)
			held = append(held, owner)
			if owner != r.Owner(key) {
				diverted++
			}
			weight := 1.
			if owner == "b" {
				weight = 2
			}
			if most := int(math.Ceil(1.25 * float64(len(held)) * weight / 4)); b.Load(owner) > most {
				t.Fatalf("seed %d: %s has %d of %d, bound %d", seed, owner, b.Load(owner), len(held), most)
			}
		}
		if sum := b.Load("a") + b.Load("b") + b.Load("c"); sum != len(held) {
			t.Fatalf("seed %d: loads add up to %d, not %d", seed, sum, len(held))
		}
	}
	if diverted == 0 {
		t.Errorf("seed %d: vacuous: nobody was full", seed)
	}
}

func TestBoundedKeepsTheLoadsOfThoseWhoHaveLeft(t *testing.T) {
	r := ring(t, keyed.Named("a", "b"))
	b := keyed.NewBounded(r, 1.5)
	var held []string
	for i := range 20 {
		held = append(held, b.Acquire(fmt.Sprint(i)))
	}
	had := b.Load("a")
	rest, err := r.Without("a")
	if err != nil {
		t.Fatal(err)
	}
	b.SetRing(rest)
	for i := range 20 {
		if owner := b.Acquire(fmt.Sprint(i)); owner != "b" {
			t.Fatalf("acquired from %s", owner)
		}
	}
	if had == 0 || b.Load("a") != had {
		t.Errorf("a had %d, now %d", had, b.Load("a"))
	}
	for _, owner := range held {
		b.Release(owner)
	}
	if b.Load("a") != 0 || b.Load("b") != 20 {
		t.Errorf("a has %d, b has %d", b.Load("a"), b.Load("b"))
	}
}

func TestBoundedIsForAnyNumberOfGoroutines(t *testing.T) {
	b := keyed.NewBounded(ring(t, keyed.Named("a", "b", "c")), 1.25)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				b.Release(b.Acquire(fmt.Sprint(g, i)))
			}
		})
	}
	wg.Wait()
	if sum := b.Load("a") + b.Load("b") + b.Load("c"); sum != 0 {
		t.Errorf("%d left", sum)
	}
}
