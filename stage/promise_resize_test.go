package stage_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/ordered"
	"github.com/seed95b73fdc/sluice/stage"
)

// resized are the operators whose n can be changed, as ends of a run.
var resized = map[string]func(ctx context.Context, in stage.Stream[int], n int, f func(context.Context, int) error, opts ...stage.Option) error{
	"stage.Map": func(ctx context.Context, in stage.Stream[int], n int, f func(context.Context, int) error, opts ...stage.Option) error {
		return stage.Discard(ctx, stage.Map(in, n, mapping(f), opts...))
	},
	"ordered.Map": func(ctx context.Context, in stage.Stream[int], n int, f func(context.Context, int) error, opts ...stage.Option) error {
		want := 0
		return stage.ForEach(ctx, ordered.Map(in, n, mapping(f), opts...), 1, func(_ context.Context, v int) error {
			if v != want {
				return fmt.Errorf("%d came, want %d", v, want)
			}
			want++
			return nil
		})
	},
	"stage.ForEach": stage.ForEach[int],
	"stage.To": func(ctx context.Context, in stage.Stream[int], n int, f func(context.Context, int) error, opts ...stage.Option) error {
		return stage.Run(ctx, stage.To(in, n, f, opts...))
	},
	"stage.FlatMap":   flatEnd(stage.FlatMap[int, int]),
	"ordered.FlatMap": flatEnd(ordered.FlatMap[int, int]),
}

func mapping(f func(context.Context, int) error) func(context.Context, int) (int, error) {
	return func(ctx context.Context, v int) (int, error) { return v, f(ctx, v) }
}

type runFunc = func(ctx context.Context, in stage.Stream[int], n int, f func(context.Context, int) error, opts ...stage.Option) error

func flatEnd(flat func(stage.Stream[int], int, func(context.Context, int) stage.Stream[int], ...stage.Option) stage.Stream[int]) runFunc {
	return func(ctx context.Context, in stage.Stream[int], n int, f func(context.Context, int) error, opts ...stage.Option) error {
		return stage.Discard(ctx, flat(in, n, func(ctx context.Context, v int) stage.Stream[int] {
			if err := f(ctx, v); err != nil {
				return stage.Failed[int](err)
			}
			return stage.Of(v)
		}, opts...))
	}
}

func TestResizableStagesFollowAtOnceUpwardAndAsCallsEndDownwardP3(t *testing.T) {
	for name, run := range resized {
		t.Run(name, func(t *testing.T) {
			for _, cheap := range []int{0, 700} { // calls that return at once, so that items share cells
				synctest.Test(t, func(t *testing.T) {
					p := stage.NewParallelism(2)
					src := &tally{t: t, size: cheap + 60}
					var m meter
					gate := make(chan struct{})
					over := make(chan error, 1)
					go func() {
						over <- run(t.Context(), src.stream(), 1, func(_ context.Context, v int) error {
							m.enter()
							defer m.leave()
							if v >= cheap {
								<-gate
							}
							return nil
						}, stage.Resizable(p), stage.Window(cheap+60)) // for in order what is done may have to wait
					}()
					check := func(want int) {
						t.Helper()
						synctest.Wait()
						if got := int(m.running.Load()); got != want {
							t.Errorf("after %d cheap calls and Set(%d): %d calls run, want %d", cheap, p.N(), got, want)
						}
					}
					check(2)
					p.Set(5)
					check(5)
					p.Set(9)
					check(9)
					p.Set(3)
					check(9) // none is interrupted
					for k := 8; k >= 3; k-- {
						gate <- struct{}{}
						check(k)
					}
					gate <- struct{}{}
					check(3)
					p.Set(1)
					gate <- struct{}{}
					check(2)
					gate <- struct{}{}
					check(1)
					gate <- struct{}{}
					check(1)
					p.Set(4)
					check(4)
					close(gate)
					if err := <-over; err != nil || int(m.calls.Load()) != src.size {
						t.Errorf("%v, %d calls of %d", err, m.calls.Load(), src.size)
					}
				})
			}
		})
	}
}

// f lowers n itself, in the middle of a cell that other items are in: none of
// them begins before fewer than n run.
func TestLoweredParallelismIsNeverExceededByItemsThatShareACellP3(t *testing.T) {
	for name, run := range resized {
		for _, n := range share.Rows(t, []int{2, 3, 8}) {
			synctest.Test(t, func(t *testing.T) {
				p := stage.NewParallelism(n)
				const lower, size = 2000, 6000
				var running, beyond, calls atomic.Int64
				var lowered atomic.Bool
				err := run(t.Context(), items(numbers(size)...), n, func(_ context.Context, v int) error {
					calls.Add(1)
					if k := running.Add(1); k > int64(n) || lowered.Load() && k > 1 {
						beyond.Add(1)
					}
					defer running.Add(-1)
					if v == lower {
						p.Set(1)
						for first := true; first || running.Load() > 1; first = false { // those that were running end
							time.Sleep(time.Second)
						}
						lowered.Store(true)
						time.Sleep(time.Second)
					}
					return nil
				}, stage.Resizable(p))
				if err != nil || calls.Load() != size || beyond.Load() != 0 {
					t.Errorf("%s, n=%d: %v, %d calls of %d, %d too many at once", name, n, err, calls.Load(), size, beyond.Load())
				}
			})
		}
	}
}

// One worker more than n helps out while another one is in upstream's Next, so n calls
// may run when that comes back. It begins as soon as n is raised; and when n has been
// lowered, not before fewer than n run.
func TestWorkerThatIsBackWhileNCallsRunFollowsNP3(t *testing.T) {
	for _, name := range []string{"stage.Map", "ordered.Map", "stage.ForEach"} {
		for _, lowers := range []bool{false, true} {
			met := false
			trial := func(t *testing.T) {
				p := stage.NewParallelism(2)
				src := &hesitant{more: make(chan struct{})}
				var m meter
				gate, over := make(chan struct{}), make(chan error, 1)
				go func() {
					over <- resized[name](t.Context(), stage.New(func(*stage.Scope) stage.Reader[int] { return src }), 1, func(_ context.Context, v int) error {
						m.enter()
						defer m.leave()
						if cheap := src.cheap.Load(); cheap > 0 && int64(v) >= cheap {
							<-gate
						}
						return nil
					}, stage.Resizable(p))
				}()
				check := func(when string, want int) {
					t.Helper()
					synctest.Wait()
					if got := int(m.running.Load()); got != want {
						t.Errorf("%s: %d calls run %s, want %d", name, got, when, want)
					}
				}
				check("while a worker is in Next", 2)
				if met = src.waits.Load(); !met {
					close(gate)
					close(src.more)
					if err := <-over; err != nil {
						t.Errorf("%s: %v", name, err)
					}
					return
				}
				close(src.more)
				check("when it is back", 2)
				if lowers {
					p.Set(1)
					check("after Set(1)", 2)
					gate <- struct{}{}
					check("when one has ended", 1)
				}
				p.Set(3)
				check("after Set(3)", 3)
				close(gate)
				if err := <-over; err != nil || int(m.calls.Load()) != src.at {
					t.Errorf("%s: %v, %d calls of %d", name, err, m.calls.Load(), src.at)
				}
			}
			for !met && !t.Failed() { // both workers may be in calls before one goes to Next
				synctest.Test(t, trial)
			}
		}
	}
}

// hesitant is a source of cheap items, as many as are asked for, then of a lot that
// several workers can share, and when there is more, of another lot.
type hesitant struct {
	at    int
	cheap atomic.Int64 // those below it are, once it is not 0
	more  chan struct{}
	waits atomic.Bool
	over  bool
}

func (r *hesitant) Next(dst []stage.Try[int]) (k int) {
	const many, lot = 700, 8
	switch {
	case r.over:
		return 0
	case r.cheap.Load() > 0:
		r.waits.Store(true)
		<-r.more
		r.over = true
		dst = dst[:min(len(dst), lot)]
	case r.at >= many && len(dst) >= lot:
		r.cheap.Store(int64(r.at))
		dst = dst[:lot]
	}
	for k = range dst {
		dst[k] = stage.Try[int]{Value: r.at}
		r.at++
	}
	return len(dst)
}

func (r *hesitant) Close() {}

func TestResizingAtRandomLosesNothingAndKeepsOrderP1(t *testing.T) {
	seed := rand.Uint64()
	for name, run := range resized {
		r := rand.New(rand.NewPCG(seed, 1))
		p := &stage.Parallelism{}
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
					p.Set(1 + r.IntN(9))
					runtime.Gosched()
				}
			}
		}()
		size := rounds(10_000)
		seen := make([]atomic.Int32, size)
		err := run(t.Context(), items(numbers(size)...), 4, func(_ context.Context, v int) error {
			seen[v].Add(1)
			return nil
		}, stage.Resizable(p))
		close(stop)
		<-stopped
		for v := range seen {
			if k := seen[v].Load(); k != 1 {
				t.Fatalf("%s, seed %d: item %d was seen %d times", name, seed, v, k)
			}
		}
		if err != nil {
			t.Errorf("%s, seed %d: %v", name, seed, err)
		}
	}
}

func TestResizingAStageThatEndsIsHarmlessP5(t *testing.T) {
	for name, run := range resized {
		p := stage.NewParallelism(1)
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for k := 0; ; k++ {
				select {
				case <-stop:
					return
				default:
					p.Set(1 + k%16)
					runtime.Gosched()
				}
			}
		}()
		for range rounds(300) {
			if err := run(t.Context(), items(0, 1, 2, errA, 3, 4), 1, func(context.Context, int) error { return nil }, stage.Resizable(p)); err != errA {
				t.Errorf("%s: %v", name, err)
			}
		}
		close(stop)
		<-stopped
	}
}

func TestWindowOfAResizableStageFollowsNUnlessItIsGivenP4(t *testing.T) {
	for _, way := range maps {
		synctest.Test(t, func(t *testing.T) {
			for _, window := range []int{0, 3} {
				p := stage.NewParallelism(2)
				src := &tally{t: t, size: 100}
				gate := make(chan struct{})
				over := make(chan error, 1)
				opts := append(windowed(window), stage.Resizable(p))
				go func() {
					over <- stage.Discard(t.Context(), way(src.stream(), 1, func(context.Context, int) (int, error) { <-gate; return 0, nil }, opts...))
				}()
				for _, n := range []int{2, 7, 4} {
					p.Set(n)
					synctest.Wait()
					want := map[int]int{2: 2, 7: 7, 4: 7}[n]
					if window > 0 {
						want = map[int]int{2: 2, 7: 3, 4: 3}[n]
					}
					if got := int(src.handed.Load()); got != want {
						t.Errorf("window %d, n %d: %d items taken, want %d", window, n, got, want)
					}
				}
				close(gate)
				if err := <-over; err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestZeroParallelismLeavesTheStageItsNUntilItIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p stage.Parallelism
		var m meter
		gate := make(chan struct{})
		over := make(chan error, 1)
		ctx, stats := stage.WithStats(t.Context())
		go func() {
			over <- stage.ForEach(ctx, items(numbers(20)...), 3, func(context.Context, int) error {
				m.enter()
				defer m.leave()
				<-gate
				return nil
			}, stage.Resizable(&p), stage.Name("each"))
		}()
		for _, n := range []int{3, 6} {
			synctest.Wait()
			if s := statOf(t, stats, "each"); int(m.running.Load()) != n || s.N != n || s.Calls != n {
				t.Errorf("%d calls run, %+v", m.running.Load(), s)
			}
			p.Set(6)
		}
		close(gate)
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
}

func TestParallelismTellsWhoWantsToKnow(t *testing.T) {
	p := stage.NewParallelism(1)
	var told []int
	stop := p.Notify(func() { told = append(told, p.N()) })
	p.Set(2)
	p.Set(2)
	stop()
	stop()
	p.Set(3)
	if !slices.Equal(told, []int{2, 2}) || p.N() != 3 {
		t.Error(told, p.N())
	}
}
