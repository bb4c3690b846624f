package keyed_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/keyed"
	"github.com/seed95b73fdc/sluice/stage"
)

// Whole lanes are stolen, and the order of each key outlives that: the state machine
// of each key sees its items in order, and the results leave in order, although
// lanes move between workers all the time.
func TestOrderSurvivesStealingP2(t *testing.T) {
	const keys, items = 997, 250_000 / (raceScale*raceScale/4 + 1)
	rounds := share.Times(8)
	var steals uint64
	total := 0
	for round := 0; round < rounds || steals == 0 && round < 10*rounds; round++ {
		load := keyed.NewLoad[int]()
		out := keyed.Process(stage.FromSlice(numbers(items)), 4, func(v int) int { return v % keys },
			func(k int) machine { return machine{key: k} },
			func(_ context.Context, m *machine, v int) (int, error) {
				if v%101 == 0 {
					for range 1 + v%40 { // now and then others find this one standing still
						runtime.Gosched()
					}
				}
				return v, m.step(v, keys)
			}, keyed.Measure(load))
		seen := make([]int, keys)
		err := stage.ForEach(context.Background(), out, 1, func(_ context.Context, v int) error {
			if seen[v%keys] != v/keys {
				return fmt.Errorf("result %d of key %d came as number %d", v, v%keys, seen[v%keys])
			}
			seen[v%keys]++
			total++
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		steals += load.Stats().Steals
	}
	if total < items*rounds || steals == 0 {
		t.Errorf("%d items, %d steals", total, steals)
	}
	t.Logf("%d items, %d lanes stolen", total, steals)
}

func TestLoadFindsTheHotKeyC125(t *testing.T) {
	const items, hot = 100_000 / raceScale, 17
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	in := make([]int, items)
	for i := range in {
		if in[i] = hot; r.IntN(10) < 6 {
			in[i] = r.IntN(1000)
		}
	}
	load := keyed.NewLoad[int]()
	out := keyed.Map(stage.FromSlice(in), 4, identity, func(_ context.Context, v int) (int, error) { return v, nil }, keyed.Measure(load))
	if err := stage.Discard(context.Background(), out); err != nil {
		t.Fatal(err)
	}
	s := load.Stats()
	var done uint64
	for _, l := range s.Lanes {
		done += l.Done
	}
	h := s.Hottest[0]
	if done != items || h.Key != hot || h.Share < 0.3 || h.Share-h.Over > 0.5 || s.Lanes[h.Lane].Share < 0.35 {
		t.Errorf("%d done, hottest %+v", done, h)
	}
	if words := s.Skew(); !strings.HasPrefix(words, "key 17 is ") || !strings.Contains(words, "of the load, and ") {
		t.Errorf("Skew says %q", words)
	}
	even := keyed.NewLoad[int]()
	out = keyed.Map(stage.FromSlice(numbers(items)), 4, func(v int) int { return v % 10_000 }, func(_ context.Context, v int) (int, error) { return v, nil }, keyed.Measure(even))
	if err := stage.Discard(context.Background(), out); err != nil {
		t.Fatal(err)
	}
	if words := even.Stats().Skew(); words != "" {
		t.Errorf("of an even load Skew says %q", words)
	}
}

// C125: with 10,000 keys the busiest lane has at most 1.25 times the mean.
func TestKeysSpreadEvenlyOverLanesC125(t *testing.T) {
	type pair struct{ a, b int32 }
	spread(t, func(v int) int { return v })
	spread(t, func(v int) int { return v << 20 })
	spread(t, func(v int) string { return fmt.Sprint("user-", v) })
	spread(t, func(v int) pair { return pair{int32(v), int32(-v)} })
}

func spread[K comparable](t *testing.T, key func(int) K) {
	t.Helper()
	load := keyed.NewLoad[K]()
	const keys = 10_000
	out := keyed.Map(stage.FromSlice(numbers(keys)), 1, key, func(_ context.Context, v int) (int, error) { return v, nil }, keyed.Measure(load))
	if err := stage.Discard(context.Background(), out); err != nil {
		t.Fatal(err)
	}
	s := load.Stats()
	for i, l := range s.Lanes {
		if l.Share*float64(len(s.Lanes)) > 1.25 {
			t.Errorf("%T: lane %d of %d has %d of %d keys", key(0), i, len(s.Lanes), l.Done, keys)
		}
	}
}

// All functions of a lane wait for five seconds, or take one: then so says the mean of
// those that are measured, whichever these are.
func TestOwnersStatsTellWaitingAndServiceTimesExactlyP13(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls = 500
		o := newCounters(1)
		over := make(chan error)
		go func() {
			over <- o.Atomically(background, []int{7}, func([]*int) error { time.Sleep(5 * time.Second); return nil })
		}()
		synctest.Wait()
		for range calls {
			if err := o.Post(background, 7, add(1)); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-over; err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		lane := func() keyed.LaneStats {
			s := o.Stats()
			for _, l := range s.Lanes {
				if l.Keys > 0 {
					return l
				}
			}
			return keyed.LaneStats{}
		}
		if l := lane(); l.Done != calls || l.Wait != 5*time.Second || l.Service != 0 || l.Rate != calls/5 || l.Share != 1 || l.Depth != 0 {
			t.Errorf("after those that waited: %+v", l)
		}
		for range calls {
			if err := o.Do(t.Context(), 7, func(*int) error { time.Sleep(time.Second); return nil }); err != nil {
				t.Fatal(err)
			}
		}
		want := float64(2*calls) / (calls + 5)
		// About one of 16 is measured of either half: the mean lies between.
		if l := lane(); l.Done != 2*calls || l.Wait <= 0 || l.Wait > 5*time.Second || l.Service <= 0 || l.Service >= time.Second || math.Abs(l.Rate-want) > 1e-9 {
			t.Errorf("in the end: %+v, want a rate of %v", l, want)
		}
		s := o.Stats()
		if share := 1. / (2*calls + 1); s.AtomicallyShare != share || s.AtomicallyLanes != 1 || s.AtomicallyWait != 0 || s.AtomicallyBusy != 5*time.Second {
			t.Errorf("of several keys: %+v", s)
		}
		// A resize takes as long as the functions that it waits for.
		release := hold(t, o, 7)
		go func() { time.Sleep(3 * time.Second); release() }()
		if err := o.Resize(background, 2); err != nil {
			t.Error(err)
		}
		if s := o.Stats(); s.Resizes != 1 || s.Resizing != 3*time.Second || s.Done != 2*calls+2 {
			t.Errorf("after the resize: %+v", s)
		}
		closeNow(t, o)
	})
}

func TestOwnersStatsCountExactly(t *testing.T) {
	o := newCounters(2, stage.Window(50))
	const calls = 20_000
	for i := range calls {
		if err := o.Post(background, i%2*(i%100), add(1)); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		o.Atomically(background, []int{1, 2, 3}, func([]*int) error { return nil })
	}
	if err := o.Resize(background, 3); err != nil {
		t.Fatal(err)
	}
	before := o.Stats()
	if before.Done != calls+10 || before.Atomically != 10 || before.Epoch != 2 || before.Resizes != 1 || before.N != 3 || before.Window != 50 {
		t.Errorf("%+v", before)
	}
	for i := range calls {
		o.Do(background, i%2*(i%100), add(1))
	}
	s := o.Stats()
	if s.Done != 2*calls+10 || s.Admitted != 0 || s.Hottest[0].Key != 0 || s.Hottest[0].Share < 0.4 {
		t.Errorf("%+v", s)
	}
	if words := s.Skew(); !strings.HasPrefix(words, "key 0 is ") {
		t.Errorf("Skew says %q", words)
	}
	closeNow(t, o)
}
