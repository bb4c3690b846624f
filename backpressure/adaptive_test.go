package backpressure_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/backpressure"
	"github.com/seed95b73fdc/sluice/internal/share"
)

// server takes base for a call while there are no more than it has units; with more, all
// become slower in proportion, and beyond refuse it fails.
type server struct {
	mu     sync.Mutex
	units  int
	base   time.Duration
	refuse int
	load   int
	done   int
}

var errBusy = errors.New("busy")

func (s *server) call(ctx context.Context) error {
	s.mu.Lock()
	s.load++
	d := s.base * time.Duration(max(s.units, s.load)) / time.Duration(s.units)
	refused := s.refuse > 0 && s.load > s.refuse
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.load--
		if !refused {
			s.done++
		}
	}()
	if refused {
		return errBusy
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// rig is a server behind an adaptive limit, with callers who never stop.
type rig struct {
	server server
	limit  *backpressure.Adaptive
	sem    *backpressure.PaddedSemaphore
	least  int // of what was set
	most   int
}

// drive runs the rig for d, and returns how many calls were served per second.
func (r *rig) drive(t *testing.T, callers int, d time.Duration) float64 {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer time.AfterFunc(d, cancel).Stop() // a deadline would count as load
	before := r.server.done
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for r.sem.Acquire(ctx, 1) == nil {
				err := r.limit.Do(ctx, r.server.call)
				r.sem.Release(1)
				if err == errBusy {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	wg.Wait()
	return float64(r.server.done-before) / d.Seconds()
}

// top is drive, and returns the highest limit of that time too: now and then Gradient
// goes far below its limit for a moment, to measure.
func (r *rig) top(t *testing.T, callers int, d time.Duration) (limit int, rate float64) {
	t.Helper()
	least, most := r.least, r.most
	r.most = r.limit.Limit()
	rate = r.drive(t, callers, d)
	limit = r.most
	r.least, r.most = min(r.least, least), max(r.most, most)
	return limit, rate
}

func newRig(law backpressure.Law, least, most int) *rig {
	r := &rig{sem: backpressure.NewPadded(most), least: math.MaxInt}
	r.server = server{units: 8, base: 10 * time.Millisecond}
	r.limit = backpressure.NewAdaptive(backpressure.SetterFunc(func(n int) {
		r.least, r.most = min(r.least, n), max(r.most, n)
		r.sem.Resize(n)
	}), law, least, most)
	return r
}

// A server of 8 units is used to the full and not much beyond; when it has become a
// quarter of that the limit follows, and when it is back the limit is, too.
func TestAdaptiveFollowsAServerThatSlowsDownBeyondALoad(t *testing.T) {
	const full = 800 // calls per second that 8 units of 10 ms can serve
	laws := map[string]func() backpressure.Law{
		"AIMD":     func() backpressure.Law { return backpressure.AIMD{Within: 20 * time.Millisecond} },
		"Gradient": func() backpressure.Law { return &backpressure.Gradient{} },
	}
	for _, name := range share.Rows(t, []string{"AIMD", "Gradient"}) {
		law := laws[name]
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(law(), 1, 200)
				r.drive(t, 50, 4*time.Second) // finds its place
				n, rate := r.top(t, 50, 2*time.Second)
				t.Logf("8 units: limit %d, %.0f per second", n, rate)
				if n < 6 || n > 30 || rate < 0.9*full {
					t.Errorf("with 8 units: limit %d, %.0f per second", n, rate)
				}
				r.server.units = 2
				r.drive(t, 50, 8*time.Second)
				n, rate = r.top(t, 50, 2*time.Second)
				t.Logf("2 units: limit %d, %.0f per second", n, rate)
				if n > 8 || rate < 0.9*full/4 {
					t.Errorf("with 2 units: limit %d, %.0f per second", n, rate)
				}
				r.server.units = 8
				r.drive(t, 50, 8*time.Second)
				n, rate = r.top(t, 50, 2*time.Second)
				t.Logf("8 units again: limit %d, %.0f per second", n, rate)
				if n < 6 || n > 30 || rate < 0.9*full {
					t.Errorf("with 8 units again: limit %d, %.0f per second", n, rate)
				}
				if r.least < 1 || r.most > 200 {
					t.Errorf("the limit was set to %d to %d, out of bounds", r.least, r.most)
				}
			})
		})
	}
}

// A server that refuses calls when there are too many, and is not slower before.
func TestAdaptiveBacksOffFromErrors(t *testing.T) {
	for name, law := range map[string]func() backpressure.Law{
		"AIMD":     func() backpressure.Law { return backpressure.AIMD{} },
		"Gradient": func() backpressure.Law { return &backpressure.Gradient{Tolerance: 2} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(law(), 1, 200)
				r.server.units, r.server.refuse = 1000, 20
				r.drive(t, 50, 2*time.Second)
				n, rate := r.top(t, 50, 2*time.Second)
				t.Logf("limit %d, %.0f per second", n, rate)
				if n < 10 || n > 30 || rate < 1200 {
					t.Errorf("limit %d, %.0f per second, want about 20 and 2000", n, rate)
				}
			})
		})
	}
}

// set is a Setter that keeps what it was told.
type set []int

func (s *set) Set(n int) { *s = append(*s, n) }

func TestAdaptiveRisesOnlyWhileTheLimitIsUsed(t *testing.T) {
	for _, law := range []backpressure.Law{backpressure.AIMD{}, &backpressure.Gradient{}} {
		synctest.Test(t, func(t *testing.T) {
			var s set
			a := backpressure.NewAdaptive(&s, law, 5, 100)
			for range 1000 { // one at a time
				a.Do(t.Context(), func(context.Context) error { time.Sleep(time.Millisecond); return nil })
			}
			for _, n := range s {
				if n > 5 {
					t.Fatalf("%T: it rose to %d though one call ran at a time", law, n)
				}
			}
		})
	}
}

func TestAIMDByTheNumbers(t *testing.T) {
	var s set
	a := backpressure.NewAdaptive(&s, backpressure.AIMD{Within: time.Second, Backoff: 0.5}, 2, 7, backpressure.StartAt(4))
	round := func(d time.Duration, err error) {
		for range max(4, a.Limit()) {
			a.Observe(d, err)
		}
	}
	for range 5 {
		round(time.Second, nil) // 5 6 7, and no more
	}
	round(time.Second+1, nil) // 3
	round(0, errBusy)         // 2: the least
	round(0, errBusy)
	for range 100 {
		a.Observe(time.Hour, context.Canceled) // says nothing
	}
	round(0, nil) // 3
	want := set{4, 5, 6, 7, 3, 2, 3}
	if len(s) != len(want) {
		t.Fatalf("set to %v, want %v", s, want)
	}
	for i := range want {
		if s[i] != want[i] {
			t.Fatalf("set to %v, want %v", s, want)
		}
	}
}

// A latency that means "for ever", as often as you like, is no short one.
func TestAdaptiveBacksOffFromLatenciesWhoseSumOverflows(t *testing.T) {
	a := backpressure.NewAdaptive(backpressure.SetterFunc(func(int) {}), backpressure.AIMD{Within: time.Second, Backoff: 0.5}, 1, 100, backpressure.StartAt(64))
	for range 64 {
		a.Observe(math.MaxInt64, nil)
	}
	if n := a.Limit(); n != 32 {
		t.Errorf("the limit is %d, want 32", n)
	}
}

func TestAdaptiveCountsOnlyTheErrorsItIsToldOf(t *testing.T) {
	var s set
	other := errors.New("no such user")
	a := backpressure.NewAdaptive(&s, backpressure.AIMD{}, 1, 10, backpressure.StartAt(10),
		backpressure.Overload(func(err error) bool { return err == errBusy }))
	for range 100 {
		a.Observe(time.Second, other)
	}
	if len(s) != 1 {
		t.Errorf("set to %v by errors that say nothing of load", s)
	}
	for range 10 {
		a.Observe(time.Second, errBusy)
	}
	if len(s) != 2 || s[1] != 8 {
		t.Errorf("set to %v, want 10 and 8", s)
	}
}

// A panic or a Goexit in a watched function leaves the count of calls right.
func TestAdaptivePanicAndGoexitInACallP9(t *testing.T) {
	var s set
	a := backpressure.NewAdaptive(&s, backpressure.AIMD{}, 2, 10)
	f := backpressure.Watch(a, func(_ context.Context, v int) (int, error) {
		switch v {
		case 0:
			panic("zero")
		case 1:
			runtime.Goexit()
		}
		return v + 1, errBusy
	})
	for v := range 2 {
		for range 5 {
			done := make(chan struct{})
			go func() {
				defer close(done)
				defer func() { recover() }()
				f(t.Context(), v)
			}()
			<-done
		}
	}
	if got, err := f(t.Context(), 2); got != 3 || err != errBusy {
		t.Errorf("f(2) = %d, %v: Watch changed what it returns", got, err)
	}
	if len(s) != 1 {
		t.Errorf("set to %v by calls that did not return", s)
	}
	for range 40 { // were the dead counted as in flight, this would look like full use
		a.Do(t.Context(), func(context.Context) error { return nil })
	}
	if a.Limit() != 2 {
		t.Errorf("Limit = %d with one call at a time", a.Limit())
	}
}

// wild is a law that returns what nobody should.
type wild []float64

func (w *wild) Next(float64, backpressure.Seen) float64 {
	v := (*w)[0]
	*w = (*w)[1:]
	return v
}

func TestAdaptiveStaysWithinItsBoundsWhateverTheLawSays(t *testing.T) {
	var s set
	a := backpressure.NewAdaptive(&s, &wild{math.NaN(), math.Inf(1), math.Inf(-1), -5, 1e300, 0}, 2, 6, backpressure.StartAt(3))
	for range 6 {
		for range max(4, a.Limit()) {
			a.Observe(0, nil)
		}
	}
	want := set{3, 6, 2, 6, 2}
	if len(s) != len(want) || s[1] != 6 || s[2] != 2 || s[3] != 6 || s[4] != 2 {
		t.Errorf("set to %v, want %v", s, want)
	}
}

func TestAdaptiveBadArgumentsPanicP11(t *testing.T) {
	var s set
	ok := backpressure.AIMD{}
	for want, f := range map[string]func(){
		"backpressure.NewAdaptive: drive is <nil>":            func() { backpressure.NewAdaptive(nil, ok, 1, 2) },
		"law is <nil>, neither may be nil":                    func() { backpressure.NewAdaptive(&s, nil, 1, 2) },
		"backpressure.NewAdaptive: least is 0, want 1 to 2":   func() { backpressure.NewAdaptive(&s, ok, 0, 2) },
		"backpressure.NewAdaptive: least is 3, want 1 to 2":   func() { backpressure.NewAdaptive(&s, ok, 3, 2) },
		"backpressure.NewAdaptive: most is 0, want 1 to ":     func() { backpressure.NewAdaptive(&s, ok, 1, 0) },
		"backpressure.NewAdaptive: StartAt is 9, want 1 to 2": func() { backpressure.NewAdaptive(&s, ok, 1, 2, backpressure.StartAt(9)) },
		"backpressure.NewAdaptive: option 0 is nil":           func() { backpressure.NewAdaptive(&s, ok, 1, 2, nil) },
		"backpressure.Overload: is is nil":                    func() { backpressure.NewAdaptive(&s, ok, 1, 2, backpressure.Overload(nil)) },
		"backpressure.AIMD: Within is -1ns":                   func() { backpressure.NewAdaptive(&s, backpressure.AIMD{Within: -1}, 1, 2) },
		"Backoff 1, want none negative and Backoff below 1":   func() { backpressure.NewAdaptive(&s, backpressure.AIMD{Backoff: 1}, 1, 2) },
		"Step NaN": func() { backpressure.NewAdaptive(&s, backpressure.AIMD{Step: math.NaN()}, 1, 2) },
		"backpressure.Gradient: Tolerance is 0.5":                          func() { backpressure.NewAdaptive(&s, &backpressure.Gradient{Tolerance: 0.5}, 1, 2) },
		"backpressure.Gradient: it is nil":                                 func() { backpressure.NewAdaptive(&s, (*backpressure.Gradient)(nil), 1, 2) },
		"backpressure.Watch: a is nil: true, f is nil: false, neither may": func() { backpressure.Watch(nil, func(context.Context, int) (int, error) { return 0, nil }) },
	} {
		wantPanic(t, want, f)
	}
	if len(s) != 0 {
		t.Errorf("set to %v by constructors that panicked", s)
	}
}

// A server that has become slower for good is as good as any: the limit falls at first,
// and comes back when the base has been measured anew.
func TestGradientTakesASlowerServerForWhatItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(&backpressure.Gradient{}, 1, 200)
		r.drive(t, 50, 2*time.Second)
		before, _ := r.top(t, 50, 2*time.Second)
		r.server.base *= 4
		r.drive(t, 50, 26*time.Second)
		after, _ := r.top(t, 50, 4*time.Second)
		t.Logf("limit %d, and with a base four times as long %d", before, after)
		if after < before/2 || after > 2*before {
			t.Errorf("limit %d, and with a base four times as long %d", before, after)
		}
	})
}

// What an unloaded server takes is found also where the limit begins far above what it
// can serve: the measuring itself must not overload it.
func TestGradientFindsTheWayDownFromAnyLimit(t *testing.T) {
	for _, units := range share.Rows(t, []int{1, 4}) {
		synctest.Test(t, func(t *testing.T) {
			r := &rig{server: server{units: units, base: 10 * time.Millisecond}, sem: backpressure.NewPadded(64)}
			r.limit = backpressure.NewAdaptive(backpressure.SetterFunc(r.sem.Resize), &backpressure.Gradient{}, 1, 64, backpressure.StartAt(64))
			r.drive(t, 80, 5*time.Second+80*time.Second/time.Duration(units)) // a round takes its time
			rate := r.drive(t, 80, 5*time.Second)
			n, full := r.limit.Limit(), 100*float64(units)
			t.Logf("%d units: limit %d, %.0f of %.0f per second", units, n, rate, full)
			if n > 2*units+4 || rate < 0.85*full {
				t.Errorf("%d units: limit %d, %.0f of %.0f per second", units, n, rate, full)
			}
		})
	}
}
