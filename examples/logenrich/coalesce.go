package main

import (
	"context"
	"slices"

	"github.com/seed95b73fdc/sluice/batch"
)

// A coalescingStore asks for the keys of lookups that run at the same time in one
// query. A lookup that finds no query under way is not held up; while one is, others
// gather.
type coalescingStore struct {
	lookups *batch.Coalescer[string, []byte]
}

// newCoalescingStore lets up to size lookups of st share a query.
func newCoalescingStore(st store, size int) coalescingStore {
	ask := func(ctx context.Context, keys []string) ([][]byte, error) {
		distinct := slices.Clone(keys)
		slices.Sort(distinct)
		found, err := st.find(ctx, slices.Compact(distinct))
		if err != nil {
			return nil, err
		}
		rows := make([][]byte, len(keys)) // nil for a client that is not known
		for i, key := range keys {
			rows[i] = found[key]
		}
		return rows, nil
	}
	return coalescingStore{batch.NewCoalescer(ask, size, batch.Name("lookup"))}
}

// find looks each key up by itself: which of them share a query, and with
// whose, is the coalescer's business.
func (s coalescingStore) find(ctx context.Context, keys []string) (map[string][]byte, error) {
	found := make(map[string][]byte, len(keys))
	for _, key := range keys {
		row, err := s.lookups.Do(ctx, key)
		if err != nil {
			return nil, err
		}
		if row != nil {
			found[key] = row
		}
	}
	return found, nil
}

// close waits for the queries under way.
func (s coalescingStore) close() { _ = s.lookups.Close(context.Background()) }
