// Package batch has what works on many items at once: batches of a stream, slices
// that workers share, and one call for many callers.
//
//	func load(ctx context.Context, events stage.Stream[Event], db *DB) error {
//		batches := batch.Chunk(events, 1000,
//			batch.Within(time.Second),                              // none waits longer
//			batch.Weigh(1<<20, func(e Event) int { return e.Size })) // and none is heavier
//		return stage.ForEach(ctx, batches, 4, db.Insert)
//	}
//
//	thumbnails, err := batch.MapSlice(ctx, photos, 8, shrink)    // in the order of photos
//
//	users := batch.NewCoalescer(db.Users, 100)                   // one query for many callers
//	defer users.Close(ctx)
//	user, err := users.Do(ctx, id)
//
// Streams, sources and terminals are those of package
// [github.com/seed95b73fdc/sluice/stage], which also says what holds for every
// run.
//
// # From a task to a function
//
//	batches of a stream, by number, age, weight, or what an item says    Chunk
//	the same for each key                                                ByKey
//	the items of batches                                                 Flatten
//	a call for each item of a slice, or a result of it                   Each, MapSlice
//	a call for each of n equal parts                                     Ranges
//	what a slice adds up to                                              Reduce, Fold
//	what a stream adds up to, for each key                               MapReduce, FlatMapReduce
//	one call for items that many goroutines have                         Coalescer
//
// # Ordering
//
// Chunk and Flatten keep the order of their input, errors included: Flatten of
// Chunk is what went in (P1). ByKey keeps the order of the values of each key (P2),
// and of all values with regard to each error. The results of MapSlice stand in
// the places of their items; Reduce and Fold merge in the order of the items.
// MapReduce has none; FlatMapReduce is meant too where MapReduce is named. A Coalescer flushes items in the order in which they
// came.
//
// # Blocking
//
// A batch is emitted when it is complete, at once when the input ends or
// [stage.Until] ends it, and with [Within] when its first item has been there for so
// long: to the nanosecond in a bubble of testing/synctest (P13). Later items do not
// put that off, and each batch has a time of its own. Where the reader is busy at
// that time, the batch grows on, and is emitted as soon as it is asked for.
//
// Chunk and ByKey push back: they take no more from upstream than what Memory says.
// Functions over slices block until all calls have returned. They begin calls
// whenever a worker has none, and never more than workers (P3): a call that lasts
// holds up no other item. [Coalescer.Do] blocks until its flush is over or its
// context ends; [Coalescer.Close] until all flushes are. So a flush must not call
// Close of its own Coalescer, nor Do if there is no Within: it would wait for itself.
//
// A wait for the age of a batch is no stall, as the clock will end it; where a run
// can never move again, its terminal returns [stage.ErrStalled].
//
// # Errors
//
// An error in a stream is a boundary: what was gathered before it is emitted
// first, then the error, then what comes behind it.
//
// Functions over slices return the first error in the order of the items, the
// same one each time (P8): calls for earlier items go on, those for later ones are
// cancelled or do not begin. MapReduce returns the first error that it meets. With
// an error other results are zero values. A flush that fails, panics, or returns
// too few results concerns its own callers, and only them: see [Coalescer.Do].
//
// A panic in a function is raised in the caller's goroutine as a [*stage.Panic]
// that names the place; runtime.Goexit is a [stage.ErrGoexit] of its item, and in
// MapReduce, Weigh, Until and ByKey's key that of the run, or with no goroutine of
// its own ends that of whoever pulls (P9). In a Coalescer both are errors of the
// callers. Bad arguments, and options that do not apply or are for items of another
// type, panic before anything runs (P11).
//
// # Cancellation
//
// Once a context is done no further call begins, the contexts of those that run are
// done, and the result is [context.Cause]; an error that came before is not masked
// (P6). A batch that is open then is dropped. A caller that gives up in
// Coalescer.Do takes its item back, or leaves its result, and disturbs no other;
// a flush is cancelled only when all its callers have gone. What becomes of it then
// nobody is told, but a panic is kept for [Coalescer.Close] to return.
//
// # Memory
//
// Chunk holds one batch that fills, ByKey one for each of its open keys, and at
// most 64 items more; where the reader asks for one batch at a time, Chunk asks for
// no item that may not belong to it, with Weigh for no more than may if none is
// heavier than those before. With Within there are, besides, as many complete
// batches as the reader has room for: one while it is slow, and at most 64 (P4). A
// batch is memory of its own, made for as many items as the one before had; with
// [Reuse] no memory is made once a run is under way. A timer is made once in a run,
// and no allocation is made per item (P10).
//
// MapSlice makes its results, Each and Reduce nothing per item. MapReduce holds up to
// 256 items for each worker, and a table, but beyond 4,096 keys one for all workers, and
// up to 2,048 pairs of each that are not reduced yet; at the end the table and the
// result. A Coalescer holds what its callers wait for.
//
// # Goroutines
//
// Chunk and ByKey have one with Within, and none without; Flatten none. Functions
// over slices have one for each worker; MapReduce too, with n ≥ 2, and one more that
// keeps watch while another waits for upstream. All have ended when the function
// returns (P5), but for what [stage.PanicGrace] says of panics. A Coalescer has one
// for each flush, none while it is idle. All carry the name of their stage, or of
// their function, in the pprof label sluice.stage.
//
// # What is not promised
//
//   - Which worker runs which item; in which order calls begin.
//   - Which pieces of a slice Reduce adds up by themselves, and thus how a sum of
//     floating-point numbers is rounded.
//   - That items which share a flush of a Coalescer today do so tomorrow.
//   - With Within, how many items come with a batch that is overdue.
//   - That an item which was begun when a call ended had no effect.
package batch
