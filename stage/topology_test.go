package stage_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// grower makes random streams of all operators, which never wait for
// themselves: the branches of a Split are all read at once. With each stream
// it makes the values that it emits.
type grower struct {
	r     *rand.Rand
	next  int           // values of sources are 0, 1, 2, …, all distinct
	rest  func()        // what functions do for a while
	tasks []func()      // senders of channels, to be started with the run
	names []string      // what has been grown, for the report
	quit  chan struct{} // ends the senders
	fails bool
}

// grown is a stream and its values: in order, or sorted, or only their number.
type grown struct {
	in      stage.Stream[int]
	values  []int
	ordered bool
	known   bool // the values, not only their number
}

func (g *grower) note(format string, args ...any) {
	g.names = append(g.names, fmt.Sprintf(format, args...))
}

func (g *grower) n() int { return []int{stage.Inline, 1, 1, 2, 3, 8}[g.r.IntN(6)] }

func (g *grower) opts() []stage.Option {
	if g.r.IntN(2) == 0 {
		return nil
	}
	return []stage.Option{stage.Window(1 + g.r.IntN(4))}
}

// work is a function that takes its time, and may fail.
func (g *grower) work(_ context.Context, v int) (int, error) {
	g.rest()
	if g.fails && v%16 == 7 {
		return 0, errA
	}
	return v, nil
}

func (g *grower) source() grown {
	values := make([]int, []int{0, 1, 2, 5, 30, 150}[g.r.IntN(6)])
	for i := range values {
		values[i] = g.next
		g.next++
	}
	s := grown{values: values, ordered: true, known: true}
	switch kind := g.r.IntN(6); kind {
	case 0:
		s.in = stage.FromSlice(values)
	case 1:
		s.in = stage.FromSeq(slices.Values(values))
	case 2:
		ch := make(chan int, g.r.IntN(3))
		g.tasks = append(g.tasks, func() {
			defer close(ch)
			for _, v := range values {
				select {
				case ch <- v:
				case <-g.quit:
					return
				}
				g.rest()
			}
		})
		s.in = stage.FromChan(ch)
	case 3:
		s.in = stage.Generate(func(_ context.Context, yield func(int) bool) error {
			for _, v := range values {
				g.rest()
				if !yield(v) {
					break
				}
			}
			return nil
		})
	case 4:
		text := strings.Join(strings.Fields(strings.Trim(fmt.Sprint(values), "[]")), "\n")
		lines := stage.Lines(func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil })
		s.in = stage.Map(lines, stage.Inline, func(_ context.Context, s string) (v int, err error) { _, err = fmt.Sscan(s, &v); return v, err })
	case 5:
		list := make([]any, len(values))
		for i, v := range values {
			list[i] = v
		}
		s.in = (&script{items: list, step: g.r.IntN(4)}).stream()
	}
	g.note("source of %d", len(values))
	return s
}

// grow makes a stream with at most depth operators above its sources.
func (g *grower) grow(depth int) grown {
	if depth == 0 {
		return g.source()
	}
	switch g.r.IntN(12) {
	case 0, 1:
		return g.mapped(g.grow(depth - 1))
	case 2:
		s := g.mapped(g.grow(depth - 1))
		k := g.r.IntN(len(s.values) + 3)
		g.note("take %d", k)
		s.in = stage.Take(s.in, k)
		return s.cut(func(v []int) []int { return v[:min(k, len(v))] })
	case 3:
		s := g.grow(depth - 1)
		k := g.r.IntN(len(s.values) + 3)
		g.note("drop %d", k)
		s.in = stage.Drop(s.in, k)
		return s.cut(func(v []int) []int { return v[min(k, len(v)):] })
	case 4:
		a, b := g.grow(depth-1), g.grow(depth-1)
		g.note("concat")
		a.in, a.ordered, a.known = stage.Concat(a.in, b.in), a.ordered && b.ordered, a.known && b.known
		a.values = slices.Concat(a.values, b.values)
		return a
	case 5:
		a, b := g.grow(depth-1), g.grow(depth-1)
		g.note("zip")
		k := min(len(a.values), len(b.values))
		s := a.cut(func(v []int) []int { return v[:k] })
		s.in = stage.Map(stage.Zip(a.in, b.in), stage.Inline, func(_ context.Context, p pair) (int, error) { return p.First, nil })
		return s
	case 6:
		var ins []stage.Stream[int]
		s := grown{known: true}
		for range g.r.IntN(4) {
			a := g.grow(depth - 1)
			ins, s.values, s.known = append(ins, a.in), append(s.values, a.values...), s.known && a.known
		}
		g.note("merge of %d", len(ins))
		s.in = stage.Merge(ins...)
		return s
	case 7:
		s := g.grow(depth - 1)
		g.note("flatmap")
		f := func(_ context.Context, v int) stage.Stream[int] {
			g.rest()
			yes, no := stage.Split(stage.Of(v), even, stage.Window(1))
			return []stage.Stream[int]{stage.Of(v), stage.Merge(yes, no), stage.Map(stage.Of(v), 1, id), stage.Take(stage.Of(v, -1), 1)}[v%4]
		}
		if n := g.n(); g.r.IntN(2) == 0 {
			s.in = ordered.FlatMap(s.in, n, f, g.opts()...)
		} else {
			s.in = stage.FlatMap(s.in, n, f, g.opts()...)
			s.ordered = s.ordered && n <= 1
		}
		return s
	case 8:
		s := g.grow(depth - 1)
		g.note("until")
		s.in = stage.Until(s.in, nil)
		return s
	}
	return g.branches(g.grow(depth - 1))
}

// cut is s after an operator that depends on the order of the values.
func (s grown) cut(f func([]int) []int) grown {
	s.known = s.known && s.ordered
	s.values = f(s.values)
	return s
}

func (g *grower) mapped(s grown) grown {
	n := g.n()
	if g.r.IntN(2) == 0 {
		g.note("ordered map %d", n)
		s.in = ordered.Map(s.in, n, g.work, g.opts()...)
	} else {
		g.note("map %d", n)
		s.in, s.ordered = stage.Map(s.in, n, g.work, g.opts()...), s.ordered && n == stage.Inline
	}
	return s
}

// branches sends s through an operator with several outputs, and brings them
// together again.
func (g *grower) branches(s grown) grown {
	k := 1 + g.r.IntN(4)
	var outs []stage.Stream[int]
	unread := -1
	kind := g.r.IntN(5)
	opts := g.opts()
	switch kind {
	case 0:
		g.note("split")
		yes, no := stage.Split(s.in, func(v int) bool { g.rest(); return v%3 == 0 }, opts...)
		outs = []stage.Stream[int]{yes, no}
	case 1:
		g.note("partition %d", k)
		outs = stage.Partition(s.in, k, func(v int) int { return v % k }, opts...)
	case 2:
		g.note("balance %d", k)
		outs = stage.Balance(s.in, k, opts...)
	case 3:
		g.note("tee %d", k)
		outs = stage.Tee(s.in, k, opts...)
		s.values = slices.Repeat(s.values, k)
		if g.r.IntN(3) == 0 { // one is not read at all
			unread = g.r.IntN(k)
			s.values = s.values[:len(s.values)/k*(k-1)]
		}
	case 4:
		g.note("ordered split")
		yes, no := ordered.Split(s.in, g.n(), func(_ context.Context, v int) (bool, error) { g.rest(); return v%5 < 2, nil }, opts...)
		outs = []stage.Stream[int]{yes, no}
	}
	s.ordered = false
	for i := range outs {
		if i == unread {
			outs[i] = stage.Stream[int]{}
		} else if g.r.IntN(3) == 0 {
			outs[i] = g.mapped(grown{in: outs[i]}).in
		}
	}
	// One more, that ends early and adds nothing.
	if kind == 3 && g.r.IntN(2) == 0 {
		g.note("one tee ends early")
		early := stage.Take(outs[0], g.r.IntN(3))
		outs[0] = stage.Filter(early, stage.Inline, func(context.Context, int) (bool, error) { return false, nil })
		if unread != 0 {
			s.values = s.values[:len(s.values)-len(s.values)/max(1, len(outs)-btoi(unread >= 0))]
		}
	}
	s.in = stage.Merge(outs...)
	return s
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// run runs what has been grown and compares.
func (g *grower) run(t *testing.T, s grown) {
	var senders sync.WaitGroup
	for _, task := range g.tasks {
		senders.Go(task)
	}
	defer senders.Wait()
	defer close(g.quit)
	got, err := stage.Collect(t.Context(), s.in)
	if err != nil {
		t.Fatalf("%v\n%v", err, g.names)
	}
	if len(got) != len(s.values) {
		t.Fatalf("%d values, want %d\n%v", len(got), len(s.values), g.names)
	}
	if !s.known {
		return
	}
	if !s.ordered {
		slices.SortFunc(got, cmp.Compare)
		slices.SortFunc(s.values, cmp.Compare)
	}
	if !slices.Equal(got, s.values) {
		t.Fatalf("%v, want %v\n%v", got, s.values, g.names)
	}
}

func TestRandomTopologiesEmitAllTheirItemsAndNeverStall(t *testing.T) {
	seeds(t, share.Times(1500), func(t *testing.T, seed uint64) {
		synctest.Test(t, func(t *testing.T) {
			g := &grower{r: rand.New(rand.NewPCG(seed, 0)), quit: make(chan struct{})}
			naps := rand.New(rand.NewPCG(seed, 1)).Uint64()
			g.rest = func() {
				// Functions run at once: no state but the clock.
				if k := (naps ^ uint64(time.Now().UnixNano())) % 7; k < 3 {
					time.Sleep(time.Duration(k) * time.Millisecond)
				}
			}
			g.run(t, g.grow(1+g.r.IntN(5)))
		})
	})
}

func TestRandomTopologiesEndCleanlyWhenTheyAreCutShort(t *testing.T) {
	cuts := 0
	seeds(t, 700, func(t *testing.T, seed uint64) {
		synctest.Test(t, func(t *testing.T) {
			g := &grower{r: rand.New(rand.NewPCG(seed, 0)), quit: make(chan struct{}), fails: seed%2 == 0}
			g.rest = func() { time.Sleep(time.Millisecond) }
			s := g.grow(1 + g.r.IntN(5))
			var senders sync.WaitGroup
			for _, task := range g.tasks {
				senders.Go(task)
			}
			// The bubble ends only if everything that was started has ended.
			defer senders.Wait()
			defer close(g.quit)
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Duration(g.r.IntN(20))*time.Millisecond, errB)
			defer cancel()
			stop := make(chan struct{})
			time.AfterFunc(time.Duration(g.r.IntN(20))*time.Millisecond, func() { close(stop) })
			if g.r.IntN(3) == 0 {
				s.in = stage.Until(s.in, stop)
			}
			k, seen := g.r.IntN(50), 0
			for _, err := range s.in.Seq(ctx) {
				if err != nil {
					cuts++
					if err != errB && (err != errA || !g.fails) {
						t.Fatalf("%v\n%v", err, g.names)
					}
				} else if seen++; seen == k {
					break
				}
			}
		})
	})
	if cuts == 0 && os.Getenv("SLUICE_SEED") == "" {
		t.Error("no run has been cut short")
	}
}

func TestRandomTopologiesEmitAllTheirItemsInRealTime(t *testing.T) {
	seeds(t, share.Times(1000), func(t *testing.T, seed uint64) {
		g := &grower{r: rand.New(rand.NewPCG(seed, 0)), quit: make(chan struct{})}
		g.rest = func() {}
		if seed%2 == 0 {
			g.rest = runtime.Gosched
		}
		g.run(t, g.grow(1+g.r.IntN(5)))
	})
}
