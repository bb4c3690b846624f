package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/seed95b73fdc/sluice/keyed"
	"github.com/seed95b73fdc/sluice/stage"
)

// keyedJob counts the keys of items.
type keyedJob struct {
	keys []int // of the items
	of   int   // keys are below this
}

func (k keyedJob) key(item int) int { return k.keys[item] }

// check compares the sum of the counts with the number of items.
func check(sum, items int) error {
	if sum != items {
		return fmt.Errorf("the counts add up to %d, not %d", sum, items)
	}
	return nil
}

func sumOf(counts []int) (sum int) {
	for _, c := range counts {
		sum += c
	}
	return sum
}

func (k keyedJob) plain(ctx context.Context, j job, take func(int)) error {
	counts := plainCounts{}
	for _, v := range j.items {
		r, err := j.f(ctx, v)
		if err != nil {
			return err
		}
		counts[k.key(v)]++
		take(r)
	}
	return check(counts.total(), len(j.items))
}

// lanes is the type of keyed.Map and keyed.OrderedMap.
type lanes func(in stage.Stream[int], n int, key func(int) int, f func(context.Context, int) (int, error), opts ...stage.Option) stage.Stream[int]

func (k keyedJob) through(of lanes, ctx context.Context, j job, take func(int)) error {
	counts := make([]int, k.of)
	results := of(stage.FromSlice(j.items), j.n, k.key, func(ctx context.Context, v int) (int, error) {
		counts[k.key(v)]++
		return j.f(ctx, v)
	})
	if err := drain(ctx, results, take); err != nil {
		return err
	}
	return check(sumOf(counts), len(j.items))
}

func drain(ctx context.Context, results stage.Stream[int], take func(int)) error {
	return stage.ForEach(ctx, results, 1, func(_ context.Context, r int) error {
		take(r)
		return nil
	})
}

func (k keyedJob) mapped(ctx context.Context, j job, take func(int)) error {
	return k.through(keyed.Map[int, int, int], ctx, j, take)
}

func (k keyedJob) orderedMapped(ctx context.Context, j job, take func(int)) error {
	return k.through(keyed.OrderedMap[int, int, int], ctx, j, take)
}

func zeroCount() int { return 0 }

func (k keyedJob) processed(ctx context.Context, j job, take func(int)) error {
	sum := make([]int, k.of) // by key, so that no two owners write to one
	results := keyed.Process(stage.FromSlice(j.items), j.n, k.key, zeroCount, func(ctx context.Context, count *int, v int) (int, error) {
		*count++
		return j.f(ctx, v)
	}, keyed.OnEvict(func(key int, count *int) { sum[key] = *count }))
	if err := drain(ctx, results, take); err != nil {
		return err
	}
	return check(sumOf(sum), len(j.items))
}

func increment(count *int) error { *count++; return nil }

func (k keyedJob) posted(ctx context.Context, j job, take func(int)) error {
	return k.owned(ctx, j, take, 1, func(o *keyed.Owners[int, int], key int) error { return o.Post(ctx, key, increment) })
}

func (k keyedJob) done(_ context.Context, j job, take func(int)) error {
	ctx := context.Background() // one that cannot end, so that callers may run their functions
	const callers = 2
	return k.owned(ctx, j, take, callers, func(o *keyed.Owners[int, int], key int) error { return o.Do(ctx, key, increment) })
}

// owned calls owners for each item, from several goroutines with an equal share each.
func (k keyedJob) owned(ctx context.Context, j job, take func(int), callers int, call func(*keyed.Owners[int, int], int) error) error {
	o := keyed.NewOwners[int, int](j.n, zeroCount)
	results := make([]int, len(j.items))
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for w := range callers {
		from, to := w*len(j.items)/callers, (w+1)*len(j.items)/callers
		wg.Go(func() {
			for i := from; i < to && errs[w] == nil; i++ {
				if results[i], errs[w] = j.f(ctx, j.items[i]); errs[w] == nil {
					errs[w] = call(o, k.key(j.items[i]))
				}
			}
		})
	}
	wg.Wait()
	if err := o.Close(ctx); err != nil {
		return err
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	for _, r := range results {
		take(r)
	}
	return check(int(o.Stats().Done), len(j.items))
}

// channels is what one writes by hand: a goroutine with a channel for each owner.
func (k keyedJob) channels(ctx context.Context, j job, take func(int)) error {
	const buffer = 1024
	owners := make([]chan int, j.n)
	sums := make([]int, j.n)
	var wg sync.WaitGroup
	for i := range owners {
		owners[i] = make(chan int, buffer)
		wg.Go(func() {
			counts := plainCounts{}
			for key := range owners[i] {
				counts[key]++
			}
			sums[i] = counts.total()
		})
	}
	var failed error
	results := make([]int, len(j.items))
	for i, v := range j.items {
		if results[i], failed = j.f(ctx, v); failed != nil {
			break
		}
		key := k.key(v)
		owners[key%len(owners)] <- key
	}
	for _, ch := range owners {
		close(ch)
	}
	wg.Wait()
	if failed != nil {
		return failed
	}
	for _, r := range results {
		take(r)
	}
	return check(sumOf(sums), len(j.items))
}
