package keyed_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/keyed"
	"github.com/seed95b73fdc/sluice/stage"
)

func TestAtomicallySeesAllStatesAndChangesAllOrNone(t *testing.T) {
	o := newCounters(2)
	refused := errors.New("refused")
	move := func(amount int, err error) error {
		return o.Atomically(background, []int{1, 2, 1}, func(s []*int) error {
			if s[0] != s[2] {
				t.Error("a key that is given twice has two states")
			}
			*s[0] -= amount
			*s[1] += amount
			return err
		})
	}
	if err := move(5, nil); err != nil {
		t.Error(err)
	}
	if err := move(100, refused); err != refused {
		t.Error(err)
	}
	func() {
		defer func() { recover() }()
		o.Atomically(background, []int{1, 2}, func(s []*int) error { *s[0] = 99; panic("half way") })
	}()
	if a, b := value(t, o, 1), value(t, o, 2); a != -5 || b != 5 {
		t.Errorf("the states are %d and %d, want -5 and 5", a, b)
	}
	ran := false
	if err := o.Atomically(background, nil, func(s []*int) error { ran = len(s) == 0; return nil }); err != nil || !ran {
		t.Errorf("no keys: %v, ran %v", err, ran)
	}
	closeNow(t, o)
}

func TestAtomicallyCannotDeadlockWhateverTheKeys(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	const accounts, callers, calls = 12, 8, 1500 / raceScale
	for _, n := range []int{1, 2, 4} {
		o := newCounters(n, stage.Window(callers/2))
		var wg sync.WaitGroup
		for c := range callers {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(c)))
				for range calls {
					keys := make([]int, 1+r.IntN(4))
					for i := range keys {
						keys[i] = r.IntN(accounts)
					}
					ctx, cancel := context.Background(), func() {}
					if r.IntN(3) == 0 {
						ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(200))*time.Microsecond)
					}
					var running *keyed.RunningError
					err := o.Atomically(ctx, keys, func(s []*int) error {
						*s[0]--
						*s[len(s)-1]++
						return nil
					})
					if errors.As(err, &running) {
						err = running.Wait(background)
					}
					if err != nil && err != context.DeadlineExceeded {
						t.Error(err)
					}
					cancel()
				}
			})
		}
		wg.Wait()
		sum := 0
		for k := range accounts {
			sum += value(t, o, k)
		}
		if sum != 0 {
			t.Errorf("n=%d: the sum is %d", n, sum)
		}
		closeNow(t, o)
	}
}

// ask calls a function for a key, in a goroutine, and returns whether it has run, once
// nothing goes on in the bubble.
func ask(o *keyed.Owners[int, int], key int) *atomic.Bool {
	ran := new(atomic.Bool)
	go func() { o.Do(background, key, func(*int) error { ran.Store(true); return nil }) }()
	synctest.Wait()
	return ran
}

// onAnotherLane returns a key, from the one given on, that does not share the lane of the
// key that is held: functions for those that do wait.
func onAnotherLane(o *keyed.Owners[int, int], key int) int {
	for !ask(o, key).Load() {
		key++
	}
	return key
}

func TestAtomicallyTakenBackLetsItsLanesGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newCounters(4)
		release := hold(t, o, 1)
		elsewhere := onAnotherLane(o, 2)
		ctx, cancel := context.WithCancel(background)
		both := make(chan error)
		keys := []int{1}
		for k := 2; k < 200; k++ {
			keys = append(keys, k) // so that every lane is among them
		}
		go func() { both <- o.Atomically(ctx, keys, func([]*int) error { t.Error("ran"); return nil }) }()
		synctest.Wait()
		other := ask(o, elsewhere)
		if other.Load() {
			t.Fatal("a function ran on a lane that is held for another one")
		}
		cancel()
		if err := <-both; err != context.Canceled {
			t.Error(err)
		}
		synctest.Wait()
		if !other.Load() {
			t.Error("the lanes are still held for what was taken back")
		}
		release()
		closeNow(t, o)
	})
}

func TestResizeFinishesAndMovesUnderAHigherEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newCounters(1)
		for k := range 100 {
			o.Do(background, k, add(k))
		}
		release := hold(t, o, 5)
		queued := make(chan error, 1)
		o.Post(background, 5, add(1000))
		done := make(chan error)
		go func() { done <- o.Resize(background, 8) }()
		synctest.Wait()
		go func() { queued <- o.Do(background, 6, add(1000)) }()
		synctest.Wait()
		if o.Epoch() != 1 || len(queued) != 0 {
			t.Error("the lanes were laid out, or a caller was admitted, while a function of the old epoch ran")
		}
		short, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		if err := o.Resize(short, 3); err != context.DeadlineExceeded {
			t.Errorf("a second Resize: %v", err)
		}
		release()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := <-queued; err != nil {
			t.Error(err)
		}
		if o.Epoch() != 2 || o.Stats().N != 8 || o.Len() != 100 {
			t.Errorf("epoch %d, n %d, %d keys", o.Epoch(), o.Stats().N, o.Len())
		}
		for k := range 100 {
			want := k
			if k == 5 || k == 6 {
				want += 1000
			}
			if got := value(t, o, k); got != want {
				t.Errorf("key %d is at %d, want %d", k, got, want)
			}
		}
		closeNow(t, o)
	})
}

func TestResizeGivenUpChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newCounters(2)
		release := hold(t, o, 5)
		short, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		if err := o.Resize(short, 8); err != context.DeadlineExceeded {
			t.Error(err)
		}
		if o.Epoch() != 1 || o.Stats().N != 2 {
			t.Error("it has changed something")
		}
		other := onAnotherLane(o, 6)
		if o.Do(background, other, add(1)); value(t, o, other) != 1 {
			t.Errorf("the state of key %d is %d", other, value(t, o, other))
		}
		release()
		closeNow(t, o)
	})
}
