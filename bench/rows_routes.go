package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed95b73fdc/sluice/bench/internal/measure"
	"github.com/seed95b73fdc/sluice/keyed"
)

// routingRows: what does it cost to ask for the owner of a key?
func routingRows(c config) measure.Group {
	g := measure.Group{
		Key:   "routing",
		Title: "The owner of a key",
		Job: "A loop in one goroutine asks for the owner of each of 1,000 keys of 12 bytes, again and again. " +
			"Each lookup has the hash of the key in it, which is shown alone as well. " +
			"What the owners' shares are like, against theory, is in the picture that -pictures draws.",
	}
	for _, members := range routedMembers {
		// A rendezvous asks each member: so many keys that a run takes about as long.
		items := max(1, c.items/max(1, members/10))
		j := job{upTo(items), 1, noop}
		entries := []entry{{"hash of the key alone", routing(func(key string) string {
			if keyed.HashString(key) == 0 {
				return ""
			}
			return key
		}), inOrder}}
		for _, r := range routersOf(members) {
			entries = append(entries, entry{r.name, routing(r.router.Owner), inOrder})
		}
		g.Rows = append(g.Rows, j.row(fmt.Sprintf("%d members", members), "", entries...))
	}
	g.Drawn = []string{g.Rows[1].Name}
	return g
}

// routedMembers are the numbers of members that are measured.
var routedMembers = []int{10, 100, 1000}

type namedRouter struct {
	name   string
	router keyed.Router
}

// routersOf returns one router of each kind. Members that are made here are good.
func routersOf(members int) []namedRouter {
	even := make([]keyed.Member, members)
	for i := range even {
		even[i] = keyed.Member{Name: fmt.Sprint("node-", i), Weight: 1}
	}
	weighted := append([]keyed.Member(nil), even...)
	weighted[0].Weight = 2
	must := func(r keyed.Router, err error) keyed.Router {
		if err != nil {
			panic(err)
		}
		return r
	}
	ring, err := keyed.NewRing(even)
	rendezvous, err2 := keyed.NewRendezvous(even)
	rendezvousWeighted, err3 := keyed.NewRendezvous(weighted)
	return []namedRouter{
		{"Modulo", keyed.NewModulo(members)},
		{"Jump", keyed.NewJump(members)},
		{"Ring", must(ring, err)},
		{"Ring in a Table", keyed.NewTable(must(ring, err))},
		{"Rendezvous", must(rendezvous, err2)},
		{"Rendezvous, weighted", must(rendezvousWeighted, err3)},
	}
}

var errNoOwner = errors.New("a key without an owner")

// routing asks for the owner of each item's key.
func routing(owner func(string) string) way {
	const distinct = 1000
	keys := make([]string, distinct)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%08d", i)
	}
	return func(ctx context.Context, j job, take func(int)) error {
		for _, v := range j.items {
			r, err := j.f(ctx, v)
			if err != nil {
				return err
			}
			if owner(keys[v%distinct]) == "" {
				return errNoOwner
			}
			take(r)
		}
		return nil
	}
}
