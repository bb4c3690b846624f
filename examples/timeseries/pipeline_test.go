package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"
)

var testSpan = span{first: mustDate("2026-01-01"), days: 30}

// A census counts the days in memory: those that are being downloaded and those
// that the garbage collector finds in use.
type census struct {
	mu      sync.Mutex
	loading int
	days    []weak.Pointer[day]
	most    int
}

// count counts them. It is called with mu held.
func (c *census) count() int {
	runtime.GC()
	c.days = slices.DeleteFunc(c.days, func(p weak.Pointer[day]) bool { return p.Value() == nil })
	c.most = max(c.most, c.loading+len(c.days))
	return c.loading + len(c.days)
}

func (c *census) now() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count()
}

// load stands for a download that takes a while.
func (c *census) load(ctx context.Context, d date, takes time.Duration) (*day, error) {
	c.mu.Lock()
	c.loading++
	c.count()
	c.mu.Unlock()
	done := time.After(takes)
	select {
	case <-done:
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loading--
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	got := &day{date: d, rows: int(d), accounts: map[string]*cents{"a": new(cents)}}
	c.days = append(c.days, weak.Make(got))
	return got, nil
}

// Days are loaded in times that vary, some are late by far, some fail, some stay
// missing: there are never more than n in memory, and n at times.
func TestNoMoreThanNDaysAreInMemory(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8, 31} {
		synctest.Test(t, func(t *testing.T) {
			seed := uint64(n)
			rnd := rand.New(rand.NewPCG(seed, 0))
			takes := make([]time.Duration, testSpan.days)
			for i := range takes {
				takes[i] = time.Duration(1+rnd.IntN(1000)) * time.Millisecond
				if i%9 == 4 {
					takes[i] *= 10 // those behind it wait
				}
			}
			c := &census{}
			failures := map[date]int{testSpan.first + 3: 2, testSpan.first + 12: 99, testSpan.first + 13: 99, testSpan.last(): 1}
			limit := max(n, 2)
			var order []date
			j := &job{
				span: testSpan, n: n, stop: make(chan struct{}), retry: testRetrying,
				fetch: func(ctx context.Context, d date) (*day, error) {
					got, err := c.load(ctx, d, takes[d-testSpan.first])
					c.mu.Lock()
					defer c.mu.Unlock()
					if failures[d]--; failures[d] >= 0 {
						return nil, errDamaged
					}
					return got, err
				},
				write: func(s summary) error {
					order = append(order, s.date)
					if live := c.now(); live > limit {
						t.Errorf("n = %d: %d days in memory when %v was compared", n, live, s.date)
					}
					return nil
				},
			}
			if err := j.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(order, slices.Collect(testSpan.all())) {
				t.Errorf("n = %d: days came as %v", n, order)
			}
			if want := min(limit, testSpan.days); c.most != want {
				t.Errorf("n = %d: at most %d days in memory, want %d", n, c.most, want)
			}
			if live := c.now(); live != 0 {
				t.Errorf("n = %d: %d days in memory after the run", n, live)
			}
		})
	}
}

var testRetrying = retrying{most: 3, first: 100 * time.Millisecond, limit: time.Minute}

// n downloads run at once, to begin with. Then the day before takes one slot, and
// the others are always in use.
func TestDownloadsRunAtOnceAsFarAsMemoryAllowsP3(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			running := 0
			release := make([]chan struct{}, testSpan.days)
			for i := range release {
				release[i] = make(chan struct{})
			}
			atOnce := func() int {
				synctest.Wait()
				mu.Lock()
				defer mu.Unlock()
				return running
			}
			j := &job{
				span: testSpan, n: n, retry: testRetrying,
				fetch: func(_ context.Context, d date) (*day, error) {
					mu.Lock()
					running++
					mu.Unlock()
					<-release[d-testSpan.first]
					mu.Lock()
					running--
					mu.Unlock()
					return &day{date: d}, nil
				},
				write: func(summary) error { return nil },
			}
			done := make(chan error)
			go func() { done <- j.run(t.Context()) }()
			if got := atOnce(); got != n {
				t.Errorf("n = %d: %d downloads at first", n, got)
			}
			for i := range release {
				left := testSpan.days - i
				if got, want := atOnce(), min(left, n, max(n, 2)-1); left < testSpan.days && got != want {
					t.Errorf("n = %d: %d downloads with %d days to go, want %d", n, got, left, want)
				}
				close(release[i])
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// C33, C117: a day that is late, since it was tried again, holds its place.
func TestDayThatIsTriedAgainHoldsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var order []string
		failures := map[date]int{testSpan.first: 3}
		var mu sync.Mutex
		j := &job{
			span: span{testSpan.first, 6}, n: 3, retry: testRetrying,
			fetch: func(_ context.Context, d date) (*day, error) {
				mu.Lock()
				defer mu.Unlock()
				if failures[d]--; failures[d] >= 0 {
					return nil, errDamaged
				}
				return &day{date: d}, nil
			},
			write: func(s summary) error {
				order = append(order, fmt.Sprint(s.date.String()[8:], " at ", time.Since(start)))
				return nil
			},
		}
		if err := j.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := []string{"01 at 700ms", "02 at 700ms", "03 at 700ms", "04 at 700ms", "05 at 700ms", "06 at 700ms"}
		if !slices.Equal(order, want) {
			t.Errorf("%q, want %q", order, want)
		}
	})
}

func TestComparisonSpansTheGap(t *testing.T) {
	gone := statusError{http.StatusNotFound, unknownDelay}
	missing := map[date]bool{testSpan.first: true, testSpan.first + 3: true, testSpan.first + 4: true}
	var got []string
	j := &job{
		span: span{testSpan.first, 7}, n: 4, retry: testRetrying,
		fetch: func(_ context.Context, d date) (*day, error) {
			if missing[d] {
				return nil, gone
			}
			return &day{date: d, rows: int(d - testSpan.first)}, nil
		},
		write: func(s summary) error {
			switch {
			case s.missing != nil:
				if !errors.Is(s.missing, gone) {
					t.Errorf("%v is missing: %v", s.date, s.missing)
				}
				got = append(got, "missing")
			case !s.compared:
				got = append(got, "first")
			default:
				got = append(got, fmt.Sprintf("%d %+.0f%%", int(s.against-testSpan.first), s.rowsPct))
			}
			return nil
		},
	}
	if err := j.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"missing", "first", "1 +100%", "missing", "missing", "2 +150%", "5 +20%"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
