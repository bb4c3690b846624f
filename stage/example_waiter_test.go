package stage_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/seed95b73fdc/sluice/stage"
)

// Ahead reads one item ahead: while downstream is busy with one, the next one is
// being fetched. It is an operator with a goroutine of its own, the fetcher,
// written with what package stage exports.
func Ahead[T any](in stage.Stream[T]) stage.Stream[T] {
	// Opening: nothing blocks and nothing is started yet. The input is opened in
	// a child of the scope, so that Close can cancel it while the fetcher waits in
	// its Next. The name is taken after the input has been opened.
	return stage.New(func(s *stage.Scope) stage.Reader[T] {
		a := &ahead[T]{sub: s.Child(), over: make(chan struct{})}
		a.up = stage.Open(a.sub, in)
		a.name = s.Label("", "ahead")
		// A Waiter is for one goroutine. That of the reader is released when the
		// scope of the reader ends, that of the fetcher when the child does.
		a.item = s.NewWaiter(a.name, func() string { return "its reader waits for an item" })
		a.room = a.sub.NewWaiter(a.name, func() string { return "holds an item that its reader does not take" })
		s.Report(a.stats)
		return a
	})
}

type ahead[T any] struct {
	sub   *stage.Scope
	up    stage.Reader[T]
	name  string
	over  chan struct{} // closed when the fetcher has returned
	item  *stage.Waiter // the reader's: for an item
	room  *stage.Waiter // the fetcher's: for the reader to have taken it
	begun bool

	mu    sync.Mutex // never held while somebody waits
	held  stage.Try[T]
	full  bool // held is an item
	ended bool
	in    uint64
	out   uint64
}

// Next gives out the item that was fetched. It is called by one goroutine at a
// time.
func (a *ahead[T]) Next(dst []stage.Try[T]) int {
	if !a.begun {
		if a.sub.Stopped() {
			return 0
		}
		a.begun = true
		a.sub.Go(a.name, a.fetch) // here, and not when opened
	}
	for {
		a.mu.Lock()
		if a.full {
			dst[0], a.held, a.full = a.held, stage.Try[T]{}, false
			a.out++
			a.mu.Unlock()
			a.room.Wake()
			return 1
		}
		ended := a.ended
		// Waiting: Arm before the lock is given up, so that the fetcher cannot
		// bring an item unnoticed; then Park. It is false when the run is
		// cancelled, and then there is nothing more to come.
		if !ended {
			a.item.Arm()
		}
		a.mu.Unlock()
		if ended || !a.item.Park() {
			return 0
		}
	}
}

// fetch is the goroutine. It ends with the input, or when the child of the scope
// is cancelled: then the input's Next returns 0, and Park false.
func (a *ahead[T]) fetch() {
	defer close(a.over) // deferred, so that Close returns also after a panic
	var buf [1]stage.Try[T]
	for a.up.Next(buf[:]) > 0 {
		a.mu.Lock()
		a.held, a.full = buf[0], true
		a.in++
		a.mu.Unlock()
		a.item.Wake()
		if !a.taken() {
			return
		}
	}
	a.mu.Lock()
	a.ended = true
	a.mu.Unlock()
	a.item.Wake()
}

// taken blocks until the item has been taken: only then is the next one fetched,
// so no more than one is held. It is false when nobody will take it.
func (a *ahead[T]) taken() bool {
	for {
		a.mu.Lock()
		full := a.full
		if full {
			a.room.Arm()
		}
		a.mu.Unlock()
		if !full {
			return true
		}
		if !a.room.Park() {
			return false
		}
	}
}

// Close ends the fetcher, waits for it, and then closes what it has read: in that
// order, since a Reader has one user at a time.
func (a *ahead[T]) Close() {
	a.sub.Cancel(stage.ErrClosed)
	if a.begun {
		<-a.over
	}
	a.up.Close()
	a.item.Free()
	a.room.Free()
	a.mu.Lock()
	a.held, a.full, a.ended = stage.Try[T]{}, false, true
	a.mu.Unlock()
}

// stats is what the operator reports. It may be called by anyone at any time.
func (a *ahead[T]) stats() stage.StageStats {
	a.mu.Lock()
	defer a.mu.Unlock()
	return stage.StageStats{Name: a.name, N: 1, In: a.in, Out: a.out, InFlight: int(a.in - a.out), Window: 1}
}

// While the first block is written, the second one is being read already: each
// write waits here until the next read has begun.
func ExampleWaiter() {
	begun := []chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{})}
	read := func(_ context.Context, block int) (int, error) {
		close(begun[block])
		return block, nil
	}
	blocks := Ahead(stage.Map(stage.Of(0, 1, 2), stage.Inline, read))
	err := stage.ForEach(context.Background(), blocks, 1, func(_ context.Context, block int) error {
		if block < 2 {
			<-begun[block+1]
			fmt.Println("block", block+1, "is being read while block", block, "is written")
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// block 1 is being read while block 0 is written
	// block 2 is being read while block 1 is written
	// <nil>
}

// The goroutine of an operator belongs to the run. What panics in it comes out
// where the terminal was called, and a loop that is left ends it.
func ExampleScope_Go() {
	func() {
		defer func() {
			p := recover().(*stage.Panic)
			fmt.Println(p.Stage+":", p.Value)
		}()
		torn := stage.Tap(stage.Of(1), func(int) { panic("page is torn") })
		stage.Discard(context.Background(), Ahead(torn))
	}()
	endless := stage.Generate(func(_ context.Context, yield func(int) bool) error {
		defer fmt.Println("source closed")
		for v := 1; yield(v); v++ {
		}
		return nil
	})
	for v := range Ahead(endless).Seq(context.Background()) {
		fmt.Println(v)
		break
	}
	fmt.Println("nothing runs any more")
	// Output:
	// tap#1: page is torn
	// 1
	// source closed
	// nothing runs any more
}

// An operator that waits in Waiters is part of the search for stalls: the run
// ends, and says who waits for whom.
func ExampleScope_NewWaiter() {
	yes, no := stage.Split(stage.Of(1, 3, 5, 7), func(v int) bool { return v%2 == 0 }, stage.Window(1))
	_, err := stage.Count(context.Background(), stage.Concat(Ahead(yes), Ahead(no)))
	fmt.Println(errors.Is(err, stage.ErrStalled))
	// Output: true
}

// The operator stands in the Stats under its name.
func ExampleScope_Report() {
	ctx, stats := stage.WithStats(context.Background())
	_, err := stage.Count(ctx, Ahead(stage.Of("a", "b", "c")))
	for _, s := range stats.Stages() {
		fmt.Println(s.Name, s.In, s.Out, err)
	}
	// Output: ahead#1 3 3 <nil>
}

// A budget that belongs to the run rather than to an item: when it is used up,
// all of the run ends, also what does not pass here.
func ExampleScope_Fail() {
	errBudget := errors.New("budget used up")
	spend := func(in stage.Stream[int], budget int) stage.Stream[int] {
		return stage.New(func(s *stage.Scope) stage.Reader[int] {
			left := budget
			return stage.Open(s, stage.Tap(in, func(cost int) {
				if left -= cost; left < 0 {
					s.Fail(errBudget)
				}
			}))
		})
	}
	fmt.Println(stage.Count(context.Background(), spend(stage.Of(3, 4), 10)))
	fmt.Println(stage.Count(context.Background(), spend(stage.Of(3, 4, 5), 10)))
	// Output:
	// 2 <nil>
	// 0 budget used up
}
