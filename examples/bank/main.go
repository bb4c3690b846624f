// Bank keeps accounts in an SQLite database behind keyed.Owners, is killed in the
// middle of its work, takes it up again in another process, and checks that nothing was
// lost and nothing done twice.
//
//	go run ./examples/bank                      # 20,000 operations, one crash
//	bank -crashes 10 -hot 0.9                   # ten, and nearly all is about one account
//	bank -db bank.db -operations 1000000        # Ctrl-C, and the same again: it goes on
//	bank -lose 136                              # a mistake on purpose, which the check finds
//
// # What it does
//
// There are -accounts, each with 1,000.00 at first, and -operations, which follow from
// -seed: deposits and transfers, -hot of them drawn to account 0. Operation i is brought
// by client i mod -clients, one of that many goroutines, in the order of the numbers.
//
//	40 %  deposit at the counter  Owners.Do          the client waits for it
//	30 %  deposit by mail         Owners.Post        the client goes on at once
//	30 %  transfer                Owners.Atomically  refused if there is too little
//
// The owners work in a process of their own. It is killed (SIGKILL; on Windows
// TerminateProcess) -crashes times, each time when its part of the operations has been
// acknowledged, and the next one goes on with what is not in the database. In each life
// the owners are doubled by Owners.Resize when an eighth of its operations is done.
//
// # How nothing is lost
//
// The state of an account is its balance and the number of its entries. Its owner works out
// the next state, has it written, and only then takes it over and acknowledges the
// operation: memory is never ahead of the database. A transaction has the operation's
// number, its entries and the balances, so that it is there as a whole or not at all, and
// the number, a primary key, once. Operations that owners have at the same time share a
// transaction: that is batch.Coalescer. When a commit fails there is no further one, and
// the run ends with its error.
//
// A commit is with the system, in SQLite's write-ahead log, and survives the process. With
// -sync yes it waits for the disk, and survives a power cut.
//
// A process that takes over reads which operations there are. What was committed but not
// acknowledged when its predecessor was killed is not done again; the report says how many
// those were. The database is locked by the one process that has it, so that there is never
// a second bank beside it.
//
// # What is checked
//
// At the end the database is held against what was acknowledged:
//
//   - The balances add up to what there was at first and the deposits.
//   - Each operation that was acknowledged is there once, with its entries (one of a
//     deposit, two of a transfer, none if it was refused), and there is no other one.
//   - The page of each account is whole: entries are numbered from 1 on, and each
//     balance is the one before and the amount.
//   - The order is kept: on each page the operations of one client stand in the order
//     in which it brought them, over all resizes and crashes.
//
// # Output, stopping, exit codes
//
// The report goes to stdout. On a terminal stderr shows a table while the bank works: the
// accounts with the largest share of the load, the busiest lanes of the owners, with their
// queues and rates, and how many calls are over two accounts. -q is for neither.
//
// The first Ctrl-C (or SIGTERM, SIGHUP) begins no further operation; those that were begun
// are finished, and the books checked. The second one aborts, which is one crash more: with
// -db another run goes on from there. Without -db the books are in a temporary folder,
// removed at the end.
//
//	0    carried out, and the books are right
//	1    the books are wrong, or the database cannot be used; stderr has one line that
//	     says what
//	2    wrong flags
//	130  interrupted
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

// abortGrace is how long an aborted run may take to wind up before the program
// ends without it: it may be held in a write that nobody reads.
const abortGrace = 2 * time.Second

func main() {
	if os.Getenv(asBank) != "" {
		// Signals are for the process that looks after this one, which ends it.
		signal.Ignore(os.Interrupt, syscall.SIGHUP)
		cfg, err := parseFlags(os.Args[1:], io.Discard)
		if err != nil {
			os.Exit(program.Usage)
		}
		os.Exit(live(cfg, os.Stdin, os.Stdout))
	}
	program.Main(abortGrace, func(ctx context.Context, stop <-chan struct{}) int {
		return run(ctx, os.Args[1:], environment{stdout: os.Stdout, stderr: os.Stderr, stop: stop})
	})
}
