package sink

import (
	"errors"
	"runtime"
	"sync"
	"testing"
)

// A short append that finds another one before it, which is not complete, makes short
// ones take the lock; they do without it when it has been free for long enough.
func TestShortAppendsThatMeetTakeTheLockForAWhile(t *testing.T) {
	l := must[*Log[event]](t)(Create[event](newPath(t)))
	c := l.core
	must[uint64](t)(l.Append(eventOf(0)))
	if c.crowd.busy.Load() {
		t.Fatal("one writer alone takes the lock")
	}
	first := &turn{first: must[uint64](t)(c.reserve(1)), end: 2, mine: 2, records: bytesOf([]event{eventOf(1)})}
	met := make(chan error)
	go func() {
		_, err := l.Append(eventOf(2))
		met <- err
	}()
	for !c.crowd.busy.Load() {
		runtime.Gosched() // a writer that does not notice is the test's timeout
	}
	c.place(first)
	ok(t, <-met)
	for i := range uint64(calmEnough) {
		if !c.crowd.busy.Load() {
			t.Fatalf("no lock is taken after %d calls", i)
		}
		must[uint64](t)(l.Append(eventOf(3 + i)))
	}
	if c.crowd.busy.Load() {
		t.Error("the lock is still taken")
	}
	wantEvents(t, l, 0, 3+calmEnough)
	ok(t, l.Close())
}

// Whoever has to wait for the lock makes the while begin anew. That the other goroutine
// comes in time to wait cannot be seen, so it is tried until it has: for ever if that
// does not count.
func TestWhoWaitsForTheLockKeepsItTaken(t *testing.T) {
	for waited := false; !waited; {
		c := crowd{calm: calmEnough / 2}
		c.mu.Lock()
		gone := make(chan struct{})
		go func() {
			c.enter()
			waited = c.calm == 0
			c.leave()
			close(gone)
		}()
		for range 100 {
			runtime.Gosched()
		}
		c.mu.Unlock()
		<-gone
	}
}

// Long appends go past the lock, and short ones wait for it; it is given back with an
// error too.
func TestTheLockIsForShortAppends(t *testing.T) {
	everyWay(t, func(t *testing.T, way LogOption) {
		l := must[*Log[event]](t)(Create[event](newPath(t), way))
		c := l.core
		c.crowd.seen()
		c.crowd.mu.Lock()
		short := make(chan uint64)
		go func() {
			first, err := l.Append(eventOf(0))
			ok(t, err)
			short <- first
		}()
		long := make([]event, shortAppend/len(bytesOf([]event{{}}))+1)
		must[uint64](t)(l.Append(long...))
		for range 100 {
			runtime.Gosched()
		}
		if n := l.Len(); n != uint64(len(long)) {
			t.Errorf("%d records, want the %d of the long append", n, len(long))
		}
		c.crowd.mu.Unlock()
		if first := <-short; first != uint64(len(long)) {
			t.Errorf("the short append is at %d, want %d", first, len(long))
		}
		ok(t, l.Close())
		for range 2 {
			if _, err := l.Append(eventOf(1)); !errors.Is(err, ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
		}
	})
}

// With the lock as without it: each record once, at the index that is returned.
func TestManyShortAppendsUnderTheLock(t *testing.T) {
	everyWay(t, func(t *testing.T, way LogOption) {
		const writers, rounds = 4, 2000
		l := must[*Log[event]](t)(Create[event](newPath(t), way))
		l.core.crowd.seen()
		at := make([][]uint64, writers)
		var wg sync.WaitGroup
		for w := range uint64(writers) {
			wg.Go(func() {
				for i := range uint64(rounds) {
					first, err := l.Append(event{ID: i, Writer: w})
					if err != nil {
						t.Errorf("writer %d: %v", w, err)
						return
					}
					at[w] = append(at[w], first)
				}
			})
		}
		wg.Wait()
		next := make([]uint64, writers)
		for i, e := range l.Records() {
			if e.Writer >= writers || e.ID != next[e.Writer] || at[e.Writer][e.ID] != i {
				t.Fatalf("record %d is %v", i, e)
			}
			next[e.Writer]++
		}
		if l.Len() != writers*rounds {
			t.Errorf("%d records, want %d", l.Len(), writers*rounds)
		}
		ok(t, l.Close())
	})
}
