package keyed

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestLogarithmIsRightToOnePartIn4000(t *testing.T) {
	logs := logs()
	rng := rand.New(rand.NewPCG(1, 2))
	check := func(x uint64) {
		got := float64(logs.of(x)) / (1 << logBits)
		u := (float64(x) + 1) / (1 << 64)
		want := -math.Log2(u)
		if x > 1<<63 { // where 1 - u is what has the bits
			want = -math.Log1p(-float64(^x)/(1<<64)) / math.Ln2
		}
		if math.Abs(got-want) > want/4000+2./(1<<logBits) {
			t.Errorf("-log₂ of %d: got %v, want %v", x, got, want)
		}
	}
	for i := range 64 {
		for _, d := range []uint64{0, 1, 2} {
			check(1<<i + d)
			check(1<<i - d)
			check(-(1<<i + d))
			check(-(1<<i - d))
		}
	}
	for range 100_000 {
		check(rng.Uint64() >> rng.IntN(64))
		check(^(rng.Uint64() >> rng.IntN(64)))
	}
}

// The order of equal weights is the order of draws only if this holds.
func TestLogarithmNeverRises(t *testing.T) {
	logs := logs()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200_000 {
		x := rng.Uint64() >> rng.IntN(64)
		if rng.IntN(2) == 0 { // at the edge of an entry
			x = x>>54<<54 - 1
		}
		for _, d := range []uint64{1, 2, 1 << 20, 1 << 43} {
			if x+d > x && logs.of(x+d) > logs.of(x) {
				t.Fatalf("log of %d is %d, of %d more it is %d", x, logs.of(x), d, logs.of(x+d))
			}
		}
	}
	if got := logs.of(math.MaxUint64); got != 0 {
		t.Errorf("log of 1 is %d", got)
	}
	if got := logs.of(0); got != 64<<logBits {
		t.Errorf("log of the least is %d", got)
	}
}

func TestLeastLogarithmIsNotMoreThanTheLogarithm(t *testing.T) {
	logs := logs()
	rng := rand.New(rand.NewPCG(5, 6))
	check := func(x uint64) {
		if least, log := leastLog(x), logs.of(x); least > log {
			t.Errorf("of %d: least is %d, log is %d", x, least, log)
		}
	}
	for i := range 64 {
		check(1<<i - 1)
		check(-(1 << i))
	}
	for range 200_000 {
		check(rng.Uint64() >> rng.IntN(64))
		check(^(rng.Uint64() >> rng.IntN(64)))
	}
}

// The shortcut of the lookup must not change who wins.
func TestRendezvousOwnerHasTheBestScoreOfAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		members := make([]Member, 1+rng.IntN(40))
		for i := range members {
			members[i] = Member{string(rune('a' + i)), 1 + rng.IntN(1+rng.IntN(MaxWeight))}
		}
		r, err := NewRendezvous(members)
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			hash := rng.Uint64()
			best := 0
			for i := range r.members {
				if r.score(i, scramble(hash^r.hashes[i])).beats(r.score(best, scramble(hash^r.hashes[best]))) {
					best = i
				}
			}
			if got := r.OwnerOfHash(hash); got != r.members[best].Name {
				t.Fatalf("of %v, hash %d: got %s, want %s", r.members, hash, got, r.members[best].Name)
			}
		}
	}
}
