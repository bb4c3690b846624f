// Package ordered has the transforms that keep the order of their input, however
// many calls run at once and whichever is done first.
//
//	func enrich(ctx context.Context, names []string, db *DB, write func(context.Context, User) error) error {
//		in := stage.FromSlice(names)
//		users := ordered.Map(in, 8, db.User)                      // 8 queries at once
//		adults := ordered.Filter(users, stage.Inline, isAdult)    // cheap: no goroutine
//		return stage.ForEach(ctx, adults, 1, write)               // in the order of names
//	}
//
// Streams, sources and terminals are those of package
// [github.com/seed95b73fdc/sluice/stage], which also says what holds for every
// run: that nothing runs before a terminal is called, that nothing is left when
// it returns, and how a run blocks, stalls and ends.
//
// # From a task to a function
//
//	a result for each item                  Map
//	some of the items                       Filter
//	results for some of the items           FilterMap
//	several results of each item            FlatMap
//	another error, or none, for an error    Catch
//	two streams, by a slow test             Split
//	the first item that matches             First
//	one sorted stream of several            Merge
//	numbered items, back in order           Resequence
//	the same on plain channels              Loop
//	another way to keep the order           By
//
// # Ordering
//
// What was made of an item comes out before whatever was made of a later one,
// for any n and window, and whichever call is done first; an error stands in the
// place of its item (P1). The items that FlatMap makes of one value stay together
// and in order. Both branches of a Split have the order of the input. Merge keeps
// the order of its inputs, and Resequence makes one.
//
// The terminal has to work in order too: all do but [stage.ForEach], [stage.To]
// and [stage.Reduce] with n > 1, and [stage.Any] and [stage.All] with n ≥ 1.
//
// # Blocking
//
// A result waits until all before it have been taken. So an item that takes long
// holds up those behind it, until the window is full of results that wait for it;
// then the stage takes no more from upstream. A larger [stage.Window] lets it run
// further ahead.
//
// Whenever n items can be had and the window has room for them, n calls of f run,
// and never more (P3). [stage.Resizable] changes n while the stage runs. If a run
// can never move again, its terminal returns [stage.ErrStalled].
//
// Merge and Resequence run in the goroutine of whoever pulls, and block while
// their inputs do. Loop returns at once, and its calls block as they like.
//
// # Errors
//
// A run whose stages all keep order ends with the first error in the order of the
// input, the same one in every run, also if a later item's error was there first
// (P8); unless its context ends before. With an error the terminal's other
// results are zero values. Errors pass every function but that of Catch.
//
// A panic in f is raised again by the terminal as a [*stage.Panic]; with
// [stage.RecoverPanics] it is the error of its item, in its place. A call of
// runtime.Goexit in one of the n workers is the item's error too,
// [stage.ErrGoexit] (P9). Bad arguments panic when the stream is described (P11).
//
// Resequence reports what is missing as a [*GapError] and what comes again as a
// [*DuplicateError]. An f of Loop that breaks its contract ends the program with a
// panic that says how.
//
// # Cancellation
//
// Once the context of the run is done no call of f begins, the contexts of those
// that run are done, and the terminal returns [context.Cause] (P6). When a First
// has its answer, or downstream needs no more, that holds for what is upstream,
// and at most the window was started in vain (P7). When the terminal returns, all
// calls of f have returned, and no goroutine is left (P5), but for what
// [stage.PanicGrace] says of panics.
//
// # Memory
//
// A stage holds at most its window, results that wait for an earlier one
// included: n items while f is slow, at most 64·n while it is cheap, or exactly
// what [stage.Window] says (P4). FlatMap holds, for each of its n streams, two
// chunks of what its reader asks for at a time. Map, Filter, FilterMap and Catch
// allocate nothing per item once they are under way (P10), but for one envelope
// with ReplyTo. With the other strategies than Cells the window is n also while f
// is cheap.
//
// Merge holds a chunk of each input, Resequence its window. Loop holds n values.
//
// # Goroutines
//
// With n ≥ 1 at most n+1 per stage, as described in package stage; FlatMap has at
// most n, Split one more for its branches. With n = [stage.Inline] none: f runs
// in the goroutine of whoever pulls. With PermissionPassing and Cond a result that
// waits for its turn waits in its worker, and another worker calls f meanwhile: so
// there are as many goroutines as the window is large, if it is larger than n. Loop
// has n, which end when its input has been closed and its calls have returned.
//
// # Strategies
//
// All strategies keep all promises, with the same n and window; [By] chooses one.
// They differ in what an item costs. Cells is the default. The other three are the
// classics, one file each, to be read and compared:
//
//   - PermissionPassing (permission.go) allocates nothing per item and wakes one
//     worker for each. A result that is early keeps a goroutine waiting.
//   - ReplyTo (replyto.go) has no worker wait, so n goroutines are enough for any
//     window. It allocates an envelope per item.
//   - Cond (cond.go) is the shortest, and wakes all who wait for each item: it
//     costs the more, the more results wait.
//
// What an item costs beside its call, in nanoseconds: the time of a run, less that of
// its calls divided by n. Measured on 2 processors of an AMD EPYC, with calls that do
// nothing and with calls that take 50 µs, against n. On an Intel Xeon, where what one
// processor hands to another costs more, calls that do nothing cost 2.0 to 2.9 times
// that with Cells (66, 50, 48, 41 and 41 ns) and 1.2 to 3.4 times with the others:
//
//	                        a call does nothing        a call takes 50 µs
//	n =                    1     4    12    32    50        1     4    12    32    50
//	Cells                29    17    19    21    19     2220   850   490   470   490
//	PermissionPassing  1260   480   300   300   300     2880  1060   600  1040  1300
//	ReplyTo            1600   580   420   350   370     3260  1020   490   460   510
//	Cond               1310   440  1480  5470  5400     2870   870   660  8110 14930
//	rill OrderedMap     390  1160  1240  1180  1390      850   390   310  1000  1550
//	conc stream        1100  1170  1060  1000  1220     1000   370   470   740   960
//
// What a larger window is good for, in items per second: n is 8, one call in 50 takes
// 20 ms, and the others take 200 µs. Rill and conc, which have no window to set, make
// 2280 and 2240.
//
//	window                  8     32     64    128    256    512
//	Cells                2260   2370   4650   6630  10680  11210
//	PermissionPassing    2280   2360   4580   6570  10680  11150
//	ReplyTo              2270   2360   4570   6630  10660  11190
//	Cond                 2270   2360   4560   6510   9630   9220
//
// So:
//
//   - Where calls cost next to nothing, Cells costs a tenth of the others or less,
//     because it alone hands several items over at once. Where they wait, the four
//     are alike, but for Cond.
//   - Cond collapses as n grows: from n = 32 on each item wakes dozens. The others
//     cost less with n = 50 than with n = 1. A window of hundreds that is full of
//     results does the same to Cond as a large n.
//   - ReplyTo allocates one object per item, the others none. Where calls do nothing
//     that makes it cost a seventh to three fifths more than PermissionPassing. Where
//     they wait it does not show: from n = 8 on ReplyTo costs less, as none of its
//     workers waits for another one.
//   - Where calls wait and n is small, rill and conc cost less than all four: with
//     50 µs and n up to 8 two to three fifths of Cells (a third to two thirds on the
//     Xeon), which is up to 5 % of the time of
//     the run; with 1 ms and n = 1 10.7 and 11.9 µs per item, against 19.7. With 50 µs
//     and n = 32 or 50 Cells costs less than both. It is the window that makes the difference:
//     by default it is n, so that a call waits until the reader has taken the result of
//     the one n places before it. With a [stage.Window] of 2·n, Cells costs about half
//     of that with 50 µs, and a third with 1 ms and n = 4, which is less than half of
//     what rill costs there.
//
// Package bench draws all of it.
//
// A FlatMap by PermissionPassing or Cond has a worker stay with its stream
// until that has been passed on: it never has more than n streams begun, whatever
// its window, and of one that waits it holds a single chunk.
//
// # What is not promised
//
//   - That calls begin in input order, or that one call sees what an earlier
//     item's call has done: only the results are in order.
//   - That a later item's call has not begun when an earlier one fails, or that
//     its effects are undone.
//   - The order in which ForEach with n > 1 calls its function.
//   - That the first error in input order is returned if a stage that does not
//     keep order, or a cancellation from outside, comes between.
package ordered
