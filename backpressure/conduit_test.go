package backpressure_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/seed95b73fdc/sluice/backpressure"
)

// eachTransport runs f in a bubble for each transport: one table of promises for both.
func eachTransport(t *testing.T, f func(t *testing.T, of func(capacity int, hooks ...backpressure.Hooks) backpressure.Conduit[int])) {
	t.Helper()
	for _, transport := range []backpressure.Transport{backpressure.Ring, backpressure.Chan} {
		t.Run(transport.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f(t, func(capacity int, hooks ...backpressure.Hooks) backpressure.Conduit[int] {
					return backpressure.NewConduit[int](transport, capacity, hooks...)
				})
			})
		})
	}
}

type conduitOf = func(capacity int, hooks ...backpressure.Hooks) backpressure.Conduit[int]

func TestConduitMovesWhatThereIsAndSaysHowMuch(t *testing.T) {
	eachTransport(t, func(t *testing.T, of conduitOf) {
		c := of(4)
		if c.Cap() != 4 {
			t.Fatalf("Cap = %d", c.Cap())
		}
		if n, err := c.TrySend([]int{1, 2, 3, 4, 5, 6}); n != 4 || err != nil {
			t.Errorf("TrySend of 6 = %d, %v, want 4", n, err)
		}
		if n, err := c.TrySend([]int{5}); n != 0 || err != nil {
			t.Errorf("TrySend into a full one = %d, %v", n, err)
		}
		dst := make([]int, 3)
		if n, err := c.Recv(t.Context(), dst); n != 3 || err != nil || !slices.Equal(dst, []int{1, 2, 3}) {
			t.Errorf("Recv = %d, %v, %v", n, err, dst)
		}
		if c.Len() != 1 {
			t.Errorf("Len = %d", c.Len())
		}
		if n, err := c.TryRecv(dst); n != 1 || err != nil || dst[0] != 4 {
			t.Errorf("TryRecv = %d, %v, %v", n, err, dst)
		}
		if n, err := c.TryRecv(dst); n != 0 || err != nil {
			t.Errorf("TryRecv from an empty one = %d, %v", n, err)
		}
		if n, err := c.Recv(t.Context(), nil); n != 0 || err != nil {
			t.Errorf("Recv with no room = %d, %v", n, err)
		}
		if n, err := c.Send(t.Context(), nil); n != 0 || err != nil {
			t.Errorf("Send of nothing = %d, %v", n, err)
		}
	})
}

func TestConduitSendWaitsForRoomAndRecvForItems(t *testing.T) {
	eachTransport(t, func(t *testing.T, of conduitOf) {
		c := of(2)
		type result struct {
			n   int
			err error
		}
		sent := make(chan result, 1)
		go func() {
			n, err := c.Send(t.Context(), []int{1, 2, 3, 4, 5})
			sent <- result{n, err}
		}()
		synctest.Wait()
		if len(sent) > 0 || c.Len() != 2 {
			t.Fatalf("Send did not wait, Len = %d", c.Len())
		}
		var got []int
		dst := make([]int, 2)
		for len(got) < 5 {
			n, err := c.Recv(t.Context(), dst)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, dst[:n]...)
			synctest.Wait()
		}
		if r := <-sent; r.n != 5 || r.err != nil || !slices.Equal(got, []int{1, 2, 3, 4, 5}) {
			t.Errorf("Send = %d, %v, received %v", r.n, r.err, got)
		}
		received := make(chan result, 1)
		go func() {
			n, err := c.Recv(t.Context(), dst)
			received <- result{n, err}
		}()
		synctest.Wait()
		if len(received) > 0 {
			t.Fatal("Recv did not wait")
		}
		c.TrySend([]int{6})
		if r := <-received; r.n != 1 || r.err != nil || dst[0] != 6 {
			t.Errorf("Recv = %d, %v, %v", r.n, r.err, dst)
		}
	})
}

// Every waiter against every closer: Close, and a context with a cause or a deadline.
func TestConduitEveryWaiterIsReleasedByEveryCloser(t *testing.T) {
	cause := errors.New("cause")
	closers := map[string]struct {
		end  func(c backpressure.Conduit[int], cancel context.CancelCauseFunc)
		want error
	}{
		"Close":    {func(c backpressure.Conduit[int], _ context.CancelCauseFunc) { c.Close() }, backpressure.ErrClosed},
		"cancel":   {func(_ backpressure.Conduit[int], cancel context.CancelCauseFunc) { cancel(cause) }, cause},
		"deadline": {func(backpressure.Conduit[int], context.CancelCauseFunc) { time.Sleep(time.Hour) }, context.DeadlineExceeded},
	}
	for name, closer := range closers {
		t.Run(name, func(t *testing.T) {
			eachTransport(t, func(t *testing.T, of conduitOf) {
				deadline, stop := context.WithTimeout(t.Context(), time.Hour)
				defer stop()
				ctx, cancel := context.WithCancelCause(deadline)
				defer cancel(nil)
				full, empty := of(2), of(2)
				errs := make(chan error, 2)
				go func() {
					n, err := full.Send(ctx, []int{1, 2, 3})
					if n != 2 {
						t.Errorf("Send handed back %d of 3, want 1", 3-n)
					}
					errs <- err
				}()
				go func() {
					n, err := empty.Recv(ctx, make([]int, 1))
					if n != 0 {
						t.Errorf("Recv got %d", n)
					}
					errs <- err
				}()
				synctest.Wait()
				if len(errs) > 0 {
					t.Fatal("somebody did not wait")
				}
				start := time.Now()
				closer.end(full, cancel)
				closer.end(empty, cancel)
				for range 2 {
					if err := <-errs; !errors.Is(err, closer.want) {
						t.Errorf("%v, want %v", err, closer.want)
					}
				}
				if d := time.Since(start); d > 2*time.Hour {
					t.Errorf("released after %v", d)
				}
				dst := make([]int, 4) // nothing was lost
				if n, _ := full.TryRecv(dst); n != 2 || dst[0] != 1 || dst[1] != 2 {
					t.Errorf("%v is in it, want 1 and 2", dst[:n])
				}
			})
		})
	}
}

func TestConduitAfterCloseNothingGoesInAndAllComesOut(t *testing.T) {
	eachTransport(t, func(t *testing.T, of conduitOf) {
		c := of(4)
		c.TrySend([]int{1, 2})
		c.Close()
		c.Close()
		if !c.Closed() {
			t.Error("not Closed")
		}
		if n, err := c.TrySend([]int{3}); n != 0 || err != backpressure.ErrClosed {
			t.Errorf("TrySend = %d, %v", n, err)
		}
		if n, err := c.Send(t.Context(), []int{3}); n != 0 || err != backpressure.ErrClosed {
			t.Errorf("Send = %d, %v", n, err)
		}
		dst := make([]int, 1)
		for want := 1; want <= 2; want++ {
			if n, err := c.Recv(t.Context(), dst); n != 1 || err != nil || dst[0] != want {
				t.Errorf("Recv = %d, %v, %v, want %d", n, err, dst, want)
			}
		}
		if n, err := c.Recv(t.Context(), dst); n != 0 || err != backpressure.ErrClosed {
			t.Errorf("Recv at the end = %d, %v", n, err)
		}
		if n, err := c.TryRecv(dst); n != 0 || err != backpressure.ErrClosed {
			t.Errorf("TryRecv at the end = %d, %v", n, err)
		}
	})
}

func TestConduitWithADoneContextMovesNothingP6(t *testing.T) {
	eachTransport(t, func(t *testing.T, of conduitOf) {
		c := of(4)
		c.TrySend([]int{1})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if n, err := c.Send(ctx, []int{2}); n != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("Send = %d, %v", n, err)
		}
		if n, err := c.Recv(ctx, make([]int, 1)); n != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("Recv = %d, %v", n, err)
		}
		if c.Len() != 1 {
			t.Errorf("Len = %d", c.Len())
		}
	})
}

// The hooks tell one who waits in a way of his own everything there is to know.
func TestConduitHooksTellOfItemsRoomAndTheEnd(t *testing.T) {
	eachTransport(t, func(t *testing.T, of conduitOf) {
		items, room := make(chan struct{}, 1), make(chan struct{}, 1)
		tell := func(c chan struct{}) func() {
			return func() {
				select {
				case c <- struct{}{}:
				default:
				}
			}
		}
		c := of(2, backpressure.Hooks{Items: tell(items), Room: tell(room)})
		go func() {
			for next := 0; next < 100; {
				n, err := c.TrySend([]int{next})
				if err != nil {
					t.Error(err)
				}
				if next += n; n == 0 {
					<-room
				}
			}
			if n, err := c.Send(t.Context(), []int{100, 101, 102, 103, 104}); n != 5 || err != nil {
				t.Errorf("Send = %d, %v", n, err)
			}
			synctest.Wait()
			c.Close()
		}()
		dst := make([]int, 3)
		want := 0
		for {
			n, err := c.TryRecv(dst)
			if err == backpressure.ErrClosed {
				break
			}
			if n == 0 {
				<-items
			}
			for _, v := range dst[:n] {
				if v != want {
					t.Fatalf("got %d, want %d", v, want)
				}
				want++
			}
		}
		if want != 105 {
			t.Errorf("%d of 105 came", want)
		}
	})
}

func TestConduitBadArgumentsPanicP11(t *testing.T) {
	for _, transport := range []backpressure.Transport{backpressure.Ring, backpressure.Chan} {
		for _, capacity := range []int{-1, 0, math.MaxInt32, math.MaxInt} { // C53
			wantPanic(t, "backpressure.NewConduit: capacity is ", func() { backpressure.NewConduit[int](transport, capacity) })
		}
		wantPanic(t, "backpressure.NewConduit: 2 Hooks", func() {
			backpressure.NewConduit[int](transport, 1, backpressure.Hooks{}, backpressure.Hooks{})
		})
	}
	wantPanic(t, "backpressure.NewConduit: transport is Transport(2)", func() { backpressure.NewConduit[int](2, 1) })
}

// C75: waits that end in vain leave nothing behind, neither at the end that waits nor for
// the one that comes next.
func TestConduitTimedOutWaitersLeaveNothingBehindC75(t *testing.T) {
	eachTransport(t, func(t *testing.T, of conduitOf) {
		c := of(1)
		dst := make([]int, 1)
		timedOut := func(wait func(ctx context.Context) error) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			if err := wait(ctx); err != context.DeadlineExceeded {
				t.Fatal(err)
			}
		}
		for v := range 300 {
			timedOut(func(ctx context.Context) error { _, err := c.Recv(ctx, dst); return err })
			if n, err := c.TrySend([]int{v}); n != 1 || err != nil {
				t.Fatalf("TrySend = %d, %v", n, err)
			}
			timedOut(func(ctx context.Context) error { _, err := c.Send(ctx, []int{-1}); return err })
			if n, err := c.TryRecv(dst); n != 1 || err != nil || dst[0] != v {
				t.Fatalf("TryRecv = %d, %v, %v, want %d", n, err, dst, v)
			}
		}
		// A sender that waits beside a receiver that is served.
		c.TrySend([]int{1})
		sent := make(chan error, 1)
		go func() { _, err := c.Send(t.Context(), []int{2}); sent <- err }()
		synctest.Wait()
		for want := 1; want <= 2; want++ {
			if n, err := c.Recv(t.Context(), dst); n != 1 || err != nil || dst[0] != want {
				t.Errorf("Recv = %d, %v, %v, want %d", n, err, dst, want)
			}
		}
		if err := <-sent; err != nil || c.Len() != 0 {
			t.Errorf("Send: %v, Len = %d", err, c.Len())
		}
	})
}

// C50: what has been received is not kept alive, nor what has been handed back.
func TestConduitKeepsNothingAliveThatIsNotInIt(t *testing.T) {
	for _, transport := range []backpressure.Transport{backpressure.Ring, backpressure.Chan} {
		c := backpressure.NewConduit[*[1 << 16]byte](transport, 4)
		var seen []weak.Pointer[[1 << 16]byte]
		func() {
			for round := range 3 {
				var vs []*[1 << 16]byte
				for range 6 {
					v := new([1 << 16]byte)
					vs, seen = append(vs, v), append(seen, weak.Make(v))
				}
				if n, _ := c.TrySend(vs); n != 4 {
					t.Fatalf("%v: TrySend of 6 = %d", transport, n)
				}
				dst := make([]*[1 << 16]byte, 1+round)
				for n := 1; n > 0; {
					n, _ = c.TryRecv(dst)
				}
			}
			c.Close()
			v := new([1 << 16]byte)
			seen = append(seen, weak.Make(v))
			if n, err := c.TrySend([]*[1 << 16]byte{v}); n != 0 || err != backpressure.ErrClosed {
				t.Errorf("%v: TrySend = %d, %v", transport, n, err)
			}
		}()
		runtime.GC()
		runtime.GC()
		for i, w := range seen {
			if w.Value() != nil {
				t.Errorf("%v: value %d is kept alive", transport, i)
			}
		}
		runtime.KeepAlive(c)
	}
}
