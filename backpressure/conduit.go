package backpressure

import (
	"context"
	"fmt"
)

// Transport says what a Conduit is made of.
type Transport uint8

const (
	// Ring is a ring buffer between one sender and one receiver.
	Ring Transport = iota
	// Chan is a Go channel: any number of senders and receivers.
	Chan

	transports // how many there are
)

// Valid reports whether t is one of the constants.
func (t Transport) Valid() bool { return t < transports }

func (t Transport) String() string {
	switch t {
	case Ring:
		return "Ring"
	case Chan:
		return "Chan"
	}
	return fmt.Sprintf("Transport(%d)", uint8(t))
}

// Conduit is a bounded queue that moves chunks: a send puts in as much as there is room
// for at a time, a receive takes out what is there. Items come out in the order they
// went in.
//
// Of a Ring, one goroutine at a time may send and one may receive; of a Chan, any
// number. Close, Closed, Len and Cap are for everyone.
type Conduit[T any] interface {
	// Send puts all of items in, and blocks until they are, or until ctx is done or the
	// conduit is closed. It returns how many it has put in, the first ones: the others
	// are the caller's still. The error is nil only if that is all of them; else it
	// is the cause of ctx, or ErrClosed.
	Send(ctx context.Context, items []T) (int, error)

	// Recv takes at least one item out, and as many more as are there and dst has room
	// for, and returns how many. It blocks until there is one, or until ctx is done or
	// the conduit is closed. What is in the conduit when it is closed is still
	// received; then the error is ErrClosed. With an error the number is 0. With a dst
	// without room it returns 0 and nil at once.
	Recv(ctx context.Context, dst []T) (int, error)

	// TrySend puts in as many of items as there is room for, the first ones, and returns
	// how many. The error is ErrClosed if it is closed, and then the number is 0. Never
	// blocks.
	TrySend(items []T) (int, error)

	// TryRecv takes out what is there and dst has room for, and returns how many. The
	// error is ErrClosed if it is closed and nothing is left. Never blocks.
	TryRecv(dst []T) (int, error)

	// Close ends the conduit, from either end: who waits in Send or Recv returns, no
	// send that begins puts anything in, what is in can be received. An item that a
	// send has counted is received before anyone is told of the end, and one that it
	// has not counted never is, also if Close comes in its middle: a Send that waits in
	// a Chan may get one more item in then. Only the first call does something. Never
	// blocks.
	Close()

	// Closed reports whether Close has been called.
	Closed() bool

	// Len returns how many items are in the conduit, Cap for how many there is room.
	Len() int
	Cap() int
}

// Hooks are told what happens in a conduit, by whoever does it, after it has been done.
// They must not block. They are for those who use TrySend and TryRecv and wait in a way
// of their own; a hook may come when there is nothing new to be seen. Either may be nil.
type Hooks struct {
	Items func() // items have been put in, or the conduit has been closed
	Room  func() // items have been taken out, or the conduit has been closed
}

// maxCapacity is the most that either transport has room for.
const maxCapacity = 1 << 28

// NewConduit returns a conduit of the transport with room for capacity items, which Ring
// rounds up to a power of two: Cap tells the real number. At most one Hooks may be given.
// It panics if transport is not one of the constants, and unless capacity is at least 1.
func NewConduit[T any](transport Transport, capacity int, hooks ...Hooks) Conduit[T] {
	if !transport.Valid() {
		panic(fmt.Sprintf("backpressure.NewConduit: transport is %v, want Ring or Chan", transport))
	}
	check("NewConduit", "capacity", capacity, 1, maxCapacity)
	if len(hooks) > 1 {
		panic(fmt.Sprintf("backpressure.NewConduit: %d Hooks, want at most one", len(hooks)))
	}
	var h Hooks
	if len(hooks) > 0 {
		h = hooks[0]
	}
	if h.Items == nil {
		h.Items = func() {}
	}
	if h.Room == nil {
		h.Room = func() {}
	}
	if transport == Chan {
		return newChannel[T](capacity, h)
	}
	return newRing[T](capacity, h)
}
