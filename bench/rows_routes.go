package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

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
		entries := []entry{{"hash of the key alone", routing(func() func(string) string { return hashAlone }), inOrder}}
		for _, kind := range routerKinds {
			router := sync.OnceValue(func() keyed.Router { return kind.make(members) }) // a large ring takes its time
			entries = append(entries, entry{kind.name, routing(func() func(string) string { return router().Owner }), inOrder})
		}
		g.Rows = append(g.Rows, j.row(fmt.Sprintf("%d members", members), "", entries...))
	}
	g.Drawn = []string{g.Rows[1].Name}
	return g
}

// routedMembers are the numbers of members that are measured.
var routedMembers = []int{10, 100, 1000}

// hashAlone stands in for an Owner that needs no more than the hash.
func hashAlone(key string) string {
	if keyed.HashString(key) == 0 {
		return ""
	}
	return key
}

// routerKinds make a router of so many members each.
var routerKinds = []struct {
	name string
	make func(members int) keyed.Router
}{
	{"Modulo", func(members int) keyed.Router { return keyed.NewModulo(members) }},
	{"Jump", func(members int) keyed.Router { return keyed.NewJump(members) }},
	{"Ring", func(members int) keyed.Router { return must(keyed.NewRing(numbered(members))) }},
	{"Ring in a Table", func(members int) keyed.Router { return keyed.NewTable(must(keyed.NewRing(numbered(members)))) }},
	{"Rendezvous", func(members int) keyed.Router { return must(keyed.NewRendezvous(numbered(members))) }},
	{"Rendezvous, weighted", func(members int) keyed.Router {
		weighted := numbered(members)
		weighted[0].Weight = 2
		return must(keyed.NewRendezvous(weighted))
	}},
}

// numbered returns members of weight 1.
func numbered(members int) []keyed.Member {
	ms := make([]keyed.Member, members)
	for i := range ms {
		ms[i] = keyed.Member{Name: fmt.Sprint("node-", i), Weight: 1}
	}
	return ms
}

// must is for members that are made here, and so are good.
func must[R keyed.Router](r R, err error) R {
	if err != nil {
		panic(err)
	}
	return r
}

var errNoOwner = errors.New("a key without an owner")

// routing asks for the owner of each item's key.
func routing(lookup func() func(string) string) way {
	const distinct = 1000
	keys := make([]string, distinct)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%08d", i)
	}
	return func(ctx context.Context, j job, take func(int)) error {
		owner := lookup()
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
