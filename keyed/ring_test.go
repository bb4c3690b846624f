package keyed_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/seed95b73fdc/sluice/keyed"
)

// counts returns how many of the keys each member owns.
func counts(r keyed.Router, keys []string) map[string]int {
	n := make(map[string]int)
	for _, key := range keys {
		n[r.Owner(key)]++
	}
	return n
}

// TestRingOfChosenPlaces puts points and keys where one wants them.
func TestRingPlaceBelongsToThePointAtItOrTheNextOne(t *testing.T) { // C101
	places := map[string]uint64{"low": 100, "mid": 1 << 40, "high": 1<<64 - 5}
	hash := func(s string) uint64 {
		if len(s) > 8 {
			return places[s[8:]] // a point: its number, then the name
		}
		return 0
	}
	r := ring(t, keyed.Named("mid", "high", "low"), keyed.WithHash(hash), keyed.VirtualNodes(1))
	for h, want := range map[uint64]string{
		0: "low", 99: "low", 100: "low", 101: "mid", 1<<40 - 1: "mid", 1 << 40: "mid", 1<<40 + 1: "high",
		1 << 63: "high", 1<<64 - 6: "high", 1<<64 - 5: "high", 1<<64 - 4: "low", 1<<64 - 1: "low",
	} {
		if got := r.OwnerOfHash(h); got != want {
			t.Errorf("hash %d: got %s, want %s", h, got, want)
		}
	}
}

func TestRingLookupAgreesWithASearchOfAllPoints(t *testing.T) {
	for name, hash := range map[string]keyed.KeyHash{
		"xxhash": keyed.HashString,
		"coarse": coarse,
		"dense":  func(s string) uint64 { return keyed.HashString(s) >> 48 },
		"32 bit": func(s string) uint64 { return keyed.HashString(s) >> 32 },
	} {
		members := keyed.Named(nodes(7)...)
		const v = 30
		r := ring(t, members, keyed.WithHash(hash), keyed.VirtualNodes(v))
		type point struct {
			at   uint64
			name string
		}
		var points []point
		for _, m := range members {
			for i := range v {
				points = append(points, point{hash(string([]byte{byte(i), 0, 0, 0, 0, 0, 0, 0}) + m.Name), m.Name})
			}
		}
		for _, key := range someKeys(3000) {
			best, h := points[0], hash(key)
			for _, p := range points[1:] {
				if d, b := p.at-h, best.at-h; d < b || d == b && p.name < best.name {
					best = p
				}
			}
			if got := r.Owner(key); got != best.name {
				t.Fatalf("%s: %s has %s, want %s", name, key, got, best.name)
			}
		}
	}
}

func TestRingNamesThatEndOrBeginInDigitsShareNoPoint(t *testing.T) { // C98
	keys := someKeys(10_000)
	for _, c := range []struct {
		names []string
		v     int
	}{{[]string{"member", "member1"}, 11}, {[]string{"node", "1node"}, 20}} {
		r := ring(t, keyed.Named(c.names...), keyed.VirtualNodes(c.v))
		if r.Points() != 2*c.v {
			t.Errorf("%v: %d points, want %d", c.names, r.Points(), 2*c.v)
		}
		rest, err := r.Without(c.names[0])
		if err != nil || rest.Points() != c.v {
			t.Fatalf("%v: %d points, %v", c.names, rest.Points(), err)
		}
		again, err := rest.With(keyed.Member{Name: c.names[0]})
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			if got := rest.Owner(key); got != c.names[1] {
				t.Fatalf("%s has %s", key, got)
			}
			if again.Owner(key) != r.Owner(key) {
				t.Fatalf("%s has another owner than before", key)
			}
		}
	}
}

func TestRingPointsAreWeightsTimesVirtualNodes(t *testing.T) {
	r := ring(t, []keyed.Member{{Name: "a"}, {Name: "b", Weight: 1}, {Name: "c", Weight: 10}}, keyed.VirtualNodes(7))
	if r.Points() != 12*7 {
		t.Errorf("%d points", r.Points())
	}
	if d := ring(t, keyed.Named("a")).Points(); d != keyed.DefaultVirtualNodes {
		t.Errorf("%d points by default", d)
	}
}

// Shares vary by one part in √v; the largest of n is some √(2 ln n) of that off.
func TestRingSharesAreEvenAsTheorySays(t *testing.T) { // C125
	oneGoroutine(t)
	keys := someKeys(100_000)
	for _, v := range []int{16, 64, keyed.DefaultVirtualNodes} {
		for _, n := range []int{2, 8, 50} {
			r := ring(t, keyed.Named(nodes(n)...), keyed.VirtualNodes(v))
			most := 0
			for _, c := range counts(r, keys) {
				most = max(most, c)
			}
			off := float64(most)*float64(n)/float64(len(keys)) - 1
			if bound := 1.5 * math.Sqrt(2*math.Log(float64(n))/float64(v)); off > bound {
				t.Errorf("%d members, %d virtual nodes: max/mean is %.3f, bound %.3f", n, v, 1+off, 1+bound)
			}
		}
	}
	eight := counts(ring(t, keyed.Named(nodes(8)...)), someKeys(10_000))
	for name, c := range eight {
		if float64(c) > 1.25*10_000/8 {
			t.Errorf("%s has %d of 10,000 keys", name, c)
		}
	}
}

func TestWeightsAreSharesOfTheKeys(t *testing.T) {
	oneGoroutine(t)
	members := []keyed.Member{{Name: "a"}, {Name: "b", Weight: 2}, {Name: "c", Weight: 5}, {Name: "d", Weight: 12}}
	keys := someKeys(100_000)
	for name, c := range map[string]struct {
		router keyed.Router
		sigmas func(share, weight float64) float64 // standard deviation of a share
	}{
		"rendezvous": {rendezvous(t, members), func(share, _ float64) float64 {
			return math.Sqrt(share * (1 - share) / float64(len(keys)))
		}},
		"ring": {ring(t, members), func(share, weight float64) float64 {
			return share / math.Sqrt(weight*keyed.DefaultVirtualNodes)
		}},
	} {
		n := counts(c.router, keys)
		for _, m := range c.router.Members() {
			want := float64(m.Weight) / 20
			got := float64(n[m.Name]) / float64(len(keys))
			if tolerance := 4 * c.sigmas(want, float64(m.Weight)); math.Abs(got-want) > tolerance {
				t.Errorf("%s: %s has %.4f of the keys, want %.4f ± %.4f", name, m.Name, got, want, tolerance)
			}
		}
	}
}

// What moves is the share of the one that comes or goes, and goes to or comes from
// it alone; a ring's shares vary by one part in √v, a sample's by chance.
func TestMembershipChangesMoveTheShareOfTheMemberAndNoMore(t *testing.T) { // C105
	oneGoroutine(t)
	const n = 10
	keys := someKeys(40_000)
	members := keyed.Named(nodes(n)...)
	chance := 4 * math.Sqrt(1./n*(1-1./n)/float64(len(keys)))
	for name, c := range map[string]struct {
		make      func([]keyed.Member) keyed.Router
		tolerance float64
	}{
		"rendezvous": {func(m []keyed.Member) keyed.Router { return rendezvous(t, m) }, chance},
		"ring":       {func(m []keyed.Member) keyed.Router { return ring(t, m) }, chance + 4./n/math.Sqrt(keyed.DefaultVirtualNodes)},
	} {
		full := c.make(members)
		for i, m := range members {
			less := slices.Delete(slices.Clone(members), i, i+1)
			out := keyed.ExplainMove(full, c.make(less), keys)
			if share := out.Share(); math.Abs(share-1./n) > c.tolerance || share > 1.5/n {
				t.Errorf("%s: without %s %.4f of the keys move, want %.4f ± %.4f", name, m.Name, share, 1./n, c.tolerance)
			}
			for _, f := range out.Flows {
				if f.From != m.Name {
					t.Errorf("%s: without %s keys move from %s", name, m.Name, f.From)
				}
			}
			if len(out.Flows) != n-1 {
				t.Errorf("%s: without %s keys go to %d members", name, m.Name, len(out.Flows))
			}
			in := keyed.ExplainMove(c.make(less), c.make(append(less, m)), keys)
			if in.Moved != out.Moved || math.Abs(in.Least-1./n) > 1e-12 {
				t.Errorf("%s: with %s again %d keys move, not %d; least %.4f", name, m.Name, in.Moved, out.Moved, in.Least)
			}
		}
	}
}

func TestWeightChangesMoveKeysToWhoeverGrowsOnly(t *testing.T) {
	oneGoroutine(t)
	members := []keyed.Member{{Name: "a"}, {Name: "b"}, {Name: "c", Weight: 3}, {Name: "d", Weight: 2}}
	keys := someKeys(30_000)
	for name, make := range map[string]func([]keyed.Member) keyed.Router{
		"rendezvous": func(m []keyed.Member) keyed.Router { return rendezvous(t, m) },
		"ring":       func(m []keyed.Member) keyed.Router { return ring(t, m) },
	} {
		heavier := slices.Clone(members)
		heavier[1].Weight = 4
		m := keyed.ExplainMove(make(members), make(heavier), keys)
		if math.Abs(m.Least-(0.4-1./7)) > 1e-12 {
			t.Errorf("%s: least is %v", name, m.Least)
		}
		if math.Abs(m.Share()-m.Least) > 0.04 {
			t.Errorf("%s: %.4f of the keys move, want about %.4f", name, m.Share(), m.Least)
		}
		for _, f := range m.Flows {
			if f.To != "b" {
				t.Errorf("%s: keys move to %s", name, f.To)
			}
		}
	}
}

func TestOwnersAfterARemovalAreTheRestInTheSameOrder(t *testing.T) {
	members := keyed.Named(nodes(6)...)
	for name, c := range map[string][2]keyed.Router{
		"rendezvous": {rendezvous(t, members), rendezvous(t, members[1:])},
		"ring":       {ring(t, members), ring(t, members[1:])},
	} {
		for _, key := range someKeys(500) {
			before, _ := c[0].Owners(key, 6)
			after, _ := c[1].Owners(key, 5)
			before = slices.DeleteFunc(before, func(s string) bool { return s == "node-0" })
			if !slices.Equal(before, after) {
				t.Fatalf("%s: %s has %v, then %v", name, key, before, after)
			}
		}
	}
}

func TestRouterMembersAreACopy(t *testing.T) {
	for name, r := range routers(t, 3) {
		before := fmt.Sprint(r.Members())
		r.Members()[0].Name = "spoilt"
		if got := fmt.Sprint(r.Members()); got != before {
			t.Errorf("%s: got %s, want %s", name, got, before)
		}
	}
}

func TestRouterLookupsAllocateNothing(t *testing.T) { // P10
	for name, r := range routers(t, 5) {
		if n := testing.AllocsPerRun(100, func() { r.Owner("some key") }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
