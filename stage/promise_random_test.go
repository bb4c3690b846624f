package stage_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sort"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed95b73fdc/sluice/internal/share"
	"github.com/seed95b73fdc/sluice/stage"
)

// plan is a random run.
type plan struct {
	op          engineOp
	n, w, size  int
	chunk       int
	f, src, out []time.Duration // what each call, pull and take costs
	fate        []fate
	end         string
	at          int
	after       time.Duration
	recover     bool
}

type fate int

const (
	fine fate = iota
	fails
	panics
	exit
)

func (p *plan) String() string {
	return fmt.Sprintf("%s n=%d window=%d, %d items in chunks of %d, ends by %s at %d or %v", p.op.name, p.n, p.w, p.size, p.chunk, p.end, p.at, p.after)
}

// costs are k durations: all 0, all long, or stretches of both.
func costs(rng *rand.Rand, k int) []time.Duration {
	style := rng.IntN(5)
	long := rng.IntN(2) == 0
	d := make([]time.Duration, k)
	for i := range d {
		if rng.IntN(30) == 0 {
			long = !long
		}
		switch {
		case style == 1, style >= 3 && long:
			d[i] = time.Duration(1 + rng.IntN(int(5*time.Millisecond)))
		case style == 2 && rng.IntN(10) == 0:
			d[i] = time.Duration(1 + rng.IntN(int(100*time.Microsecond)))
		}
	}
	return d
}

func newPlan(rng *rand.Rand) *plan {
	p := &plan{
		op: engineOps[rng.IntN(len(engineOps))],
		n:  1 + rng.IntN(9), size: rng.IntN(600), chunk: rng.IntN(3) * rng.IntN(40),
		end: []string{"end", "end", "error", "cancel", "break", "panic"}[rng.IntN(6)],
	}
	if rng.IntN(2) == 0 {
		p.w = 1 + rng.IntN(1+rng.IntN(80))
	}
	p.f, p.out, p.src = costs(rng, p.size), costs(rng, p.size), make([]time.Duration, p.size+1)
	if rng.IntN(3) == 0 {
		p.src = costs(rng, p.size+1)
	}
	p.fate = make([]fate, p.size)
	p.recover = !p.op.flat && rng.IntN(2) == 0
	rate := []int{2, 20, 300}[rng.IntN(3)]
	for i := range p.fate {
		if rng.IntN(rate) == 0 {
			p.fate[i] = fails
			switch r := rng.IntN(8); {
			case r == 0 && p.recover:
				p.fate[i] = panics
			case r == 1 && !p.op.flat:
				p.fate[i] = exit
			}
		}
	}
	p.at = rng.IntN(p.size + 1)
	p.after = time.Duration(rng.IntN(int(200 * time.Millisecond)))
	return p
}

func TestRandomRunsKeepEveryPromise(t *testing.T) {
	rounds := 800
	if testing.Short() || raced {
		rounds = 200
	}
	seeds(t, share.Times(rounds), func(t *testing.T, seed uint64) {
		p := newPlan(rand.New(rand.NewPCG(seed, 1)))
		synctest.Test(t, func(t *testing.T) { p.run(t, seed) })
	})
}

type pausing struct {
	stage.Reader[int]
	pause func()
}

func (r *pausing) Next(dst []stage.Try[int]) int {
	r.pause()
	return r.Reader.Next(dst)
}

func (p *plan) run(t *testing.T, seed uint64) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	src := &tally{t: t, size: p.size, chunk: p.chunk}
	var pulling atomic.Bool
	var scope atomic.Pointer[stage.Scope]
	paused := stage.New(func(s *stage.Scope) stage.Reader[int] {
		pulls := 0
		scope.Store(s)
		return &pausing{stage.Open(s, src.stream()), func() {
			pulling.Store(true)
			time.Sleep(p.src[min(pulls, p.size)])
			pulls++
			pulling.Store(false)
		}}
	})
	var m meter
	var took atomic.Int64
	var broken atomic.Value
	breach := func(format string, args ...any) {
		broken.CompareAndSwap(nil, fmt.Sprintf(format, args...))
	}
	called := make([]atomic.Int32, p.size)
	limit := p.w
	if p.w == 0 {
		limit = 64 * p.n
	}
	opts := windowed(p.w)
	if p.recover {
		opts = append(opts, stage.RecoverPanics())
	}
	in := p.op.over(paused, p.n, func(ctx context.Context, v int) error {
		m.enter()
		defer m.leave()
		if called[v].Add(1) > 1 {
			breach("f is called twice for %d", v)
		}
		if held := int(src.handed.Load() - took.Load()); held > limit+64 {
			breach("%d items are held", held)
		}
		if p.f[v] > 0 {
			time.Sleep(p.f[v])
		}
		switch p.fate[v] {
		case fails:
			return oops(v)
		case panics:
			panic(oops(v))
		case exit:
			runtime.Goexit()
		}
		if p.end == "panic" && v == p.at {
			panic("planned")
		}
		return nil
	}, opts...)
	if p.end == "cancel" {
		time.AfterFunc(p.after, func() { cancel(errStop) })
	}
	over := make(chan struct{})
	go p.watch(rand.New(rand.NewPCG(seed, 2)), src, &m, &took, &pulling, func() bool {
		s := scope.Load()
		return s == nil || s.Stopped()
	}, over, breach)

	in = counted(in, &took)
	lost := map[int]bool{}
	if p.end != "error" {
		in = stage.Transform("catch", in, stage.Inline, stage.InOrder, stage.TryFunc(func(_ context.Context, a stage.Try[int], out *stage.Try[int]) bool {
			*out = a
			var o oops
			var pan *stage.Panic
			switch {
			case errors.As(a.Error, &o):
				lost[int(o)] = true
			case errors.As(a.Error, &pan) && pan.Value == "planned":
				lost[p.at] = true
			case errors.Is(a.Error, stage.ErrGoexit):
				lost[-len(lost)-1] = true
			default:
				return true
			}
			return false
		}))
	}
	var got []int
	var err error
	v := raised(func() {
		err = stage.ForEach(ctx, in, 1, func(_ context.Context, v int) error {
			time.Sleep(p.out[v])
			got = append(got, v)
			if p.end == "break" && len(got) > p.at {
				return errEnough
			}
			return nil
		})
	})
	close(over)
	p.check(t, got, lost, err, v, src, &m)
	if b := broken.Load(); b != nil {
		t.Errorf("%v: %v", p, b)
	}
}

// watch looks at the run at random times, at which everybody waits.
func (p *plan) watch(rng *rand.Rand, src *tally, m *meter, took *atomic.Int64, pulling *atomic.Bool, ended func() bool, over chan struct{}, breach func(string, ...any)) {
	for {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(1 + rng.IntN(int(3*time.Millisecond)))):
		}
		synctest.Wait()
		select {
		case <-over:
			return
		default:
		}
		running, calls, handed := int(m.running.Load()), int(m.calls.Load()), int(src.handed.Load())
		held := handed - int(took.Load())
		if running > p.n || p.w > 0 && held > p.w || held > 64*p.n && p.w == 0 {
			breach("%d running, %d held", running, held)
		}
		if running == p.n || running == p.w || p.op.flat {
			continue
		}
		// A worker is idle, so whatever has been taken has been started, and
		// nothing more can be: the source has nothing, the window is full, or
		// the run is being ended.
		full := held == p.w || p.w == 0 && held >= p.n
		if !ended() && (calls != handed || !full && handed < p.size && !pulling.Load()) {
			breach("%d running, %d of %d started, %d of them taken", running, calls, handed, took.Load())
		}
	}
}

// check compares what came out with the plan.
func (p *plan) check(t *testing.T, got []int, lost map[int]bool, err error, raised any, src *tally, m *meter) {
	if !src.allClosed() || m.running.Load() != 0 || int(m.most.Load()) > p.n {
		t.Errorf("%v: closed %v, %d running, %d at most", p, src.allClosed(), m.running.Load(), m.most.Load())
	}
	sorted := sort.IntsAreSorted(got)
	if p.op.order == stage.InOrder && !sorted {
		t.Errorf("%v: out of order: %v", p, got)
	}
	unique := slices.Clone(got)
	slices.Sort(unique)
	if len(slices.Compact(unique)) != len(got) {
		t.Errorf("%v: an item came twice", p)
	}
	for _, v := range got {
		if p.fate[v] != fine {
			t.Errorf("%v: item %d came although it failed", p, v)
		}
	}
	good, firstBad := 0, p.size
	for v, f := range p.fate {
		if f == fine {
			good++
		} else {
			firstBad = min(firstBad, v)
		}
	}
	complete := len(got) == good && len(lost) == p.size-good
	switch p.end {
	case "end":
		if err != nil || raised != nil || !complete {
			t.Errorf("%v: %d of %d values, %d of %d errors, %v, %v", p, len(got), good, len(lost), p.size-good, err, raised)
		}
	case "error":
		if firstBad < p.size && (err == nil || raised != nil) || firstBad == p.size && (err != nil || !complete) {
			t.Errorf("%v: first bad %d: %v, %v", p, firstBad, err, raised)
		}
		if p.op.order == stage.InOrder && firstBad < p.size && p.fate[firstBad] == fails && (err != oops(firstBad) || len(got) != firstBad) {
			t.Errorf("%v: first bad %d: %v after %d", p, firstBad, err, len(got))
		}
	case "cancel":
		if err != errStop && !(err == nil && complete) || raised != nil {
			t.Errorf("%v: %v, %v", p, err, raised)
		}
	case "break":
		if want := p.at < good; want != (err == errEnough) || want && len(got) != p.at+1 || !want && !complete {
			t.Errorf("%v: %v after %d", p, err, len(got))
		}
	case "panic":
		pan, ok := raised.(*stage.Panic)
		planned := p.at < p.size && p.fate[p.at] == fine
		switch {
		case planned && !p.recover && (!ok || pan.Value != "planned"):
			t.Errorf("%v: raised %v", p, raised)
		case planned && p.recover && (raised != nil || err != nil || !lost[p.at]):
			t.Errorf("%v: raised %v, %v, lost %v", p, raised, err, lost[p.at])
		case !planned && (raised != nil || err != nil || !complete):
			t.Errorf("%v: raised %v, %v", p, raised, err)
		}
	}
}
