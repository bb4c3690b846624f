package batch

import (
	"context"

	"github.com/seed95b73fdc/sluice/stage"
)

// table is what one worker of a MapReduce has reduced so far. While there are few
// keys it points to their values, so that an item costs one access to a map and
// not two; with many, the values lie in the map that is the result, which need not
// be made anew at the end.
type table[K comparable, V any] struct {
	reducer func(context.Context, V, V) (V, error)
	few     map[K]*V // nil when there are many
	slab    []V      // where values of new keys are put
	many    map[K]V
}

const (
	fewKeys = 1 << 16
	slab    = 256
)

func newTable[K comparable, V any](reducer func(context.Context, V, V) (V, error)) *table[K, V] {
	return &table[K, V]{reducer: reducer, few: make(map[K]*V)}
}

// add reduces v into what there is for k.
func (t *table[K, V]) add(ctx context.Context, k K, v V) (err error) {
	if t.few == nil {
		return t.put(ctx, k, v)
	}
	if p := t.few[k]; p != nil {
		*p, err = t.reducer(ctx, *p, v)
		return err
	}
	if len(t.slab) == cap(t.slab) {
		t.slab = make([]V, 0, slab)
	}
	t.slab = append(t.slab, v)
	t.few[k] = &t.slab[len(t.slab)-1]
	if len(t.few) > fewKeys {
		t.whole()
	}
	return nil
}

// whole returns the map with all values; from then on they lie there.
func (t *table[K, V]) whole() map[K]V {
	if t.few != nil {
		t.many = make(map[K]V, len(t.few))
		for k, p := range t.few {
			t.many[k] = *p
		}
		t.few, t.slab = nil, nil
	}
	return t.many
}

// put reduces v into the map.
func (t *table[K, V]) put(ctx context.Context, k K, v V) error {
	if old, ok := t.many[k]; ok {
		r, err := t.reducer(ctx, old, v)
		if err != nil {
			return err
		}
		v = r
	}
	t.many[k] = v
	return nil
}

// merge reduces the smaller one of the table's map and another one into the
// larger one, which becomes the table's.
func (t *table[K, V]) merge(s *stage.Scope, other map[K]V) error {
	if len(t.whole()) < len(other) {
		t.many, other = other, t.many
	}
	ctx := s.Context()
	for k, v := range other {
		if s.Stopped() {
			return context.Canceled // which only says so
		}
		if err := t.put(ctx, k, v); err != nil {
			return err
		}
	}
	return nil
}
