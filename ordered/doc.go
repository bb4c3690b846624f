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
//
// # Ordering
//
// What was made of an item comes out before whatever was made of a later one,
// for any n and window, and whichever call is done first; an error stands in the
// place of its item (P1). The items that FlatMap makes of one value stay together
// and in order. Both branches of a Split have the order of the input.
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
// and never more (P3). If a run can never move again, its terminal returns
// [stage.ErrStalled].
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
// allocate nothing per item once they are under way (P10).
//
// # Goroutines
//
// With n ≥ 1 at most n+1 per stage, as described in package stage; FlatMap has at
// most n, Split one more for its branches. With n = [stage.Inline] none: f runs
// in the goroutine of whoever pulls.
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
