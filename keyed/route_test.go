package keyed_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed95b73fdc/sluice/keyed"
)

// someKeys returns the keys key-0, key-1, …
func someKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprint("key-", i)
	}
	return keys
}

// nodes returns the names node-0, node-1, …
func nodes(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("node-", i)
	}
	return names
}

func ring(t testing.TB, members []keyed.Member, opts ...keyed.RouteOption) *keyed.Ring {
	t.Helper()
	r, err := keyed.NewRing(members, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func rendezvous(t testing.TB, members []keyed.Member, opts ...keyed.RouteOption) *keyed.Rendezvous {
	t.Helper()
	r, err := keyed.NewRendezvous(members, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// routers makes one of each kind.
func routers(t testing.TB, n int, opts ...keyed.RouteOption) map[string]keyed.Router {
	members := keyed.Named(nodes(n)...)
	weighted := slices.Clone(members)
	for i := range weighted {
		weighted[i].Weight = 1 + i
	}
	return map[string]keyed.Router{
		"Modulo":               keyed.NewModulo(n, opts...),
		"Jump":                 keyed.NewJump(n, opts...),
		"Rendezvous":           rendezvous(t, members, opts...),
		"Rendezvous, weighted": rendezvous(t, weighted, opts...),
		"Ring":                 ring(t, members, opts...),
		"Ring, weighted":       ring(t, weighted, opts...),
		"Table":                keyed.NewTable(ring(t, members, opts...)),
	}
}

func TestRoutersGiveAsManyDifferentOwnersAsAskedForTheOwnerFirst(t *testing.T) { // C102
	for _, n := range []int{1, 2, 5, 20} {
		for name, r := range routers(t, n) {
			for _, key := range someKeys(50) {
				for _, k := range []int{0, 1, 2, n - 1, n} {
					if k > n {
						continue
					}
					owners, err := r.Owners(key, k)
					if err != nil || len(owners) != k {
						t.Fatalf("%s of %d, %d owners: got %v, %v", name, n, k, owners, err)
					}
					if k > 0 && owners[0] != r.Owner(key) {
						t.Fatalf("%s of %d: owner %s is not the first of %v", name, n, r.Owner(key), owners)
					}
					slices.Sort(owners)
					if len(slices.Compact(owners)) != k {
						t.Fatalf("%s of %d: %v are not all different", name, n, owners)
					}
				}
			}
			for _, k := range []int{-1, n + 1} {
				if owners, err := r.Owners("a", k); !errors.Is(err, keyed.ErrTooFewMembers) || owners != nil || !strings.Contains(err.Error(), fmt.Sprint(k)) {
					t.Errorf("%s of %d, %d owners: got %v, %v", name, n, k, owners, err)
				}
			}
		}
	}
}

func TestRoutersFirstOwnersStayWhenMoreAreAskedFor(t *testing.T) {
	for name, r := range routers(t, 7) {
		for _, key := range someKeys(50) {
			all, _ := r.Owners(key, 7)
			for k := range 7 {
				if some, _ := r.Owners(key, k); !slices.Equal(some, all[:k]) {
					t.Fatalf("%s: %d owners of %s: got %v of %v", name, k, key, some, all)
				}
			}
		}
	}
}

func TestRoutersHaveAnOwnerForEveryHash(t *testing.T) { // C96, C101
	extremes := []uint64{0, 1, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1 << 63, 1<<63 - 1, 1<<64 - 1}
	for _, h := range extremes {
		hash := func(string) uint64 { return h }
		for _, n := range []int{1, 2, 3, 12} {
			for name, r := range routers(t, n, keyed.WithHash(hash)) {
				if owner := r.Owner("x"); !slices.ContainsFunc(r.Members(), func(m keyed.Member) bool { return m.Name == owner }) {
					t.Errorf("%s of %d, hash %#x: got %q", name, n, h, owner)
				}
			}
			if b := keyed.NewModulo(n).BucketOfHash(h); b != int(h%uint64(n)) {
				t.Errorf("modulo %d of %#x: got %d", n, h, b)
			}
			if b := keyed.NewJump(n).BucketOfHash(h); b < 0 || b >= n {
				t.Errorf("jump %d of %#x: got %d", n, h, b)
			}
		}
	}
}

// All keys and members fall on 4 hashes, so that nearly everything collides.
func coarse(s string) uint64 { return keyed.HashString(s) & 3 << 62 }

func TestRoutersDoNotDependOnTheOrderOfMembersNorOnCollisions(t *testing.T) { // C99
	members := []keyed.Member{{Name: "a"}, {Name: "b", Weight: 2}, {Name: "ab"}, {Name: "a1", Weight: 3}, {Name: "node-1294"}, {Name: "node-5595"}}
	keys := someKeys(60)
	for hashName, hash := range map[string]keyed.KeyHash{
		"xxhash": keyed.HashString,
		"coarse": coarse,
		"equal":  func(string) uint64 { return 7 },
	} {
		opts := []keyed.RouteOption{keyed.WithHash(hash), keyed.VirtualNodes(11)}
		for kind, make := range map[string]func([]keyed.Member) keyed.Router{
			"ring":       func(m []keyed.Member) keyed.Router { return ring(t, m, opts...) },
			"rendezvous": func(m []keyed.Member) keyed.Router { return rendezvous(t, m, opts...) },
		} {
			final := make(members)
			for _, order := range permutations(members) {
				r := make(order)
				for _, key := range keys {
					want, _ := final.Owners(key, len(members))
					if got, _ := r.Owners(key, len(members)); r.Owner(key) != final.Owner(key) || !slices.Equal(got, want) {
						t.Fatalf("%s, %s, order %v: %s has %v, want %v", hashName, kind, order, key, got, want)
					}
				}
			}
			// One by one, with one that has been and gone: as if made at once.
			for _, key := range keys {
				if got, want := grown(t, kind, members, opts).Owner(key), final.Owner(key); got != want {
					t.Fatalf("%s, %s: %s has %v, want %v", hashName, kind, key, got, want)
				}
			}
		}
	}
}

// grown makes a router by adding members one by one, and a guest that leaves again.
func grown(t *testing.T, kind string, members []keyed.Member, opts []keyed.RouteOption) keyed.Router {
	t.Helper()
	guest := keyed.Member{Name: "guest", Weight: 5}
	fail := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	if kind == "ring" {
		r := ring(t, members[:1], opts...)
		for i, m := range append(members[1:len(members):len(members)], guest) {
			var err error
			r, err = r.With(keyed.Member{Name: m.Name, Weight: 9}) // to be replaced
			fail(err)
			r, err = r.With(m)
			fail(err)
			if want := min(i+2, len(members)+1); len(r.Members()) != want {
				t.Fatalf("%d members, want %d", len(r.Members()), want)
			}
		}
		r, err := r.Without("guest")
		fail(err)
		return r
	}
	r := rendezvous(t, members[:1], opts...)
	for _, m := range append(members[1:len(members):len(members)], guest) {
		var err error
		r, err = r.With(m)
		fail(err)
	}
	r, err := r.Without("guest")
	fail(err)
	return r
}

func TestWhatCollidesBelongsToTheFirstByName(t *testing.T) { // C99
	equal := keyed.WithHash(func(string) uint64 { return 7 })
	for name, members := range map[string][]keyed.Member{
		"equal weights":   keyed.Named("c", "a", "b"),
		"unequal weights": {{Name: "d"}, {Name: "c", Weight: 2}, {Name: "a", Weight: 2}, {Name: "b", Weight: 2}},
	} {
		for kind, r := range map[string]keyed.Router{
			"ring":       ring(t, members, equal, keyed.VirtualNodes(3)),
			"rendezvous": rendezvous(t, members, equal),
		} {
			if owners, err := r.Owners("k", 3); r.Owner("k") != "a" || err != nil || !slices.Equal(owners, []string{"a", "b", "c"}) {
				t.Errorf("%s, %s: %s owns, of %v, %v", kind, name, r.Owner("k"), owners, err)
			}
		}
	}
}

// permutations returns some orders of s: each rotation, forwards and backwards.
func permutations(s []keyed.Member) (all [][]keyed.Member) {
	for i := range s {
		p := append(slices.Clone(s[i:]), s[:i]...)
		q := slices.Clone(p)
		slices.Reverse(q)
		all = append(all, p, q)
	}
	return all
}

func TestBadMembersAreErrorsThatNameThem(t *testing.T) {
	for want, members := range map[string][]keyed.Member{
		`"a" is listed twice`:   keyed.Named("a", "b", "a"),
		"its name is empty":     keyed.Named("a", ""),
		`"b" has weight -1`:     {{Name: "a"}, {Name: "b", Weight: -1}},
		`"b" has weight 65537`:  {{Name: "a"}, {Name: "b", Weight: keyed.MaxWeight + 1}},
		"no members":            nil,
		"more than 4194304 poi": {{Name: "a", Weight: keyed.MaxWeight}, {Name: "b"}},
	} {
		_, ringErr := keyed.NewRing(members, keyed.VirtualNodes(64))
		_, rendezvousErr := keyed.NewRendezvous(members)
		for kind, err := range map[string]error{"ring": ringErr, "rendezvous": rendezvousErr} {
			if kind == "rendezvous" && strings.HasPrefix(want, "more than") {
				continue // it has no points
			}
			if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, keyed.ErrNoMembers) == errors.Is(err, keyed.ErrBadMember) {
				t.Errorf("%s: got %v, want %q", kind, err, want)
			}
		}
	}
	r, v := ring(t, keyed.Named("a")), rendezvous(t, keyed.Named("a"))
	if _, err := r.Without("b"); !errors.Is(err, keyed.ErrBadMember) {
		t.Errorf("got %v", err)
	}
	if _, err := v.Without("b"); !errors.Is(err, keyed.ErrBadMember) {
		t.Errorf("got %v", err)
	}
	if _, err := r.Without("a"); !errors.Is(err, keyed.ErrNoMembers) {
		t.Errorf("got %v", err)
	}
	if _, err := v.Without("a"); !errors.Is(err, keyed.ErrNoMembers) {
		t.Errorf("got %v", err)
	}
}

func TestRoutersBadArgumentsPanicWithPlaceAndValue(t *testing.T) { // P11, C53
	mustPanic(t, "keyed.NewModulo: n is 0", func() { keyed.NewModulo(0) })
	mustPanic(t, "keyed.NewModulo: n is 1048577", func() { keyed.NewModulo(keyed.MaxBuckets + 1) })
	mustPanic(t, "keyed.NewJump: n is -1", func() { keyed.NewJump(-1) })
	mustPanic(t, "keyed.VirtualNodes: v is 0", func() { keyed.VirtualNodes(0) })
	mustPanic(t, "keyed.VirtualNodes: v is 2147483647", func() { keyed.VirtualNodes(1<<31 - 1) })
	mustPanic(t, "keyed.WithHash: hash is nil", func() { keyed.WithHash(nil) })
	mustPanic(t, "keyed.NewJump: option 0 is nil", func() { keyed.NewJump(1, nil) })
	mustPanic(t, "keyed.NewTable: router is nil", func() { keyed.NewTable(nil) })
	mustPanic(t, "keyed.Table.Set: router is nil", func() { keyed.NewTable(keyed.NewModulo(1)).Set(nil) })
	mustPanic(t, "keyed.ExplainMove: router is nil", func() { keyed.ExplainMove(keyed.NewModulo(1), nil, nil) })
	r := ring(t, keyed.Named("a"))
	mustPanic(t, "keyed.NewBounded: ring is nil", func() { keyed.NewBounded(nil, 2) })
	mustPanic(t, "keyed.NewBounded: factor is 1,", func() { keyed.NewBounded(r, 1) })
	mustPanic(t, "keyed.Ring.Assign: factor is NaN", func() { r.Assign(1, zero()/zero()) })
	mustPanic(t, "keyed.Ring.Assign: factor is +Inf", func() { r.Assign(1, 1/zero()) })
	mustPanic(t, "keyed.Ring.Assign: n is -1", func() { r.Assign(-1, 2) })
	mustPanic(t, `keyed.Bounded.Release: "a" has no load`, func() { keyed.NewBounded(r, 2).Release("a") })
	mustPanic(t, "keyed.Bounded.SetRing: ring is nil", func() { keyed.NewBounded(r, 2).SetRing(nil) })
}

func TestTableIsExchangedAsAWhole(t *testing.T) { // C104
	const flips, differing = 10_000, 20
	sets := [2][]string{{"d", "e", "f"}, {"a", "b", "c"}} // by version modulo 2
	var rings [2]*keyed.Ring
	for i, names := range sets {
		rings[i] = ring(t, keyed.Named(names...), keyed.VirtualNodes(8))
	}
	table := keyed.NewTable(rings[1])
	var wg sync.WaitGroup
	done := make(chan struct{})
	var changes [2]atomic.Int64 // of version, as a reader has seen them
	for reader := range changes {
		wg.Go(func() {
			for i, last := 0, uint64(0); ; i++ {
				owner, version := table.OwnerVersion(fmt.Sprint(i))
				if !slices.Contains(sets[version%2], owner) {
					t.Errorf("version %d has owner %q", version, owner)
				}
				if version < last {
					t.Errorf("version %d after %d", version, last)
				}
				if owners, err := table.Owners("k", 3); err != nil || slices.Contains(sets[0], owners[0]) != slices.Contains(sets[0], owners[2]) {
					t.Errorf("owners %v, %v", owners, err)
				}
				if version != last {
					changes[reader].Add(1)
				}
				last = version
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	last := uint64(1)
	for i := uint64(0); i < flips || changes[0].Load() < differing || changes[1].Load() < differing; i++ {
		last = table.Set(rings[i%2])
		if last != i+2 {
			t.Errorf("set %d is version %d", i, last)
		}
		if i >= flips {
			runtime.Gosched()
		}
	}
	close(done)
	wg.Wait()
	if r, v := table.Current(); v != last || r != keyed.Router(rings[v%2]) {
		t.Errorf("version %d at the end, want %d", v, last)
	}
}
