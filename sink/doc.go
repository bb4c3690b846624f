// Package sink has what the results of a stream come to rest in: a log of records
// that survives the process, text in any Writer, files that are whole or not
// there, a database.
//
//	func keep(ctx context.Context, readings stage.Stream[Reading]) error {
//		log, err := sink.Create[Reading]("readings.log", sink.Interval(time.Second))
//		if err != nil {
//			return err
//		}
//		if err := sink.Write(ctx, readings, log); err != nil {
//			return errors.Join(err, log.Close())
//		}
//		return log.Close()
//	}
//
// # From a task to a function
//
//	records of one fixed size, millions a second   Log, with Write; Read is the way back
//	lines, JSON or CSV to a file, pipe, socket     Lines, JSONL, CSV
//	a file that nobody sees before it is complete  Whole, File
//	a new file every hour, or every 100 MB         File with RotateEvery, RotateSize, Gzip
//	rows of a database                             SQL
//	several of these in one run                    WriteTo, LinesTo, JSONLTo, CSVTo, SQLTo with stage.Run
//
// # Ordering
//
// Every sink writes the values of its stream in the order in which they come,
// which is the order of the input if the stages before it keep that (P1). What was
// written is always a prefix: when a sink fails, nothing behind what it failed at
// is written. Of calls of Log.Append that run at once each keeps its records side
// by side.
//
// # What is lost when
//
//	                       the process is killed         the power is cut
//	Log, EverySync         nothing acknowledged          nothing acknowledged
//	Log, Interval(d)       nothing acknowledged          the last d and one Sync
//	Log, Buffered          nothing acknowledged          what came after the last Sync
//	Lines, JSONL, CSV      the buffer: what came         the same, and what the kernel
//	                       within FlushAfter,            had not written yet
//	                       BufferSize at most
//	File                   the part being written        the part being written
//	SQL                    the transaction under way     what the database says
//
// Acknowledged is what Log.Append has returned for, and Write has passed. What
// remains of a log is always a prefix of what was appended, and Open cuts off what
// is not. A part of a File that has its name is on the disk. After Close has
// returned nil everything of a Log or a File is.
//
// # A log's file
//
// A header names the layout of the records, their size, the byte order and the
// version of the format; then come blocks of 4 KiB or more, each with its records
// side by side and a checksum (CRC-32C) that moves with every record. Space is
// allocated before it is mapped, so that a full disk is an error of Append. Close
// cuts the file to its records. A single flipped bit is found when its block is
// read, or changes nothing: behind each Sync a checkpoint says how much is durable, so
// damage to that is ErrCorrupt and not the end of the log. A file that was cut keeps the
// records that are whole in its last block, and of another block those up to a record
// that was synced last, or none.
//
// Linux, macOS, FreeBSD, NetBSD and DragonFly map the file. Elsewhere, Windows
// among them, and on file systems that cannot be mapped, each Append writes with
// plain writes, with the same promises. Where a file cannot be locked, Create and
// Open return ErrNotSupported.
//
// # Blocking
//
// Log.Append waits for calls that have reserved the records before its own, which
// are busy copying; for the file to grow; and with EverySync for the disk. Readers
// wait for nobody, but Follow for records. The text sinks wait for their Writer,
// and push back meanwhile; SQL for the database. Len, First, Err never block.
//
// # Errors
//
// A terminal of this package returns the first error in the order of its stream,
// after all that stands before it has been written. Errors of a file or a database
// name what was done and to what. A full disk leaves a log usable; after any other
// failure, a failed sync above all, every method returns that error, and what is
// durable is known when the log has been opened again. A reader that has gone away
// ends Lines, JSONL and CSV without an error.
//
// A loop over records cannot return an error: Log.Err tells why it has ended. Bad
// arguments, and record types with pointers or padding, panic at once with their
// value in the text (P11).
//
// # Cancellation
//
// When the context of a run is done, a sink takes no more. Lines, JSONL and CSV
// write what they have taken; a log has what was appended; SQL rolls back the
// transaction that has not been committed. The terminal returns [context.Cause]
// (P6). A Write, or a call of the system, that blocks is waited for (P5).
//
// # Memory
//
// A log maps its header and the segments that are being written, 16 MiB each if
// SegmentSize does not say otherwise, however long it is; a loop over records has a
// buffer of 256 KiB at most. Addresses are neither memory nor disk: a hundred new logs
// with SegmentSize(1<<30) had 100 GB mapped, and took 51 MB of the disk and 52 MB of
// memory, the half megabyte that each allocates first. A log that is 100 GB long and was
// synced takes no more than a short one: Open read 4 KiB of it, and 16 MiB were mapped.
//
// Write, Lines, JSONL and CSV take at most 128 values at a time, SQL a Batch; the text
// sinks have a buffer of BufferSize, and more only while a single value needs it. Append
// allocates nothing (P10), unless it has to wait for another call.
//
// The slices of BlocksFrom are valid until the body of the loop returns. What
// Records and Follow hand out are copies.
//
// # Goroutines
//
// A Log with Interval has one, which Close ends. One that has outgrown 256 KiB starts
// another one for as long as it takes to make room ahead of its writers; Close waits
// for it. Nothing else has: timers of FlushAfter and RotateEvery run while they write,
// and are waited for. The terminals run in the goroutine of their caller, which pulls
// the stream.
//
// # What is not promised
//
//   - That records of calls that run at once lie in the order of the calls, or that
//     a record whose Append has not returned is missing after a crash.
//   - That a disk keeps what it has reported as written: Sync can only ask for it.
//   - That a log can be read on a machine of another byte order; it is refused.
//   - To repair damage: it is found, and what lies before it is kept.
//   - That several processes can write one log: the second one gets ErrLocked.
//   - That a writer survives the loss of its file unharmed: a file that somebody
//     cuts while it is written is ErrShrunk from the next Append on, or, if it was cut
//     in the moment in which it grew, ErrCorrupt when it is read.
//   - Exactly-once from Lines and its kin, or from SQL without Resume: a run that is
//     repeated writes everything again.
package sink
