package keyed

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Move says which keys change their owner from one router to another.
type Move struct {
	Keys  int // keys asked about
	Moved int // keys whose owner changes
	// Least is the share of all keys that no router could help moving, given the
	// members and their weights: what those that grow have to gain.
	Least float64
	Flows []Flow // who gives to whom, the largest first
}

// Flow is the keys that move from one member to another.
type Flow struct {
	From, To string
	Keys     int
}

// ExplainMove asks both routers for the owner of each key and returns what would
// move. A sample of keys is enough for shares: with 10,000 of them they are right
// to about a percentage point.
func ExplainMove(before, after Router, keys []string) Move {
	checkRouter("keyed.ExplainMove", before)
	checkRouter("keyed.ExplainMove", after)
	m := Move{Keys: len(keys), Least: leastMove(before.Members(), after.Members())}
	type route struct{ from, to string }
	flows := make(map[route]int)
	for _, key := range keys {
		if from, to := before.Owner(key), after.Owner(key); from != to {
			m.Moved++
			flows[route{from, to}]++
		}
	}
	for r, n := range flows {
		m.Flows = append(m.Flows, Flow{r.from, r.to, n})
	}
	slices.SortFunc(m.Flows, func(a, b Flow) int {
		return cmp.Or(cmp.Compare(b.Keys, a.Keys), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return m
}

// Share is the share of the keys that move, 0 to 1.
func (m Move) Share() float64 { return float64(m.Moved) / float64(max(m.Keys, 1)) }

// String says it in words: a line for the whole, and one for each flow.
func (m Move) String() string {
	var b strings.Builder
	percent := func(keys int) float64 { return 100 * float64(keys) / float64(max(m.Keys, 1)) }
	fmt.Fprintf(&b, "%d of %d keys move: %.1f %%, where %.1f %% must\n", m.Moved, m.Keys, percent(m.Moved), 100*m.Least)
	for _, f := range m.Flows {
		fmt.Fprintf(&b, "%s -> %s: %d keys, %.1f %%\n", f.From, f.To, f.Keys, percent(f.Keys))
	}
	return b.String()
}

// leastMove adds up what each member's share grows by.
func leastMove(before, after []Member) float64 {
	was := memberShares(before)
	least := 0.0
	for name, share := range memberShares(after) {
		least += max(0, share-was[name])
	}
	return least
}

func memberShares(members []Member) map[string]float64 {
	total := 0
	for _, m := range members {
		total += max(m.Weight, 1)
	}
	shares := make(map[string]float64, len(members))
	for _, m := range members {
		shares[m.Name] = float64(max(m.Weight, 1)) / float64(total)
	}
	return shares
}
