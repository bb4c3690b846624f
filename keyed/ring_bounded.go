package keyed

import (
	"fmt"
	"math"
	"sync"
)

// Bounded lends out keys such that no member has more than its fair share times a
// factor: where the owner by the ring is full, the next member on it takes the
// key. A factor near 1 keeps loads even and moves more; 1.25 is a usual one. Any
// number of goroutines may use it.
//
// Which member has a key depends on what is lent out, so two processes agree only
// if they see the same loads; for an assignment that all agree on see
// [Ring.Assign].
//
// Vahab Mirrokni, Mikkel Thorup, Morteza Zadimoghaddam: Consistent Hashing with
// Bounded Loads, SODA 2018 (arXiv:1608.01350).
type Bounded struct {
	factor float64

	mu    sync.Mutex
	ring  *Ring
	loads map[string]int // of members with a load, also of such as have left
	total int            // the sum of loads
}

// NewBounded returns a Bounded over ring whose loads are at most factor times the
// fair share, rounded up. The factor must be more than 1.
func NewBounded(ring *Ring, factor float64) *Bounded {
	const fn = "keyed.NewBounded"
	checkRing(fn, ring)
	checkFactor(fn, factor)
	return &Bounded{factor: factor, ring: ring, loads: make(map[string]int)}
}

// Acquire returns the member to have key, and counts it as a load of that member
// until Release. It never blocks.
func (b *Bounded) Acquire(key string) (owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total++
	limit := b.ring.limits(b.factor, b.total)
	b.ring.walk(b.ring.hash(key), func(m int) bool {
		owner = b.ring.members[m].Name
		return b.loads[owner] >= limit(m)
	})
	b.loads[owner]++
	return owner
}

// Release takes one load off owner. It panics if owner has none: something has been
// released twice, or was never acquired.
func (b *Bounded) Release(owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.loads[owner] == 0 {
		panic(fmt.Sprintf("keyed.Bounded.Release: %q has no load", owner))
	}
	b.total--
	if b.loads[owner]--; b.loads[owner] == 0 {
		delete(b.loads, owner)
	}
}

// Load returns what owner has acquired and not released.
func (b *Bounded) Load(owner string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.loads[owner]
}

// SetRing exchanges the members. What a member has stays with it, also one that
// has left, until it is released; what is acquired from now on goes by the new ring.
func (b *Bounded) SetRing(ring *Ring) {
	checkRing("keyed.Bounded.SetRing", ring)
	b.mu.Lock()
	b.ring = ring
	b.mu.Unlock()
}

// Assign gives each of the partitions 0 to n-1 to a member, such that none has more
// than factor times its fair share, rounded up, and returns their names. They are
// placed in ascending order, each by its [HashInt]; so the assignment is the same
// wherever the ring is. The factor must be more than 1.
func (r *Ring) Assign(n int, factor float64) []string {
	const fn = "keyed.Ring.Assign"
	checkFactor(fn, factor)
	if n < 0 || n > math.MaxInt32 {
		panic(fmt.Sprintf("%s: n is %d, want 0 to %d", fn, n, math.MaxInt32))
	}
	limit := r.limits(factor, n)
	loads := make([]int, len(r.members))
	owners := make([]string, n)
	for p := range owners {
		r.walk(HashInt(int64(p)), func(m int) bool {
			if loads[m] >= limit(m) {
				return true
			}
			loads[m]++
			owners[p] = r.members[m].Name
			return false
		})
	}
	return owners
}

// limits returns the most that a member may have of total. The sum of all limits
// is at least total, so whoever has one less finds one with room. Products and
// quotients are rounded alike on all platforms.
func (r *Ring) limits(factor float64, total int) func(member int) int {
	weights := float64(sumWeights(r.members))
	return func(m int) int {
		return int(math.Ceil(factor * float64(total) * float64(r.members[m].Weight) / weights))
	}
}

func sumWeights(members []Member) (sum int) {
	for _, m := range members {
		sum += m.Weight
	}
	return sum
}

func checkFactor(fn string, factor float64) {
	if !(factor > 1) || math.IsInf(factor, 1) {
		panic(fmt.Sprintf("%s: factor is %v, want more than 1", fn, factor))
	}
}

func checkRing(fn string, r *Ring) {
	if r == nil {
		panic(fn + ": ring is nil")
	}
}
