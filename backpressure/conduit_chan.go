package backpressure

import (
	"context"
	"sync/atomic"
)

// channel is a Go channel that can be closed while others send. Invariants:
//
//   - inside counts the sends that are under way, in twos; its lowest bit says that the
//     conduit is closed. Nobody begins to send after that.
//   - done is closed by Close: it releases those who wait to send.
//   - The last one out, be it Close or the last sender, closes items: after done, and
//     when nobody is inside. So nobody sends on a closed channel, and who receives
//     learns of the end when everything that was sent has been received.
//   - Hooks are called after each step and before each wait, so that nobody waits for
//     somebody who has not been told.
type channel[T any] struct {
	items  chan T
	done   chan struct{}
	inside atomic.Int64
	hooks  Hooks
}

const (
	oneInside int64 = 2
	shut      int64 = 1
)

func newChannel[T any](capacity int, h Hooks) *channel[T] {
	return &channel[T]{items: make(chan T, capacity), done: make(chan struct{}), hooks: h}
}

// enter begins a send, and reports false if the conduit is closed.
func (c *channel[T]) enter() bool {
	for {
		n := c.inside.Load()
		if n&shut != 0 {
			return false
		}
		if c.inside.CompareAndSwap(n, n+oneInside) {
			pause()
			return true
		}
	}
}

// leave ends a send.
func (c *channel[T]) leave() {
	pause()
	if c.inside.Add(-oneInside) == shut {
		close(c.items)
		c.hooks.Items()
	}
}

func (c *channel[T]) TrySend(items []T) (int, error) {
	if !c.enter() {
		return 0, ErrClosed
	}
	n, err := c.put(items), error(nil)
	if n == 0 && len(items) > 0 && c.Closed() {
		err = ErrClosed // meanwhile; there may be room
	}
	c.leave()
	return n, err
}

// put sends what there is room for, unless the conduit is closed.
func (c *channel[T]) put(items []T) (n int) {
	for n < len(items) && c.inside.Load()&shut == 0 {
		select {
		case c.items <- items[n]:
			n++
			continue
		default:
		}
		break
	}
	if n > 0 {
		c.hooks.Items()
	}
	return n
}

func (c *channel[T]) Send(ctx context.Context, items []T) (int, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if !c.enter() {
		return 0, ErrClosed
	}
	sent, err := 0, error(nil)
	for err == nil {
		if sent += c.put(items[sent:]); sent == len(items) {
			break
		}
		select {
		case c.items <- items[sent]:
			sent++
			c.hooks.Items()
		case <-c.done:
			err = ErrClosed
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	c.leave()
	return sent, err
}

func (c *channel[T]) TryRecv(dst []T) (int, error) {
	n, open := 0, true
	for open && n < len(dst) {
		select {
		case dst[n], open = <-c.items:
			if open {
				n++
			}
			continue
		default:
		}
		break
	}
	if n > 0 {
		c.hooks.Room()
		return n, nil
	}
	if !open {
		return 0, ErrClosed
	}
	return 0, nil
}

func (c *channel[T]) Recv(ctx context.Context, dst []T) (int, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	n, err := c.TryRecv(dst)
	if n > 0 || err != nil || len(dst) == 0 {
		return n, err
	}
	select {
	case v, ok := <-c.items:
		if !ok {
			return 0, ErrClosed
		}
		dst[0] = v
		c.hooks.Room()
		n, _ := c.TryRecv(dst[1:]) // if it is closed, that is for the next call
		return n + 1, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

func (c *channel[T]) Close() {
	n := c.inside.Or(shut)
	if n&shut != 0 {
		return
	}
	pause()
	close(c.done)
	if n == 0 {
		close(c.items)
	}
	c.hooks.Items()
	c.hooks.Room()
}

func (c *channel[T]) Closed() bool { return c.inside.Load()&shut != 0 }
func (c *channel[T]) Len() int     { return len(c.items) }
func (c *channel[T]) Cap() int     { return cap(c.items) }
