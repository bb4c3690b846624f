package keyed_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/keyed"
	"github.com/seed95b73fdc/sluice/stage"
)

// A key that cannot be hashed, after many that can: the run ends with the runtime's
// panic, whatever is under way, and whether or not anything had to be hashed.
func TestKeysThatCannotBeHashedEndTheRunP9(t *testing.T) {
	for _, perKey := range []bool{false, true} {
		for _, measure := range []bool{false, true} {
			for _, stuck := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					var opts []stage.Option
					if perKey {
						opts = append(opts, keyed.PerKey())
					}
					if measure {
						opts = append(opts, keyed.Measure(keyed.NewLoad[any]()))
					}
					const bad = 3000
					out := keyed.Map(stage.FromSlice(numbers(2*bad)), 2, func(v int) any {
						if v >= bad {
							return []int{v}
						}
						return v
					}, func(ctx context.Context, v int) (int, error) {
						if stuck && v == bad-1 {
							<-ctx.Done()
						}
						return v, nil
					}, opts...)
					defer func() {
						if p, ok := recover().(*stage.Panic); !ok || !strings.Contains(p.Error(), "unhashable") {
							t.Errorf("perKey=%t measure=%t stuck=%t: raised %v", perKey, measure, stuck, p)
						}
					}()
					err := stage.Discard(t.Context(), out)
					t.Errorf("perKey=%t measure=%t stuck=%t: %v", perKey, measure, stuck, err)
				})
			}
		}
	}
}

// The reader has taken some of many cheap results, and rests. Now calls block: n of
// them run, if there is any room for them.
func TestWhateverRoomThereIsIsUsedP3(t *testing.T) {
	for _, r := range share.Rows(t, engines) {
		if r.pinned || !r.perKey {
			continue
		}
		for _, n := range []int{1, 2, 4} {
			for rest := 1000; rest < 1070; rest += 9 + raceScale {
				synctest.Test(t, func(t *testing.T) {
					var running, calls, taken atomic.Int64
					var block atomic.Bool
					open, first, second := make(chan struct{}), make(chan struct{}), make(chan struct{})
					over := make(chan error)
					go func() {
						out := r.of(stage.FromSlice(numbers(2000)), n, identity, func(_ context.Context, v int) (int, error) {
							running.Add(1)
							defer running.Add(-1)
							calls.Add(1)
							if block.Load() {
								<-open
							}
							return v, nil
						})
						over <- stage.Discard(t.Context(), stage.New(func(s *stage.Scope) stage.Reader[int] {
							return &singles{stage.Open(s, out), func() {
								switch int(taken.Add(1)) {
								case rest - 20:
									<-first
								case rest:
									<-second
								}
							}}
						}))
					}()
					synctest.Wait()
					block.Store(true)
					close(first)
					synctest.Wait()
					if held := int(calls.Load() - taken.Load()); int(taken.Load()) == rest && held < 64*n && int(running.Load()) < n {
						t.Errorf("%s n=%d: %d held of %d, and %d calls run", r.name, n, held, 64*n, running.Load())
					}
					close(open)
					close(second)
					if err := <-over; err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// singles reads one item at a time, and calls f after each.
type singles struct {
	up stage.Reader[int]
	f  func()
}

func (o *singles) Next(dst []stage.Try[int]) int {
	k := o.up.Next(dst[:1])
	if k > 0 {
		o.f()
	}
	return k
}

func (o *singles) Close() { o.up.Close() }

// Among calls so cheap that one worker runs them all, one fails, and the one that comes
// next cancels the run. The error came first, so it is returned.
func TestAnErrorOfASoloistIsNotMaskedByWhatCancelsLaterP6(t *testing.T) {
	first := errors.New("first")
	for _, r := range share.Rows(t, engines) {
		if r.ordered {
			continue // which of two comes first is a matter of the input there
		}
		for at := 3000; at < 3040; at += raceScale {
			ctx, cancel := context.WithCancel(t.Context())
			failed := false // one call at a time
			err := stage.Discard(ctx, r.of(stage.FromSlice(numbers(4000)), 1, identity, func(_ context.Context, v int) (int, error) {
				if failed {
					cancel()
				}
				if v == at {
					failed = true
					return 0, first
				}
				return v, nil
			}))
			if err != first {
				t.Errorf("%s, item %d: %v, want %v", r.name, at, err, first)
			}
			cancel()
		}
	}
}

// Cheap calls, and now and then one that takes a while, so that a soloist is taken over:
// the counts of the lanes add up to the items, each once.
func TestALoadCountsEachItemOnceAlsoWhenASoloistIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const items, slow = 20000, 997
		load := keyed.NewLoad[int]()
		out := keyed.Map(stage.FromSlice(numbers(items)), 4, identity, func(_ context.Context, v int) (int, error) {
			if v%slow == slow-1 {
				time.Sleep(time.Millisecond)
			}
			return v, nil
		}, keyed.Measure(load))
		if n, err := stage.Count(t.Context(), out); n != items || err != nil {
			t.Fatal(n, err)
		}
		if done := callsOf(load); done != items {
			t.Errorf("%d items are counted, want %d", done, items)
		}
		if steals := load.Stats().Steals; steals == 0 {
			t.Error("no soloist was taken over")
		}
	})
}
