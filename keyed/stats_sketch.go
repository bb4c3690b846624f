package keyed

import (
	"cmp"
	"slices"
)

// sketchKeys is how many keys a sketch holds.
const sketchKeys = 16

// sketch finds the keys that come most often in a stream of keys, with a fixed
// number of counters: the space-saving algorithm (Metwally, Agrawal and El Abbadi,
// "Efficient Computation of Frequent and Top-k Elements in Data Streams", ICDT
// 2005). A key with more than 1/sketchKeys of all is among them; a count is too large
// by at most the smallest one.
type sketch[K comparable] struct {
	keys  [sketchKeys]K
	count [sketchKeys]uint64
	over  [sketchKeys]uint64 // by how much the count may be too large
	used  int
	total uint64
}

// add counts a key n times, and returns the one that had to give way to it, if one
// had to.
func (s *sketch[K]) add(key K, n int) (gone K, some bool) {
	s.total += uint64(n)
	least := 0
	for i := range s.used {
		if s.keys[i] == key {
			s.count[i] += uint64(n)
			return gone, false
		}
		if s.count[i] < s.count[least] {
			least = i
		}
	}
	if s.used < sketchKeys {
		s.keys[s.used], s.count[s.used] = key, uint64(n)
		s.used++
		return gone, false
	}
	gone = s.keys[least]
	s.over[least] = s.count[least]
	s.keys[least] = key
	s.count[least] += uint64(n)
	return gone, true
}

// KeyShare is a key with its part of the load.
type KeyShare[K comparable] struct {
	Key   K
	Share float64 // of the functions that were measured, 0 to 1; too large by at most Over
	Over  float64
	Lane  int // -1: one of its own
}

// top returns the keys of the sketch, with their share of a total.
func (s *sketch[K]) top(lane int, total uint64) (all []KeyShare[K]) {
	for i := range s.used {
		all = append(all, KeyShare[K]{s.keys[i], float64(s.count[i]) / float64(total), float64(s.over[i]) / float64(total), lane})
	}
	return all
}

// hottest returns the hottestKeys of all.
func hottest[K comparable](all []KeyShare[K]) []KeyShare[K] {
	slices.SortStableFunc(all, func(a, b KeyShare[K]) int { return cmp.Compare(b.Share, a.Share) })
	return slices.Clip(all[:min(hottestKeys, len(all))])
}
