package keyed

import (
	"slices"

	"github.com/seed95b73fdc/sluice/stage"
)

// Entry is a key with its value, as UpdateMany hands it to its function.
type Entry[K comparable, V any] struct {
	Key     K // not to be changed
	Value   V
	Present bool // whether the map has the key; setting it to false deletes the key
}

// UpdateMany lets f change the entries of several keys as one: no other call sees
// or makes a change between. f gets an entry for each key, in the order of keys;
// a key that comes twice gets the same entry twice. It changes Value, or Present
// to store or delete the key; setting Value alone stores nothing where Present
// was false and stays so. If f returns an error, panics or calls runtime.Goexit,
// nothing has changed. UpdateMany returns the error of f.
//
// The locks of the keys' shards are taken in ascending order, each once, and held
// while f runs; so calls of UpdateMany cannot deadlock, whatever their keys. f must
// neither block nor use the map, and must not keep the entries.
func (m *Sharded[K, V]) UpdateMany(keys []K, f func(entries []*Entry[K, V]) error) error {
	stage.CheckFunc("keyed.Sharded.UpdateMany", "f", f == nil)
	order := make([]int, len(keys))
	for i, key := range keys {
		order[i] = m.shardOf(key)
	}
	at := slices.Clone(order) // at[i] is the shard of keys[i]
	slices.Sort(order)
	order = slices.Compact(order)

	locked := 0
	defer func() {
		for _, i := range order[:locked] {
			m.shards[i].unlock()
		}
	}()
	for _, i := range order {
		m.shards[i].lock()
		locked++
	}

	entries := make([]*Entry[K, V], len(keys))
	distinct := make([]Entry[K, V], 0, len(keys)) // never grows: entries point into it
	which := make([]int, len(keys))               // of distinct
	known := make(map[K]int, len(keys))
	for i, key := range keys {
		j, ok := known[key]
		if !ok {
			j = len(distinct)
			known[key] = j
			v, present := m.shards[at[i]].m[key]
			distinct = append(distinct, Entry[K, V]{key, v, present})
		}
		which[i], entries[i] = j, &distinct[j]
	}
	if err := f(entries); err != nil {
		return err
	}
	for i, key := range keys {
		e, s := &distinct[which[i]], &m.shards[at[i]]
		if e.Present {
			s.m[key] = e.Value
		} else {
			s.remove(key)
		}
	}
	return nil
}
