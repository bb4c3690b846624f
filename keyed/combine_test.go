package keyed_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed95b73fdc/sluice/keyed"
	"github.com/seed95b73fdc/sluice/stage"
)

// parts is a value that knows what it was merged of. To put such together is
// associative, and not commutative.
type parts struct {
	key int
	of  []int
}

func (p parts) String() string { return fmt.Sprint(p.of) }

func together(acc, next parts) parts {
	acc.of = append(acc.of[:len(acc.of):len(acc.of)], next.of...)
	return acc
}

func combine(in stage.Stream[parts], size int, opts ...stage.Option) stage.Stream[parts] {
	return keyed.Combine(in, func(p parts) int { return p.key }, together, size, opts...)
}

// inWords puts values and errors into words.
func inWords[T any](in stage.Stream[T]) stage.Stream[string] {
	return stage.Transform("words", in, stage.Inline, stage.InOrder, stage.TryFunc(func(_ context.Context, item stage.Try[T], out *stage.Try[string]) bool {
		*out = stage.Try[string]{Value: fmt.Sprint(item.Value)}
		var p *stage.Panic
		if errors.As(item.Error, &p) {
			out.Value = fmt.Sprint(p.Value)
		} else if item.Error != nil {
			out.Value = item.Error.Error()
		}
		return true
	}))
}

// hands is a stream whose items are handed in one by one.
func hands() (in chan stage.Try[parts], send func(key, v int)) {
	in = make(chan stage.Try[parts])
	return in, func(key, v int) { in <- stage.Try[parts]{Value: parts{key, []int{v}}} }
}

// held runs a stream whose reader takes the first item and then waits until it is
// released.
func held(t *testing.T, out stage.Stream[parts]) (release func() (got []string, err error)) {
	let, over := make(chan struct{}), make(chan error)
	var got []string
	go func() {
		over <- stage.ForEach(t.Context(), inWords(out), 1, func(_ context.Context, word string) error {
			got = append(got, word)
			<-let
			return nil
		})
	}()
	synctest.Wait()
	return func() ([]string, error) {
		close(let)
		err := <-over
		return got, err
	}
}

func TestCombineMergesWhatWaitsInTheOrderOfEachKeyP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, send := hands()
		release := held(t, combine(stage.FromRill(in), 10))
		send(1, 0)
		synctest.Wait() // the reader has that one, and is busy with it
		for i, key := range []int{1, 2, 1, 1, 3, 2} {
			send(key, i+1)
		}
		in <- stage.Try[parts]{Error: errors.New("torn")}
		for i, key := range []int{2, 1, 2} {
			send(key, i+7)
		}
		close(in)
		synctest.Wait()
		got, err := release()
		want := []string{"[0]", "[1 3 4]", "[2 6]", "[5]", "torn", "[7 9]", "[8]"}
		if !slices.Equal(got, want) || err != nil {
			t.Errorf("got %v, %v; want %v", got, err, want)
		}
	})
}

func TestCombineHoldsNothingBackForWhatMayCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, send := hands()
		var got []string
		over := make(chan error)
		go func() {
			over <- stage.ForEach(t.Context(), combine(stage.FromRill(in), 10), 1, func(_ context.Context, p parts) error {
				got = append(got, p.String())
				return nil
			})
		}()
		for i := range 5 {
			send(1, i)
			synctest.Wait()
			if len(got) != i+1 {
				t.Fatalf("after %d items %v", i+1, got)
			}
		}
		close(in)
		if err := <-over; err != nil || len(got) != 5 {
			t.Error(got, err)
		}
	})
}

// When it is full it takes one more item at a time: what can be merged is, what
// cannot waits.
func TestCombineHoldsNoMoreThanItsSizeP4(t *testing.T) {
	for _, size := range []int{1, 2, 7, 300} {
		synctest.Test(t, func(t *testing.T) {
			in, send := hands()
			var taken atomic.Int64
			ctx, stats := stage.WithStats(t.Context())
			let := make(chan struct{})
			over := make(chan int)
			go func() {
				total := 0
				out := combine(stage.Tap(stage.FromRill(in), func(parts) { taken.Add(1) }), size)
				stage.ForEach(ctx, out, 1, func(_ context.Context, p parts) error {
					total += len(p.of)
					<-let
					return nil
				})
				over <- total
			}()
			send(-1, 0)
			synctest.Wait()
			for k := range size {
				send(k, 0)
			}
			const more = 1000
			for i := range more {
				send(i%size, i+1) // these are merged
			}
			send(size, 0) // and this one is taken and waits
			synctest.Wait()
			sent := atomic.Bool{}
			go func() { send(0, 0); sent.Store(true); close(in) }()
			synctest.Wait()
			want := 1 + size + more + 1
			s := stats.Stages()[0]
			if int(taken.Load()) != want || sent.Load() || s.InFlight != size || s.Window != size || s.Dropped != more {
				t.Errorf("size %d: %d taken, want %d; the next one was taken: %v; %+v", size, taken.Load(), want, sent.Load(), s)
			}
			close(let)
			if total := <-over; total != want+1 {
				t.Errorf("size %d: %d of %d values came out", size, total, want+1)
			}
			if s := stats.Stages()[0]; int(s.In) != want+1 || s.Out+s.Dropped != s.In || s.InFlight != 0 {
				t.Errorf("size %d: %+v", size, s)
			}
		})
	}
}

// Whatever the course of the run: each value comes out once, those of one key in
// order, and nothing passes an error.
func TestCombineLosesNothingWhateverTheCourseP2P8(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	merged := 0
	for range 60/raceScale + 10 {
		size, keys, items := 1+r.IntN(20), 1+r.IntN(30), 1+r.IntN(3000)
		fault := 1 + r.IntN(200)
		boom := errors.New("boom")
		x := r.Uint64()
		in := stage.Map(stage.FromSlice(numbers(items)), stage.Inline, func(_ context.Context, v int) (parts, error) {
			if v%fault == fault-1 {
				return parts{}, boom
			}
			return parts{int(mix(x, v) % uint64(keys)), []int{v}}, nil
		})
		if r.IntN(2) == 0 {
			in = stage.Buffer(in, 10, 0)
		}
		from, next, last := 0, map[int]int{}, map[int]int{}
		segment := 0
		check := func(p parts) {
			merged += len(p.of) - 1
			for _, v := range p.of {
				if v/fault != segment {
					t.Fatalf("seed %d: value %d came among those of part %d", seed, v, segment)
				}
				if int(mix(x, v)%uint64(keys)) != p.key || v < next[p.key] {
					t.Fatalf("seed %d: value %d of key %d came after %d", seed, v, p.key, last[p.key])
				}
				next[p.key], last[p.key] = v+1, v
				from++
			}
		}
		slow, n := r.IntN(30)+1, 0
		end := stage.TryFunc(func(_ context.Context, item stage.Try[parts], out *stage.Try[int]) bool {
			if item.Error != nil {
				segment++
				from++
			} else {
				check(item.Value)
			}
			if n++; n%slow == 0 {
				runtime.Gosched()
			}
			return false
		})
		err := stage.Discard(t.Context(), stage.Transform("check", combine(in, size), stage.Inline, stage.InOrder, end))
		if err != nil || from != items {
			t.Fatalf("seed %d: %d of %d, %v", seed, from, items, err)
		}
	}
	if merged == 0 {
		t.Error("nothing was ever merged")
	}
}

func mix(x uint64, v int) uint64 {
	x += uint64(v+1) * 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	return x ^ x>>27
}

// endless is a reader that always has something at hand, also when nobody wants it.
type endless struct{ next int }

func (e *endless) Next(dst []stage.Try[int]) int {
	for i := range dst {
		dst[i] = stage.Try[int]{Value: e.next}
		e.next++
	}
	return len(dst)
}

func (e *endless) Close() {}

// A source that never rests, of a key that is always merged, keeps no reader
// waiting, and does not outlive it.
func TestCombineServesItsReaderWhileItsInputNeverRestsP5(t *testing.T) {
	latest := func(_, next int) int { return next }
	out := keyed.Combine(stage.New(func(*stage.Scope) stage.Reader[int] { return &endless{} }), func(int) int { return 0 }, latest, 4)
	last, came := -1, 0
	for v, err := range stage.Take(out, 100).Seq(t.Context()) {
		if err != nil || v <= last {
			t.Fatalf("%v came after %d, %v", v, last, err)
		}
		last = v
		came++
	}
	if came != 100 {
		t.Errorf("%d values came", came)
	}
}

// Between two lots of its input a Combine serves the reader that waits, although the
// next lot is there at once: here each one takes until it is told to go on.
func TestCombineServesItsReaderBetweenTwoLots(t *testing.T) {
	before := runtime.GOMAXPROCS(1) // so that the pump goes on before the reader comes
	defer runtime.GOMAXPROCS(before)
	synctest.Test(t, func(t *testing.T) {
		step := make(chan struct{})
		latest := func(_, next int) int { <-step; return next }
		out := keyed.Combine(stage.New(func(*stage.Scope) stage.Reader[int] { return &endless{} }), func(int) int { return 0 }, latest, 1)
		came, over := 0, make(chan error)
		go func() {
			over <- stage.ForEach(t.Context(), stage.Take(out, 20), 1, func(context.Context, int) error { came++; return nil })
		}()
		synctest.Wait()
		for came < 20 {
			was := came
			step <- struct{}{}
			synctest.Wait()
			if came == was {
				t.Errorf("after %d values the reader got none for a whole lot", came)
			}
		}
		close(step)
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
}

// late is a reader whose items come when the run has been cancelled.
type late struct {
	scope *stage.Scope
	items []stage.Try[int]
}

func (l *late) Next(dst []stage.Try[int]) int {
	<-l.scope.Context().Done()
	k := copy(dst, l.items)
	l.items = l.items[k:]
	return k
}

func (l *late) Close() {}

func TestCombineAndThrottleCallNothingAfterTheEndP6(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		key := func(int) int { calls++; return 0 }
		in := stage.New(func(s *stage.Scope) stage.Reader[int] {
			return &late{s, []stage.Try[int]{{Value: 1}, {Value: 1}, {Value: 1}}}
		})
		for name, out := range map[string]stage.Stream[int]{
			"combine":  keyed.Combine(in, key, func(a, b int) int { calls++; return a + b }, 2),
			"throttle": keyed.Throttle(in, key, func(int) *rate.Limiter { calls++; return nil }),
		} {
			ctx, cancel := context.WithCancel(t.Context())
			over := make(chan error)
			go func() { over <- stage.Discard(ctx, out) }()
			synctest.Wait()
			cancel()
			if err := <-over; err != context.Canceled || calls != 0 {
				t.Errorf("%s: %v, %d calls", name, err, calls)
			}
		}
	})
}

// C125: 90 of 100 values a second are of one key, whose owner takes a second for
// each. The last one has come after 100 seconds, and then it is done with all but what
// the window holds; without a Combine it would be at the hundredth.
func TestCombineRelievesTheOwnerOfAHotKeyC125(t *testing.T) {
	type booking struct{ account, amount int }
	const items, window, size = 10_000, 20, 50
	synctest.Test(t, func(t *testing.T) {
		in := make([]booking, items)
		for i := range in {
			in[i] = booking{0, 1}
			if i%10 == 0 {
				in[i].account = 1 + i%7
			}
		}
		paced := stage.Tap(stage.FromSlice(in), func(booking) { time.Sleep(10 * time.Millisecond) })
		account := func(b booking) int { return b.account }
		calls := 0
		start := time.Now()
		out := keyed.Combine(paced, account, func(acc, next booking) booking { acc.amount += next.amount; return acc }, size)
		sums, err := keyed.Reduce(t.Context(), out, 2, account, func() int { return 0 },
			func(_ context.Context, sum *int, b booking) error {
				if b.account == 0 {
					calls++
					time.Sleep(time.Second)
				}
				*sum += b.amount
				return nil
			}, stage.Window(window), keyed.PerKey())
		if err != nil || sums[0] != items/10*9 || len(sums) != 8 {
			t.Fatal(sums, err)
		}
		if took := time.Since(start); calls > 100+window+1 || took > time.Duration(calls+1)*time.Second {
			t.Errorf("%d calls for %d values, %v", calls, sums[0], took)
		}
	})
}

func TestCombineStopsWithItsRunP6P7(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		in, send := hands()
		over := make(chan error)
		adds := 0
		out := keyed.Combine(stage.FromRill(in), func(p parts) int { return p.key }, func(a, b parts) parts { adds++; return together(a, b) }, 3)
		go func() { over <- stage.Discard(ctx, out) }()
		send(1, 1)
		synctest.Wait()
		cancel(stop)
		if err := <-over; err != stop || adds != 0 {
			t.Errorf("%v, %d calls", err, adds)
		}
		// While the pump waits for room, and for its input.
		for _, items := range []int{1, 100} {
			in := make([]parts, items)
			for i := range in {
				in[i] = parts{i, []int{i}}
			}
			src := stage.Concat(stage.FromSlice(in), stage.FromChan(make(chan parts)))
			if p, ok, err := stage.First(t.Context(), combine(src, 3)); !ok || err != nil || p.of[0] != 0 {
				t.Error(p, ok, err)
			}
		}
	})
}

func TestCombinePanicsEndTheRunOrAreTheItemsErrorP9(t *testing.T) {
	key := func(v int) int {
		if v == 13 {
			panic("no key")
		}
		return v % 2
	}
	sum := func(acc, next int) int {
		if next == 6 {
			panic("no sum")
		}
		return acc + next
	}
	run := func(opts ...stage.Option) (got []string, err error) {
		synctest.Test(t, func(t *testing.T) {
			in := make(chan int)
			let := make(chan struct{})
			over := make(chan error)
			go func() {
				defer func() {
					if v := recover(); v != nil {
						p := v.(*stage.Panic)
						over <- fmt.Errorf("raised in %s: %v", p.Stage, p.Value)
					}
				}()
				out := inWords(keyed.Combine(stage.FromChan(in), key, sum, 10, opts...))
				over <- stage.ForEach(t.Context(), out, 1, func(_ context.Context, word string) error {
					got = append(got, word)
					<-let
					return nil
				})
			}()
			in <- 0
			synctest.Wait()
			go func() {
				for _, v := range []int{2, 4, 6, 8, 10, 13, 1, 3} {
					select {
					case in <- v:
					case <-t.Context().Done():
						return
					}
				}
				close(in)
			}()
			synctest.Wait()
			close(let)
			err = <-over
		})
		return got, err
	}
	if _, err := run(); err == nil || err.Error() != "raised in combine#1: no sum" {
		t.Errorf("got %v", err)
	}
	got, err := run(stage.RecoverPanics())
	if want := []string{"0", "6", "no sum", "18", "no key", "4"}; !slices.Equal(got, want) || err != nil {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	exits := keyed.Combine(stage.Of(1, 1), func(int) int { runtime.Goexit(); return 0 }, sum, 1)
	if err := stage.Discard(t.Context(), exits); !errors.Is(err, stage.ErrGoexit) {
		t.Errorf("got %v", err)
	}
}

// Also keys that are not equal to themselves take no more and more room.
func TestCombineAllocatesNothingPerItemP10(t *testing.T) {
	const items = 40_000 / raceScale
	for name, key := range map[string]func(int) float64{
		"equal keys":     func(v int) float64 { return float64(v % 100) },
		"new keys":       func(v int) float64 { return float64(v) },
		"keys of no one": func(int) float64 { return math.NaN() },
	} {
		out := keyed.Combine(stage.FromSlice(numbers(items)), key, func(acc, next int) int { return acc + next }, 50)
		total := 0
		allocs := testing.AllocsPerRun(1, func() {
			if err := stage.ForEach(t.Context(), out, 1, func(_ context.Context, v int) error { total += v; return nil }); err != nil {
				t.Fatal(err)
			}
		})
		if allocs > 300 || total != items*(items-1) { // two runs
			t.Errorf("%s: %v allocations for %d items, sum %d", name, allocs, items, total)
		}
	}
}

// Two branches of a Split, the first of which a Combine keeps on merging: the run
// can never move again, and says so.
func TestCombineIsSeenWhenTheRunWaitsForItself(t *testing.T) {
	var in []parts
	for i := range 1000 {
		in = append(in, parts{i, []int{i}})
	}
	yes, no := stage.Split(stage.FromSlice(in), func(p parts) bool { return p.key%2 == 0 })
	err := stage.Discard(t.Context(), stage.Concat(combine(yes, 3), combine(no, 3)))
	if !errors.Is(err, stage.ErrStalled) || !strings.Contains(err.Error(), "combine#") {
		t.Errorf("got %v", err)
	}
}

func TestCombineRunsManyTimesAtOnce(t *testing.T) {
	in := make([]parts, 3000)
	for i := range in {
		in[i] = parts{i % 11, []int{i}}
	}
	out := combine(stage.FromSlice(in), 5)
	over := make(chan bool)
	for range 4 {
		go func() {
			got := map[int][]int{}
			for p := range out.Seq(t.Context()) {
				got[p.key] = append(got[p.key], p.of...)
			}
			want := map[int][]int{}
			for i := range in {
				want[i%11] = append(want[i%11], i)
			}
			over <- reflect.DeepEqual(got, want)
		}()
	}
	for range 4 {
		if !<-over {
			t.Error("a run has lost something, or its order")
		}
	}
}

func BenchmarkCombine(b *testing.B) {
	for _, keys := range []int{1, 100, 100_000} {
		b.Run(fmt.Sprint(keys, "keys"), func(b *testing.B) {
			in := numbers(b.N)
			out := keyed.Combine(stage.FromSlice(in), func(v int) int { return v % keys }, func(acc, next int) int { return acc + next }, 1024)
			b.ReportAllocs()
			b.ResetTimer()
			stage.ForEach(context.Background(), out, 1, func(context.Context, int) error { return nil })
		})
	}
}
