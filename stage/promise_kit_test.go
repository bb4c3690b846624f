package stage_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed95b73fdc/sluice/stage"
)

// What the tests of the promises have in common: every function that calls
// one of the user's, in one shape; a source and a reader that count; a meter
// of calls.

// upTo returns 0 to k-1.
func upTo(k int) []int {
	s := make([]int, k)
	for i := range s {
		s[i] = i
	}
	return s
}

// work is a function of the user's. Its error takes the place of the item.
type work = func(ctx context.Context, v int) error

// engineOp is a transform that calls f for each value and emits the value.
type engineOp struct {
	name  string
	order stage.Order
	flat  bool // a window counts streams, and n = 1 has a goroutine for each
	over  func(in stage.Stream[int], n int, f work, opts ...stage.Option) stage.Stream[int]
}

// valued is the error that stands for a value on its way through Catch.
type valued int

func (v valued) Error() string { return "value " + strconv.Itoa(int(v)) }

func toError(a *stage.Try[int]) {
	if a.Error == nil {
		*a = stage.Try[int]{Error: valued(a.Value)}
	}
}

func toValue(a *stage.Try[int]) {
	if v, ok := a.Error.(valued); ok {
		*a = stage.Try[int]{Value: int(v)}
	}
}

// edited is in with each item changed by edit, whatever goes on.
func edited(in stage.Stream[int], edit func(*stage.Try[int])) stage.Stream[int] {
	return stage.New(func(s *stage.Scope) stage.Reader[int] { return &editReader{stage.Open(s, in), edit} })
}

type editReader struct {
	stage.Reader[int]
	edit func(*stage.Try[int])
}

func (r *editReader) Next(dst []stage.Try[int]) int {
	k := r.Reader.Next(dst)
	for i := range dst[:k] {
		r.edit(&dst[i])
	}
	return k
}

func mapWork(f work) func(context.Context, int) (int, error) {
	return func(ctx context.Context, v int) (int, error) { return v, f(ctx, v) }
}

func testWork(f work) func(context.Context, int) (bool, error) {
	return func(ctx context.Context, v int) (bool, error) { err := f(ctx, v); return err == nil, err }
}

func overTransform(order stage.Order) func(in stage.Stream[int], n int, f work, opts ...stage.Option) stage.Stream[int] {
	return func(in stage.Stream[int], n int, f work, opts ...stage.Option) stage.Stream[int] {
		return stage.Transform("transform", in, n, order, stage.MapFunc("test", mapWork(f)), opts...)
	}
}

func overTry(order stage.Order) func(in stage.Stream[int], n int, f work, opts ...stage.Option) stage.Stream[int] {
	return func(in stage.Stream[int], n int, f work, opts ...stage.Option) stage.Stream[int] {
		return stage.Transform("transform", in, n, order, stage.TryFunc(func(ctx context.Context, a stage.Try[int], out *stage.Try[int]) bool {
			if *out = a; a.Error == nil {
				if err := f(ctx, a.Value); err != nil {
					*out = stage.Try[int]{Error: err}
				}
			}
			return true
		}), opts...)
	}
}

func overFlatMap(order stage.Order) func(in stage.Stream[int], n int, f work, opts ...stage.Option) stage.Stream[int] {
	return func(in stage.Stream[int], n int, f work, opts ...stage.Option) stage.Stream[int] {
		return stage.FlatMapOrder("test", in, n, order, func(ctx context.Context, v int) stage.Stream[int] {
			return stage.FromSlice([]int{v}, f(ctx, v))
		}, opts...)
	}
}

func overInner(order stage.Order) func(in stage.Stream[int], n int, f work, opts ...stage.Option) stage.Stream[int] {
	return func(in stage.Stream[int], n int, f work, opts ...stage.Option) stage.Stream[int] {
		return stage.FlatMapOrder("test", in, n, order, func(_ context.Context, v int) stage.Stream[int] {
			return stage.Map(stage.Of(v), stage.Inline, mapWork(f))
		}, opts...)
	}
}

// cellOps are the transforms that run on cells.
var cellOps = []engineOp{
	{"Map", stage.AnyOrder, false, func(in stage.Stream[int], n int, f work, opts ...stage.Option) stage.Stream[int] {
		return stage.Map(in, n, mapWork(f), opts...)
	}},
	{"Filter", stage.AnyOrder, false, func(in stage.Stream[int], n int, f work, opts ...stage.Option) stage.Stream[int] {
		return stage.Filter(in, n, testWork(f), opts...)
	}},
	{"FilterMap", stage.AnyOrder, false, func(in stage.Stream[int], n int, f work, opts ...stage.Option) stage.Stream[int] {
		return stage.FilterMap(in, n, func(ctx context.Context, v int) (int, bool, error) { return v, true, f(ctx, v) }, opts...)
	}},
	{"Catch", stage.AnyOrder, false, func(in stage.Stream[int], n int, f work, opts ...stage.Option) stage.Stream[int] {
		caught := stage.Catch(edited(in, toError), n, func(ctx context.Context, err error) error {
			var v valued
			if !errors.As(err, &v) {
				return err
			}
			if failed := f(ctx, int(v)); failed != nil {
				return failed
			}
			return err
		}, opts...)
		return edited(caught, toValue)
	}},
	{"TryFunc/AnyOrder", stage.AnyOrder, false, overTry(stage.AnyOrder)},
	{"TryFunc/InOrder", stage.InOrder, false, overTry(stage.InOrder)},
	{"Transform/InOrder", stage.InOrder, false, overTransform(stage.InOrder)},
}

// flatOps are the transforms that run a stream for each value, with f before
// the stream or inside it.
var flatOps = []engineOp{
	{"FlatMap/AnyOrder", stage.AnyOrder, true, overFlatMap(stage.AnyOrder)},
	{"FlatMap/InOrder", stage.InOrder, true, overFlatMap(stage.InOrder)},
	{"FlatMapInner/AnyOrder", stage.AnyOrder, true, overInner(stage.AnyOrder)},
	{"FlatMapInner/InOrder", stage.InOrder, true, overInner(stage.InOrder)},
}

var engineOps = append(append([]engineOp{}, cellOps...), flatOps...)

// engineRun is a whole run that calls f for each value.
type engineRun struct {
	name  string
	order stage.Order
	opts  bool // takes options
	run   func(ctx context.Context, in stage.Stream[int], n int, f work, opts ...stage.Option) error
}

// ends are the terminals that call f for each value.
var ends = []engineRun{
	{"ForEach", stage.AnyOrder, true, stage.ForEach[int]},
	{"To", stage.AnyOrder, true, func(ctx context.Context, in stage.Stream[int], n int, f work, opts ...stage.Option) error {
		return stage.Run(ctx, stage.To(in, n, f, opts...))
	}},
	{"Any", stage.AnyOrder, false, func(ctx context.Context, in stage.Stream[int], n int, f work, _ ...stage.Option) error {
		_, err := stage.Any(ctx, in, n, func(ctx context.Context, v int) (bool, error) { return false, f(ctx, v) })
		return err
	}},
	{"All", stage.AnyOrder, false, func(ctx context.Context, in stage.Stream[int], n int, f work, _ ...stage.Option) error {
		_, err := stage.All(ctx, in, n, func(ctx context.Context, v int) (bool, error) { return true, f(ctx, v) })
		return err
	}},
}

// engineRuns are the transforms with a terminal that takes all, and the ends.
func engineRuns() []engineRun {
	var runs []engineRun
	for _, op := range engineOps {
		runs = append(runs, engineRun{op.name, op.order, true, func(ctx context.Context, in stage.Stream[int], n int, f work, opts ...stage.Option) error {
			return stage.Discard(ctx, op.over(in, n, f, opts...))
		}})
	}
	return append(runs, ends...)
}

// windowed returns the option for w, none for 0.
func windowed(w int) []stage.Option {
	if w == 0 {
		return nil
	}
	return []stage.Option{stage.Window(w)}
}

// sizes are the sizes that a test goes through. Under the race detector it is one
// of them, another one for another number of processors.
func sizes(all ...int) []int {
	if raced {
		i := (len(all) - 1) / 2
		switch runtime.GOMAXPROCS(0) {
		case 1:
			i = 0
		case 2:
			i = len(all) - 1
		}
		return all[i : i+1]
	}
	return all
}

// rounds is how often something is repeated: a fifth of it under the race
// detector, whose point is which accesses meet and not how often.
func rounds(k int) int {
	if raced {
		return (k + 4) / 5
	}
	return k
}

// meter counts calls.
type meter struct{ calls, running, most atomic.Int64 }

// enter counts a call that begins and returns its number, from 1 on.
func (m *meter) enter() int {
	call, running := m.calls.Add(1), m.running.Add(1)
	for most := m.most.Load(); running > most; most = m.most.Load() {
		if m.most.CompareAndSwap(most, running) {
			break
		}
	}
	return int(call)
}

func (m *meter) leave() { m.running.Add(-1) }

// tally is a source of 0 to size-1, at most chunk at a time if that is given.
// It counts, and tells where a reader is used against its rules.
type tally struct {
	t              *testing.T
	size, chunk    int
	handed         atomic.Int64 // items given
	opened, closed atomic.Int64
	asking         atomic.Int64 // room of the Next that is running
}

func (s *tally) stream() stage.Stream[int] {
	return stage.New(func(sc *stage.Scope) stage.Reader[int] {
		s.opened.Add(1)
		return &tallyReader{tally: s, scope: sc}
	})
}

// allClosed reports whether what was opened has been closed.
func (s *tally) allClosed() bool { return s.opened.Load() == s.closed.Load() }

type tallyReader struct {
	*tally
	scope *stage.Scope
	at    int
	busy  atomic.Bool
	shut  bool
}

func (r *tallyReader) Next(dst []stage.Try[int]) int {
	if r.busy.Swap(true) {
		r.t.Error("Next is called by two at once")
	}
	defer r.busy.Store(false)
	if len(dst) == 0 || r.shut {
		r.t.Errorf("Next is called with room %d, closed: %v", len(dst), r.shut)
	}
	if r.scope.Stopped() {
		return 0
	}
	r.asking.Store(int64(len(dst)))
	defer r.asking.Store(0)
	k := min(len(dst), r.size-r.at)
	if r.chunk > 0 {
		k = min(k, r.chunk)
	}
	for i := range k {
		dst[i] = stage.Try[int]{Value: r.at}
		r.at++
	}
	r.handed.Add(int64(k))
	return k
}

func (r *tallyReader) Close() {
	if r.busy.Swap(true) {
		r.t.Error("Close is called during Next")
	}
	defer r.busy.Store(false)
	if !r.shut {
		r.shut = true
		r.closed.Add(1)
	}
}

// counted passes in on and counts what is taken from it.
func counted(in stage.Stream[int], took *atomic.Int64) stage.Stream[int] {
	return stage.New(func(s *stage.Scope) stage.Reader[int] {
		return &countedReader{stage.Open(s, in), took}
	})
}

type countedReader struct {
	stage.Reader[int]
	took *atomic.Int64
}

func (r *countedReader) Next(dst []stage.Try[int]) int {
	k := r.Reader.Next(dst)
	r.took.Add(int64(k))
	return k
}

// seeds calls f with the seeds of a random test: rounds fresh ones, or the one
// in SLUICE_SEED. A failure names the one to replay.
func seeds(t *testing.T, times int, f func(t *testing.T, seed uint64)) {
	if s := os.Getenv("SLUICE_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		f(t, seed)
		return
	}
	base := uint64(time.Now().UnixNano())
	for i := range rounds(times) {
		seed := base + uint64(i)
		failed := true
		func() {
			defer func() {
				if failed || t.Failed() {
					t.Logf("replay with SLUICE_SEED=%d", seed)
				}
			}()
			f(t, seed)
			failed = false
		}()
		if t.Failed() {
			return
		}
	}
}

// raised returns what f panics with, or nil.
func raised(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// oops is an error with a number.
type oops int

func (e oops) Error() string { return fmt.Sprintf("oops %d", int(e)) }
