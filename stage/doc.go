// Package stage has streams: where they come from, what is done with their
// items, and how a run of them begins and ends.
//
// A [Stream] describes a flow of items and does nothing by itself. A terminal,
// such as [ForEach], runs it: it starts the goroutines that the stages need, and
// returns only after the last of them has ended.
//
//	func convert(ctx context.Context, photos []string, store func(context.Context, Picture) error) error {
//		names := stage.FromSlice(photos)
//		pictures := stage.Map(names, 4, decode)       // 4 calls of decode at once
//		small := stage.Map(pictures, 2, shrink)       // 2 of shrink, meanwhile
//		square := stage.Filter(small, stage.Inline, isSquare)
//		return stage.ForEach(ctx, square, 1, store)   // one at a time, here
//	}
//
// Here decode has the form func(context.Context, string) (Picture, error). An
// item is a [Try]: a value, or an error in its place. The transforms of this
// package that run several calls at once emit what is done first; those of
// package [github.com/seed95b73fdc/sluice/ordered] keep the order of their input.
//
// # From a task to a function
//
//	items I have                  Of, FromSlice, FromSeq, FromSeq2, Failed
//	items that come               FromChan, Generate, Lines, FromRill
//	a function on each item       Map, Filter, FilterMap, Tap
//	several items of each         FlatMap
//	errors, in the middle         Catch
//	a part of the stream          Take, TakeWhile, Drop, DropWhile
//	a running result              Scan
//	to run ahead, to lose some    Buffer with an overflow
//	a rate, a pause, a rhythm     Throttle, Debounce, Sample
//	a bound on bytes in flight    Charge, Borrowed, Repaid, with a backpressure.Budget
//	several streams into one      Merge (as they come), Concat (one by one), Zip (in pairs)
//	one stream into several       Split, Partition (by value), Tee (all to all), Balance (to who is free)
//	an end                        ForEach, Discard, ToChan, ToRill, Stream.Seq
//	an answer                     Collect, Count, First, Any, All, Reduce
//	several ends in one run       Run with To
//	to stop and finish            Until
//	to stop and abort             cancel the context of the run
//	to see where it is slow       WithStats, Name
//	to change n meanwhile         Resizable
//	an operator of one's own      New, Open, Reader; see "Operators of one's own"
//
// # Parallelism
//
// The n of a transform or terminal is its parallelism: with n ≥ 1 it has workers
// of its own, and up to n calls of f at once, while what stands before and
// behind it works too. Never more than n run. And whenever n items can be had
// and the window has room for them, n calls do run, however suddenly f becomes
// slow: no worker is without work while an item that the stage holds waits for
// its call (P3).
//
// With n = [Inline], which is 0, f runs in the goroutine of whoever pulls: no
// goroutine, and no handing over between two of them. That is for functions that
// cost less than a hand-over. What takes no n, such as [Scan] or [Take], runs so
// too. [ForEach] with n = 1 runs f in the goroutine that called it.
//
// The engine of parallel stages works on cells. A worker takes the right to
// pull, fills a cell with up to grain items of upstream, gives the right up, and
// runs f on them, results into the same cell; the reader takes the results out
// and gives the cell back. The grain is 1 to begin with. It doubles while a cell
// takes less than some tens of microseconds, to 64 at most and to no more than
// lets n cells fit into the window, and falls when one takes longer. So a slow f
// gets one item per worker, and a cheap one shares out the cost of a hand-over
// among many. A worker without work takes over single items of another one's
// cell.
//
// # Ordering
//
// A transform with n = Inline keeps the order of its input, and so does every one
// that takes no n, [Merge] apart. With n ≥ 1, 1 included, the transforms of this
// package emit each result as soon as it is there. Merge keeps the order within
// each of its inputs, [FlatMap] within each of its inner streams, and each branch
// of a [Split] or its kin has its items in the order of the input. ForEach with
// n = 1 calls f in the order of what it reads.
//
// # Blocking
//
// To describe a stream never blocks. A terminal blocks until its run has ended.
// A run moves at the pace of whoever reads it: a transform pushes back, which is
// to say that it takes no more from upstream, while its window is full.
//
// When every goroutine of a run waits for another one of the same run, none of
// them can ever move again. That is noticed when the last of them begins to
// wait, without a timer, and the terminal returns an [ErrStalled] that lists who
// waits for what. The common case is a Concat of the two branches of a Split: it
// reads the second branch only after the first, whose items are behind those
// that fill the second. A call of one's own function, a Read, a channel given to
// [FromChan] or [ToChan] lie outside: who waits there is never taken for stuck.
//
// # Errors
//
// An error is an item. It goes downstream in its place, past every function but
// that of [Catch], and stops nothing on its way. The terminal returns the first
// one that it meets, as it is, and ends the run; with an error all its other
// results are zero values (P8). Which of several errors that is depends on the
// completion order, unless all stages keep order. An error of f takes the place
// of f's item; what else f returned is dropped.
//
// A panic in a function of the run cancels the run and is raised again in the
// goroutine that called the terminal, as a [*Panic] with the name of the stage,
// the value, and the stack of where it happened (P9). With [RecoverPanics] it is
// the error of its item instead. runtime.Goexit, as testing.T.FailNow calls it,
// in a worker of a Map or its kin makes an [ErrGoexit] of the item, and costs no
// worker. In any other goroutine of the run it ends the run with that error, and
// in the one that called the terminal it ends that, once the run is settled.
//
// A bad argument, such as a negative n, a nil function, a window of 0, panics
// when the stream is described, before anything runs, with the name of the
// function and the value in the text (P11).
//
// # Cancellation
//
// Once the context of a run is done, no further call of a function begins, the
// contexts of those that run are done too, every wait of the run ends, and the
// terminal returns [context.Cause] (P6). An error of the stream that was there
// before is not masked by the cancellation.
//
// A terminal that has its answer, a [Take] that has its items, a loop that is
// left with break, an error: all cancel what feeds them at once. In vain was
// then started at most what the windows hold (P7). [context.Cause] of the
// context that f was given tells why: [ErrEnded], [ErrClosed], [ErrUntil], or
// what the run was cancelled with.
//
// However a run ends, when the terminal returns, or the loop over [Stream.Seq]
// is left, no goroutine of the run is alive, and every source is closed (P5).
// So a function that does not heed its context is waited for, as long as it
// takes. There is one exception: after a panic the terminal waits for such
// functions no longer than [PanicGrace], lest a crash be hidden by a call that
// never returns; [Panic.Running] says how many goroutines were left behind.
// [ToRill] is no terminal in this sense: it returns at once, and its run ends
// with its channel.
//
// [Until] stops a stream without aborting it: the source ends, and what it has
// emitted is finished.
//
// # Memory
//
// A stage holds at most its window: items taken from upstream and not yet taken
// by downstream (P4). Without [Window] that is n while f is slow, and at most
// 64·n while it is cheap; a Window is kept exactly. A stage without goroutines
// holds one item of each input while it is slow and at most 64 else, and the same
// goes for the reader at the end. What holds items in other ways says so: [Merge], [FlatMap], [Buffer],
// [Split]. Nothing in a run buffers without a bound; [Collect] keeps all values,
// for that is what it is for.
//
// Once a stage is under way it allocates nothing per item (P10), the functions
// given to it apart; [Lines] makes a string of each line, and FlatMap a reader
// for each inner stream. Memory and goroutines do not grow with the length of
// the input. A value that has been handed on is not kept alive.
//
// # Goroutines
//
// None until the first item is asked for, and then only as there are items to
// run. A stage of parallelism n has at most n+1: n workers, and one that keeps
// watch while another waits for upstream and all others are in calls. FlatMap
// has at most n; Merge one for each input; [Generate], [FromSeq] and [FromSeq2]
// one for the source; [Split], [Partition], [Tee] and [Balance] one for all
// branches together; [Buffer], [Debounce] and [Sample] one; Until one that waits for its stop; [Run] one for each end.
// [ToRill] has one in which its run goes on. All else has none. Those of stages
// carry the name of their stage in the pprof label sluice.stage.
//
// [WithStats] tells what each stage has done, what it holds, and for how long it
// worked, waited for upstream, and waited for downstream (P12).
//
// Waits and times go through the runtime's clock and channels, so that a run can
// be tested in a bubble of [testing/synctest], to the nanosecond (P13).
//
// # What is not promised
//
//   - Which worker runs which item, and, with n > 1, in which order calls begin.
//   - Order among the results of a transform with n ≥ 1, also if n is 1; see
//     package ordered.
//   - The grain, and the rules by which it changes.
//   - That a cancelled item has not been begun: f may have had an effect although
//     its result went nowhere. Nothing is retried.
//   - That a terminal returns at once when its context ends: it waits for calls
//     that run on.
//   - To notice a stall of which a part lies outside of the run: in a function
//     of one's own that waits for another one, in a channel, in another run.
//   - That inputs of a [Merge] get equal shares, or branches of a Balance.
//   - That PanicGrace bounds the Close of an operator from another package: that
//     waits as it was written.
//   - Persistence: what was in a stage when the process ended is lost.
//
// # Operators of one's own
//
// The operators of this package are made of parts that are exported, and package
// ordered is made of nothing else.
//
// Where f makes at most one item of each, [Transform] is all that is needed: it
// is the engine, for a [Func] and in an [Order]. [MapFunc] and its siblings are
// Funcs; [TryFunc] makes one that sees errors too. [FlatMapOrder] is the same for
// FlatMap. [Configure] reads the options; [CheckN], [CheckFunc] and [CheckSize]
// panic about bad arguments in the words that the package itself uses.
//
// Any other operator is a [Reader], given to [New]. A run has two phases. First
// the terminal opens all that it reaches: the function given to New opens its
// inputs with [Open] and returns a Reader, and neither blocks nor starts
// anything. Then Next is called, again and again, by one goroutine at a time, and
// at last Close. A Reader around a Reader that does its work in Next needs no
// goroutine, and no more than that:
//
//   - Next asks its input for no more than it has room for, returns at least one
//     item or 0 at the end, and blocks only in its input's Next.
//   - Close closes the input.
//   - [Scope.Stopped] is asked before each call of a function of the user, which
//     gets [Scope.Context].
//   - If it wants values alone, and its input is a [ValueReader], it may take them
//     from there without an error beside each.
//
// An operator with goroutines opens its inputs in a [Scope.Child], starts the
// goroutines in the first Next with [Scope.Go], or [Scope.GoElse] where one that is
// lost in a user's function is to cost only its item, and has them wait for each other
// in a [Waiter] and nowhere else: so a cancellation wakes them and a stall is
// seen. Its Close cancels the child, waits for its goroutines ([Scope.Await]), and then closes
// the inputs, in that order, for a Reader has one user at a time. [Scope.Label]
// gives it a name, [Scope.Report] lists it in the Stats, [Scope.Fail] ends the
// run. [Shared] gives several streams of one run one thing in common. The
// examples of New and of Waiter are worked examples of both kinds.
package stage
