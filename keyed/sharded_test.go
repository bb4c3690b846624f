package keyed_test

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/keyed"
)

func increment(v int, _ bool) int { return v + 1 }

func TestShardedIsAMap(t *testing.T) {
	for _, shards := range []int{1, 2, 3, 64} {
		m := keyed.NewSharded[string, int](shards)
		if v, ok := m.Load("a"); v != 0 || ok {
			t.Errorf("empty: got %d, %v", v, ok)
		}
		m.Store("a", 1)
		m.Store("b", 2)
		if v := m.Update("b", increment); v != 3 {
			t.Errorf("update: got %d", v)
		}
		if v := m.Update("c", func(v int, present bool) int {
			if present {
				t.Error("c is present")
			}
			return v + 7
		}); v != 7 {
			t.Errorf("update of nothing: got %d", v)
		}
		if got, want := maps.Collect(m.Range), map[string]int{"a": 1, "b": 3, "c": 7}; !maps.Equal(got, want) {
			t.Errorf("range: got %v, want %v", got, want)
		}
		if v, ok := m.Delete("b"); v != 3 || !ok {
			t.Errorf("delete: got %d, %v", v, ok)
		}
		if v, ok := m.Delete("b"); v != 0 || ok {
			t.Errorf("delete again: got %d, %v", v, ok)
		}
		if n := m.Len(); n != 2 {
			t.Errorf("len: got %d", n)
		}
	}
}

func TestShardedRoundsShardsUpToAPowerOfTwo(t *testing.T) { // C53
	for shards, want := range map[int]int{1: 1, 2: 2, 3: 4, 5: 8, 64: 64, 65: 128, 1023: 1024} {
		if got := keyed.NewSharded[int, int](shards).Stats().Shards; got != want {
			t.Errorf("%d shards: got %d, want %d", shards, got, want)
		}
	}
}

func TestShardedBadArgumentsPanicWithPlaceAndValue(t *testing.T) { // P11, C53
	m := keyed.NewSharded[int, int](1)
	mustPanic(t, "keyed.NewSharded: shards is 0", func() { keyed.NewSharded[int, int](0) })
	mustPanic(t, "keyed.NewSharded: shards is -1", func() { keyed.NewSharded[int, int](-1) })
	mustPanic(t, "keyed.NewSharded: shards is 65537", func() { keyed.NewSharded[int, int](keyed.MaxShards + 1) })
	mustPanic(t, "keyed.NewSharded: shards is 2147483647", func() { keyed.NewSharded[int, int](1<<31 - 1) })
	mustPanic(t, "keyed.Sharded.Update: f is nil", func() { m.Update(1, nil) })
	mustPanic(t, "keyed.Sharded.UpdateMany: f is nil", func() { m.UpdateMany([]int{1}, nil) })
	mustPanic(t, "keyed.Sharded.Range: f is nil", func() { m.Range(nil) })
	mustPanic(t, "keyed.Sharded.LoadOrCompute: f is nil", func() { m.LoadOrCompute(t.Context(), 1, nil) })
}

// mustPanic calls f, which has to panic with a text that begins with want.
func mustPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := fmt.Sprint(recover()); !strings.HasPrefix(got, want) {
			t.Errorf("got panic %q, want %q…", got, want)
		}
	}()
	f()
}

func TestShardedKeepsEveryUpdateWhileOthersStoreAndDelete(t *testing.T) { // C65
	const goroutines, keys, rounds, churn = 16, 1000, 4, 4096
	m := keyed.NewSharded[int, int](8)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for range rounds {
				for k := range keys {
					m.Update(k, increment)
				}
				for k := range churn {
					key := -1 - k
					if (g+k)%2 == 0 {
						m.Store(key, g)
					} else {
						m.Delete(key)
					}
				}
			}
		})
	}
	wg.Wait()
	for k := range keys {
		if v, _ := m.Load(k); v != goroutines*rounds {
			t.Fatalf("key %d: got %d, want %d", k, v, goroutines*rounds)
		}
	}
	for range 2 {
		wg.Go(func() {
			for k := range m.Range {
				m.Delete(k)
			}
		})
	}
	wg.Wait()
	if n := m.Len(); n != 0 {
		t.Errorf("%d entries left", n)
	}
}

func TestShardedRangeSeesNoKeyTwiceAndEveryLastingKeyOnce(t *testing.T) { // C68
	const lasting, fleeting, ranges = 500, 1000, 100
	m := keyed.NewSharded[int, int](16)
	for k := range lasting {
		m.Store(-1-k, k)
	}
	var stop atomic.Bool
	var churned atomic.Int64
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := 0; !stop.Load(); i++ {
				m.Store((i*8+g)%fleeting, i)
				m.Delete((i*8 + g + fleeting/2) % fleeting)
				churned.Add(1)
				runtime.Gosched()
			}
		})
	}
	sawFleeting := 0
	for range ranges {
		seen := make(map[int]int)
		for k := range m.Range {
			seen[k]++
			if seen[k] > 1 {
				t.Fatalf("key %d seen twice", k)
			}
		}
		for k := range lasting {
			if seen[-1-k] != 1 {
				t.Fatalf("lasting key %d not seen", -1-k)
			}
		}
		sawFleeting += len(seen) - lasting
		runtime.Gosched()
	}
	stop.Store(true)
	wg.Wait()
	if sawFleeting == 0 || churned.Load() == 0 {
		t.Errorf("vacuous: %d fleeting keys seen, %d changes", sawFleeting, churned.Load())
	}
}

func TestShardedRangeMayUseTheMapAndStop(t *testing.T) {
	m := keyed.NewSharded[int, int](4)
	for k := range 100 {
		m.Store(k, k)
	}
	n := 0
	for k := range m.Range {
		m.Delete(k)
		m.Store(k+1000, k)
		if n++; n == 10 {
			break
		}
	}
	if got := m.Len(); n != 10 || got != 100 {
		t.Errorf("%d seen, %d entries", n, got)
	}
}

func TestShardedLockIsFreeAfterAPanicOrGoexitOfF(t *testing.T) { // C66
	m := keyed.NewSharded[int, int](1)
	m.Store(1, 10)
	boom := errors.New("boom")
	for name, leave := range map[string]func(){
		"panic":  func() { panic(boom) },
		"goexit": runtime.Goexit,
	} {
		for op, call := range map[string]func(){
			"Update": func() { m.Update(1, func(v int, _ bool) int { leave(); return 0 }) },
			"UpdateMany": func() {
				m.UpdateMany([]int{1, 2}, func(es []*keyed.Entry[int, int]) error {
					es[0].Value, es[1].Present = 99, true
					leave()
					return nil
				})
			},
		} {
			done := make(chan any)
			go func() {
				defer func() { done <- recover() }()
				call()
			}()
			if got := <-done; name == "panic" && got != boom {
				t.Errorf("%s in %s: got %v", name, op, got)
			}
			if v, ok := m.Load(1); v != 10 || !ok {
				t.Errorf("%s in %s: got %d, %v", name, op, v, ok)
			}
			if n := m.Len(); n != 1 {
				t.Errorf("%s in %s: %d entries", name, op, n)
			}
		}
	}
}

func TestShardedCountsWaitsForLocks(t *testing.T) {
	m := keyed.NewSharded[int, int](1)
	m.Update(1, increment)
	if st := m.Stats(); st.Waits != 0 || st.Waited != 0 {
		t.Fatalf("nobody waited: got %+v", st)
	}
	const waiters = 5
	var wg sync.WaitGroup
	m.Update(1, func(v int, _ bool) int {
		begun := make(chan struct{})
		for range waiters {
			wg.Go(func() { begun <- struct{}{}; m.Update(1, increment) })
		}
		for range waiters {
			<-begun
		}
		for !blockedOnMutex(waiters) {
			runtime.Gosched()
		}
		return v + 1
	})
	wg.Wait()
	if v, _ := m.Load(1); v != 2+waiters {
		t.Errorf("got %d", v)
	}
	if st := m.Stats(); st.Waits != waiters || st.Waited <= 0 || st.Len != 1 || st.Largest != 1 {
		t.Errorf("got %+v, want %d waits", st, waiters)
	}
}

// Nothing in a map may depend on how many Ps there were when it was made.
func TestShardedCountsUnderAnyGOMAXPROCS(t *testing.T) { // C69
	share.Once(t)
	const goroutines, rounds = 64, 200
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(32))
	maps := []*keyed.Sharded[int, int]{keyed.NewSharded[int, int](32)}
	for _, procs := range []int{32, 2, 1} {
		runtime.GOMAXPROCS(procs)
		maps = append(maps, keyed.NewSharded[int, int](procs))
		var wg sync.WaitGroup
		for g := range goroutines {
			wg.Go(func() {
				for i := range rounds {
					for _, m := range maps {
						m.Update((g+i)%100, increment)
					}
				}
			})
		}
		wg.Wait()
	}
	for i, times := range []int{3, 3, 2, 1} {
		sum := 0
		for _, v := range maps[i].Range {
			sum += v
		}
		if want := times * goroutines * rounds; sum != want {
			t.Errorf("map %d: %d, want %d", i, sum, want)
		}
	}
}

// blockedOnMutex reports whether n goroutines are parked in a mutex.
func blockedOnMutex(n int) bool {
	buf := make([]byte, 1<<20)
	return strings.Count(string(buf[:runtime.Stack(buf, true)]), "[sync.Mutex.Lock") == n
}

func TestShardedOfKeysThatAreNotEqualToThemselves(t *testing.T) {
	m := keyed.NewSharded[float64, int](4)
	nan := zero() / zero()
	m.Store(nan, 1)
	m.Store(nan, 2)
	if _, ok := m.Load(nan); ok || m.Len() != 2 {
		t.Errorf("found %v, %d entries", ok, m.Len())
	}
	if v, loaded, err := m.LoadOrCompute(t.Context(), nan, give(3)); v != 3 || loaded || err != nil || m.Len() != 3 {
		t.Errorf("got %d, %v, %v, %d entries", v, loaded, err, m.Len())
	}
	m.UpdateMany([]float64{nan}, func(es []*keyed.Entry[float64, int]) error {
		es[0].Value, es[0].Present = 4, true
		return nil
	})
	if m.Len() != 4 {
		t.Errorf("%d entries", m.Len())
	}
}

func zero() float64 { return 0 }

func TestShardedKeyWithoutAHashPanicsAndLeavesTheLocksFree(t *testing.T) {
	m := keyed.NewSharded[any, int](1)
	for _, use := range []func(){
		func() { m.Load([]int{1}) },
		func() { m.Store([]int{1}, 1) },
		func() { m.UpdateMany([]any{1, []int{1}}, func([]*keyed.Entry[any, int]) error { return nil }) },
		func() { m.LoadOrCompute(t.Context(), []int{1}, give(1)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			use()
		}()
		m.Store(1, 1)
	}
}
