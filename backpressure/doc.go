// Package backpressure has what bounds a flow: how many things are done at once, how
// many wait, and how heavy they are together.
//
//	sem := backpressure.NewPadded(8)
//	for _, job := range jobs {
//		if err := sem.Acquire(ctx, 1); err != nil { // waits while 8 are running
//			return err
//		}
//		go func() {
//			defer sem.Release(1)
//			job.Run(ctx)
//		}()
//	}
//
// # From a task to a type
//
//	at most n at once                            Semaphore: NewPadded, NewChan
//	a bounded queue that moves chunks            Conduit: Ring, Chan
//	what becomes of items that find it full      Overflow
//	bytes in flight, over several stages         Budget
//	as many at once as the other side can take   Adaptive: AIMD, Gradient
//
// Rates are those of golang.org/x/time/rate.
//
// # Ordering
//
// Those who wait for a semaphore or a budget are served in the order in which they
// began to, and a large request is not overtaken by small ones. A conduit is a queue.
//
// # Blocking
//
// Acquire, Send, Recv and Do block, as they say, and are released by their context;
// those of a conduit or an account also by Close. Nothing else blocks. Whoever has
// to wait yields some times before it parks, so it also works with one processor; a
// parked one waits durably in the sense of testing/synctest.
//
// Nobody here knows who waits for whom: if everyone who holds a permit waits for
// something that only one who waits for a permit could do, all wait until a context is
// done. A run of package [github.com/seed95b73fdc/sluice/stage] notices that.
//
// # Errors
//
// ErrClosed, ErrTooMany, ErrWeight, and the cause of a context; an error leaves things
// as they were, but for a Send, which says how much it has sent. Bad arguments panic,
// and so does giving back what has not been taken, with the numbers.
//
// # Cancellation
//
// With a context that is done nothing is taken, sent or received, not even what could be
// had at once; nor is a permit, or weight, that comes free after that while somebody
// waits for it. A waiter that gives up takes nothing with it and holds up nobody behind
// it.
//
// # Memory
//
// A conduit holds its capacity and no more. Taking and giving back without waiting
// allocates nothing; a wait allocates its place in the queue.
//
// # Goroutines
//
// None are started.
//
// # What is not promised
//
//   - Fairness between a Try… and who begins to wait at the same moment.
//   - That a TryAcquire of a [ChanSemaphore] gets a permit that is free while another
//     call is in progress.
//   - That a limit that follows latency finds the best one: it finds one that the other
//     side can take.
package backpressure
