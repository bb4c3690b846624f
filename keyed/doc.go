// Package keyed routes work to the one owner of a key. It answers three questions:
// how work is distributed, who owns the state that it changes, and whether what runs
// where is fixed or found as it goes.
//
//	func balances(ctx context.Context, bookings stage.Stream[Booking]) (map[string]int, error) {
//		account := func(b Booking) string { return b.Account }
//		book := func(_ context.Context, sum *int, b Booking) error {
//			*sum += b.Amount // nobody else is at this account
//			return nil
//		}
//		return keyed.Reduce(ctx, bookings, 8, account, func() int { return 0 }, book)
//	}
//
// # From the shape of the work to a function
//
//	a stream, no keys                            stage.Map, ordered.Map
//	a finite slice, equal cost of its items      batch.Ranges
//	a finite slice, uneven cost                  batch.Each, batch.MapSlice
//	a stream, order within each key              Map
//	the same, and the results in input order     OrderedMap
//	a state for each key of a stream             Process
//	only the states in the end                   Reduce
//	few keys, one of which may block for long    … with PerKey
//	a cache or connection for each worker        … with Pinned
//	more keys than memory has room for           … with MaxKeys, IdleAfter, OnEvict
//	which keys and lanes are hot                 … with Measure
//	a hot key, whose values can be added up      … behind Combine
//	a rate for each key                          … behind Throttle
//	states for many callers, not a stream        Owners: Do, or Post if nobody waits
//	several keys at once, all or nothing         Owners.Atomically
//	another n while callers call                 Owners.Resize
//	a map for many callers, short functions      Sharded
//	keys over processes, membership fixed        Modulo
//	the last member may come and go              Jump
//	any member may, few of them                  Rendezvous
//	any member may, many of them                 Ring
//	that only one process works on a key         Lease, Holder, Fence
//	what crosses owners in several steps         Saga
//
// # Lanes
//
// Map, OrderedMap, Process, Reduce and Owners stand on lanes: queues on which keys
// fall by their hash, 16 for each of the n workers, rounded up to a power of two, and
// at most 4,096. At most one worker runs a lane at a time. In a stage a lane that has
// items lies in the deque of the worker that took them from upstream; a worker that
// has nothing to do takes from upstream, or steals a whole lane. So the order of each
// key survives stealing, and a slow key holds up its own lane alone: its own key alone
// with [PerKey].
//
// While calls take less time than it costs to share them out, the worker that takes
// items from upstream runs them itself, one after the other, and hands on up to 16
// results at a time, but all that there are when somebody waits for one. Another worker
// watches it, and when it has stood still for some microseconds puts all that it has not
// begun into the lanes. So nothing of the above is given up; one more processor is kept
// awake meanwhile, if there is one and n is more than 1. (With Pinned, MaxKeys or
// IdleAfter all items go through the lanes.)
//
// # Ordering
//
// Calls of f for items of one key come one at a time, in input order, and their
// results leave in that order (P2). Each call sees what the calls before it for the
// same key have done, without a lock. OrderedMap emits in the order of the input,
// errors in their place (P1). Errors of the input have no key: OrderedMap alone keeps
// their place. Owners run the functions for a key in the order of the calls, as far as
// these have one. Combine and Throttle keep the order of each key; errors keep their
// place in a Combine, and have none in a Throttle.
//
// # Blocking
//
// A stage pushes back while its window is full. Whenever n items of different lanes
// can be had and the window has room for them, n calls of f run, and never more; a
// worker is idle only while every item that the stage holds is in a call or waits
// behind one of its own lane (P3; with Pinned, of its own worker). A key that is stuck
// fills the window in the end: a larger [stage.Window] lets the others run further
// ahead. Combine pushes back when it is full of different keys, Throttle when its
// window is full of values that wait for their tokens. Calls of Owners block while
// their window is full, and Do and Atomically until the function has returned or the
// context ends. Methods of Sharded wait for the locks of their shards, LoadOrCompute for
// a computation of its key. Routers never block. Hold blocks until the partition is free
// and its work has returned; Fence.Do while another one of its partition runs; Saga.Run
// while its steps do.
//
// # Errors
//
// An error of f takes the place of its item, and so does a panic with
// [stage.RecoverPanics], and a call of runtime.Goexit; neither costs a worker. Without
// it a panic is raised again by the terminal (P9). What a caller of Owners is told is
// exact: see [Owners.Do]. [ErrClosed] and the cause of a context, as they are, say that
// the function has not run and never will. In functions of a Combine or a Throttle, and
// in key, runtime.Goexit ends the run. Bad arguments panic at once (P11).
//
// # Cancellation
//
// Of stages all that package stage says holds: no call begins once the run's context
// is done (P6), and when the terminal returns no goroutine is left (P5). OnEvict is
// not called after a cancellation. The context of a call of Owners ends the waiting
// of that call, and nothing else: a function that runs is not interrupted. The context
// of a Holder's work ends with [ErrLeaseLost] when the holder is no longer sure of the
// lease.
//
// # Memory
//
// A stage holds at most its window (P4). Without [stage.Window] that is 64·n while f is
// cheap; while f is slow, n items and those that wait behind another item of their
// lane (with Pinned, of their worker), 64·n together. Items and results move through memory that is used again: no
// allocation per item (P10). Process keeps one state for each key; see [MaxKeys].
// Combine holds as many items as it was told to, Throttle its window and the limiters
// that are not full. Owners hold at most their window of functions, and the states of
// all keys. A call of Do on a lane that is free, with a context that cannot end,
// allocates nothing, nor does Post once as many functions have been posted at once
// before. Calls allocate where they have to wait, Do also with a context that can end,
// and Atomically always.
//
// # Goroutines
//
// A stage has at most n+1, as those of package stage; with Pinned always n+1. With
// n = [stage.Inline] none: f runs in the goroutine of whoever pulls. Combine and
// Throttle have one. Owners have at most n, while there is something to do, and none
// else. A Holder has one for each term, gone when Hold returns. Sharded, routers, fences
// and sagas have none.
//
// # What is not promised
//
//   - Which worker runs a key, but with Pinned; that calls for different keys begin in
//     input order.
//   - The order of results of different keys, but with OrderedMap.
//   - How many values a Combine merges: it depends on how far downstream is behind.
//   - That keys have lanes of their own, but with PerKey: by hash, two keys may share
//     one, and then they wait for each other.
//   - That functions of Owners may call the same Owners: they may wait for themselves.
//   - Any of it between processes: that is what the routing and the leases are for.
//   - That a lease alone protects a store: a holder that was stopped finds out late.
//     [Fence] does.
//   - Isolation between sagas.
package keyed
