package stage_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed95b73fdc/sluice/stage"
)

// Pairwise emits each value together with the one before it. It is an operator
// written with what package stage exports, and takes no goroutine: a Reader
// around a Reader, run by whoever reads it.
func Pairwise[T any](in stage.Stream[T]) stage.Stream[stage.Pair[T, T]] {
	// Opening: this function is called once for each run, before any item moves.
	// It opens what it reads and makes the state of the run. It must not block.
	return stage.New(func(s *stage.Scope) stage.Reader[stage.Pair[T, T]] {
		return &pairwise[T]{up: stage.Open(s, in)}
	})
}

type pairwise[T any] struct {
	up   stage.Reader[T]
	buf  []stage.Try[T]
	last T
	some bool // there is a last one
}

// Next asks upstream for as many items as there is room for, since each makes
// one item at most. Upstream blocks while it has none, and returns 0 when it has
// ended or the run is cancelled: so nothing has to be done for that here.
func (p *pairwise[T]) Next(dst []stage.Try[stage.Pair[T, T]]) int {
	if len(p.buf) < len(dst) {
		p.buf = make([]stage.Try[T], len(dst))
	}
	for {
		got := p.up.Next(p.buf[:len(dst)])
		if got == 0 {
			return 0
		}
		k := 0
		for _, item := range p.buf[:got] {
			switch {
			case item.Error != nil: // goes on in its place, and is no reading
				dst[k] = stage.Try[stage.Pair[T, T]]{Error: item.Error}
				k++
			case p.some:
				dst[k] = stage.Try[stage.Pair[T, T]]{Value: stage.Pair[T, T]{First: p.last, Second: item.Value}}
				k++
				p.last = item.Value
			default:
				p.last, p.some = item.Value, true
			}
		}
		clear(p.buf[:got]) // keeps nothing alive that has gone on
		if k > 0 {
			return k // 0 would say that this is the end
		}
	}
}

// Close ends what feeds the reader. Whoever reads it calls Close, whether or not
// the end was reached.
func (p *pairwise[T]) Close() { p.up.Close() }

// An operator of one's own, Pairwise, tells how much was used between two
// readings of a meter.
func ExampleNew() {
	readings := stage.Of(100, 130, 190, 200)
	used := stage.Map(Pairwise(readings), stage.Inline, func(_ context.Context, p stage.Pair[int, int]) (int, error) {
		return p.Second - p.First, nil
	})
	fmt.Println(stage.Collect(context.Background(), used))
	// Output: [30 60 10] <nil>
}

// Open makes a stream part of the run that opens it. An operator without state
// of its own need do nothing else: this one chooses its input when it is run.
func ExampleOpen() {
	primary, spare := stage.Of("from the primary"), stage.Of("from the spare")
	down := true
	source := stage.New(func(s *stage.Scope) stage.Reader[string] {
		if down {
			return stage.Open(s, spare)
		}
		return stage.Open(s, primary)
	})
	fmt.Println(stage.Collect(context.Background(), source))
	down = false
	fmt.Println(stage.Collect(context.Background(), source))
	// Output:
	// [from the spare] <nil>
	// [from the primary] <nil>
}

// pages is a source of one's own: it reads a list that a server gives out page by
// page.
type pages struct {
	scope *stage.Scope
	fetch func(ctx context.Context, page int) (names []string, err error)
	page  int
	rest  []string
	ended bool
}

func (p *pages) Next(dst []stage.Try[string]) int {
	for len(p.rest) == 0 {
		// Stopped before each call of somebody else's function; Context for it.
		if p.ended || p.scope.Stopped() {
			return 0
		}
		var err error
		p.page++
		if p.rest, err = p.fetch(p.scope.Context(), p.page); err != nil {
			p.ended = true
			dst[0] = stage.Try[string]{Error: err}
			return 1
		}
		p.ended = len(p.rest) == 0 // an empty page is the last one
	}
	k := min(len(dst), len(p.rest))
	for i, name := range p.rest[:k] {
		dst[i] = stage.Try[string]{Value: name}
	}
	p.rest = p.rest[k:]
	return k
}

func (p *pages) Close() { p.rest, p.ended = nil, true }

// Pages are fetched as they are asked for, and no more of them than that.
func ExampleReader() {
	fetch := func(_ context.Context, page int) ([]string, error) {
		fmt.Println("fetch page", page)
		return [][]string{{"ana", "bob"}, {"cleo"}, nil}[page-1], nil
	}
	users := stage.New(func(s *stage.Scope) stage.Reader[string] { return &pages{scope: s, fetch: fetch} })
	fmt.Println(stage.Collect(context.Background(), users))
	fmt.Println(stage.First(context.Background(), users))
	// Output:
	// fetch page 1
	// fetch page 2
	// fetch page 3
	// [ana bob cleo] <nil>
	// fetch page 1
	// ana true <nil>
}

// through passes items on up to the value for which last is true, that one
// included.
type through struct {
	sub   *stage.Scope // upstream's
	up    stage.Reader[string]
	last  func(string) bool
	ended bool
}

func (r *through) Next(dst []stage.Try[string]) int {
	if r.ended {
		return 0
	}
	k := r.up.Next(dst[:1]) // one by one: what comes after the last one is not asked for
	if k == 1 && dst[0].Error == nil && !r.sub.Stopped() && r.last(dst[0].Value) {
		r.ended = true
		r.sub.Cancel(stage.ErrClosed) // upstream stops now; Close waits for that
	}
	return k
}

func (r *through) Close() {
	r.sub.Cancel(stage.ErrClosed)
	r.up.Close()
}

// An operator that ends before its input opens that in a scope of its own, and
// cancels it: so upstream learns at once that no more is needed.
func ExampleScope_Child() {
	session := stage.Generate(func(ctx context.Context, yield func(string) bool) error {
		for _, line := range []string{"hello", "bye", "never read"} {
			if !yield(line) {
				fmt.Println("hang up:", context.Cause(ctx))
				break
			}
		}
		return nil
	})
	talk := stage.New(func(s *stage.Scope) stage.Reader[string] {
		r := &through{sub: s.Child(), last: func(line string) bool { return line == "bye" }}
		r.up = stage.Open(r.sub, session)
		return r
	})
	got, err := stage.Collect(context.Background(), talk)
	fmt.Println(got, err)
	// Output:
	// hang up: stage: stage closed
	// [hello bye] <nil>
}

// numbered gives the values of several streams of one run consecutive numbers.
// What they have in common is the counter of the run.
func numbered(ins ...stage.Stream[string]) []stage.Stream[string] {
	key := new(byte) // the identity of what is shared
	var outs []stage.Stream[string]
	for _, in := range ins {
		outs = append(outs, stage.New(func(s *stage.Scope) stage.Reader[string] {
			last := stage.Shared(s, key,
				func(*int) bool { return true }, // anybody may take part
				func(*stage.Scope) *int { return new(int) })
			return stage.Open(s, stage.Map(in, stage.Inline, func(_ context.Context, v string) (string, error) {
				*last++
				return fmt.Sprintf("%d: %s", *last, v), nil
			}))
		}))
	}
	return outs
}

// Each run has a counter of its own, so it counts from 1 again.
func ExampleShared() {
	invoices := numbered(stage.Of("ana", "bob"), stage.Of("cleo"))
	for range 2 {
		fmt.Println(stage.Collect(context.Background(), stage.Concat(invoices...)))
	}
	// Output:
	// [1: ana 2: bob 3: cleo] <nil>
	// [1: ana 2: bob 3: cleo] <nil>
}

// Retry is Map with several attempts, and an example of an operator that is a
// line around Transform: it has all that Map has, the options included.
func Retry[A, B any](in stage.Stream[A], n, attempts int, f func(context.Context, A) (B, error), opts ...stage.Option) stage.Stream[B] {
	stage.CheckN("example.Retry", n, opts...)
	stage.CheckSize("example.Retry", "attempts", attempts, 1)
	stage.CheckFunc("example.Retry", "f", f == nil)
	again := func(ctx context.Context, a A) (b B, err error) {
		for range attempts {
			if b, err = f(ctx, a); err == nil || ctx.Err() != nil {
				break
			}
		}
		return b, err
	}
	return stage.Transform("retry", in, n, stage.InOrder, stage.MapFunc("example.Retry", again), opts...)
}

func ExampleTransform() {
	calls := 0
	flaky := func(_ context.Context, id int) (string, error) {
		if calls++; calls%2 == 1 {
			return "", errors.New("connection reset")
		}
		return fmt.Sprint("user-", id), nil
	}
	users := Retry(stage.Of(1, 2, 3), 1, 3, flaky, stage.Name("lookup"))
	fmt.Println(stage.Collect(context.Background(), users))
	fmt.Println(calls, "calls")
	// Output:
	// [user-1 user-2 user-3] <nil>
	// 6 calls
}

// The bad arguments of one's own operators panic in the words of the library.
func ExampleCheckSize() {
	defer func() { fmt.Println(recover()) }()
	Retry(stage.Of(1), 1, 0, func(_ context.Context, v int) (int, error) { return v, nil })
	// Output: example.Retry: attempts is 0, want at least 1
}

// A TryFunc sees errors too: here they become lines of a report, among those of
// what went well, and the run goes on.
func ExampleTryFunc() {
	report := stage.TryFunc(func(_ context.Context, item stage.Try[int], out *stage.Try[string]) bool {
		line := fmt.Sprintf("ok: %d bytes", item.Value)
		if item.Error != nil {
			line = "failed: " + item.Error.Error()
		}
		*out = stage.Try[string]{Value: line}
		return true
	})
	copied := stage.Concat(stage.Of(10), stage.Failed[int](errors.New("no space")), stage.Of(30))
	for line := range stage.Transform("report", copied, 2, stage.InOrder, report).Seq(context.Background()) {
		fmt.Println(line)
	}
	// Output:
	// ok: 10 bytes
	// failed: no space
	// ok: 30 bytes
}

// limited is an operator with options: it reads what they come to.
func limited(in stage.Stream[int], opts ...stage.Option) stage.Stream[int] {
	c := stage.Configure("example.limited", opts...)
	return stage.New(func(s *stage.Scope) stage.Reader[int] {
		up := stage.Open(s, in)
		fmt.Println("this is", s.Label(c.Name, "limited"), "with window", c.Window)
		return up
	})
}

func ExampleConfigure() {
	in := limited(limited(stage.Of(1)), stage.Name("second"), stage.Window(3))
	stage.Discard(context.Background(), in)
	// Output:
	// this is limited#1 with window 0
	// this is second with window 3
}

// Reject is the opposite of Filter, and keeps order. MapFunc, FilterMapFunc and
// CatchFunc serve operators of their kinds in the same way.
func Reject[A any](in stage.Stream[A], n int, f func(context.Context, A) (bool, error), opts ...stage.Option) stage.Stream[A] {
	stage.CheckFunc("example.Reject", "f", f == nil)
	not := func(ctx context.Context, a A) (bool, error) {
		bad, err := f(ctx, a)
		return !bad, err
	}
	return stage.Transform("reject", in, n, stage.InOrder, stage.FilterFunc("example.Reject", not), opts...)
}

func ExampleFilterFunc() {
	spam := func(_ context.Context, mail string) (bool, error) { return mail == "win now", nil }
	inbox := Reject(stage.Of("hi", "win now", "minutes"), 4, spam)
	fmt.Println(stage.Collect(context.Background(), inbox))
	// Output: [hi minutes] <nil>
}

// The items of folders, folder by folder, while two folders are being listed.
func ExampleFlatMapOrder() {
	list := func(_ context.Context, folder string) stage.Stream[string] {
		return stage.Of(folder+"/1", folder+"/2")
	}
	files := stage.FlatMapOrder("example.List", stage.Of("a", "b"), 2, stage.InOrder, list)
	fmt.Println(stage.Collect(context.Background(), files))
	// Output: [a/1 a/2 b/1 b/2] <nil>
}
