// Package lockfree has the data structures that flows are made of: a ring between
// two goroutines, a deque from which others may steal, and padding that keeps
// apart what is written by different ones.
//
//	q := lockfree.NewSPSC[Event](1024)
//	go func() { // the one producer
//		defer q.Close()
//		for e := range source {
//			for !q.TryPush(e) {
//				runtime.Gosched()
//			}
//		}
//	}()
//
// These are building blocks: none of them waits. Whoever wants to block until there
// is room or an item uses a conduit of package
// [github.com/seed95b73fdc/sluice/backpressure], which adds that to an [SPSC].
//
// # Ordering
//
// An SPSC is a queue: values come out in the order they went in. A [Deque] is a
// stack for its owner, and a queue for those who steal from it. What happened
// before a value was put in happens before it is taken out, in the sense of Go's
// memory model.
//
// # Blocking
//
// No method blocks, and none spins until another goroutine has done something.
// What cannot be done at once is reported: by false, by a count, or by an
// [Outcome]. The operations of an SPSC and a deque's Push, unless it grows, take a
// bounded number of steps; those of the others take one more only when somebody
// else has succeeded in between.
//
// An end of an SPSC that has come to the end of what it knew, and that had been few
// values, lets the other one get ahead for up to 1,024 steps of about a cycle before it
// looks again, so that the two do not work on the same cache lines all the time. After a
// look in vain it does not: polling an empty or a full one is answered at once.
//
// # Errors
//
// There are none. A capacity that cannot be had panics in the constructor, with
// its value, before anything is allocated. Two producers or two consumers of one
// SPSC, or two owners of one deque, are a mistake of the program that can lose
// values: the race detector reports it, and a build with the tag sluicedebug panics
// where two calls overlap.
//
// # Cancellation
//
// Closing an SPSC is a part of it: after Close nothing more goes in, and what is in
// can still be taken out. A deque has nothing of the kind.
//
// # Memory
//
// Values lie in slots, without a box of their own: no operation allocates but the
// growing of a deque. A slot is cleared when its value is taken, so nothing is kept
// alive. A ring never grows, a deque never shrinks. Sizes are powers of two, at
// most 2^28.
//
// # Goroutines
//
// None are started.
//
// # What is not promised
//
//   - Fairness among thieves.
//   - That a value stolen later is a younger one, where several steal at once: each
//     has its place in the order when it wins, not when the call returns.
package lockfree
