// Timeseries downloads days of transactions, many days at once, compares each day
// with the one before, in order, and draws the trend.
//
//	go run ./examples/timeseries                                   # made-up data
//	go run ./examples/timeseries -chart trend.svg -fail-rate 0.2 -missing 2026-02-11
//	timeseries -url 'https://host/data/{date}.csv.gz' -from 2026-03-01 -days 31 -n 4
//
// # Input
//
// Without -url the program serves made-up data to itself, over HTTP on a loopback
// port: the same data each time, others with another -seed. With it, the URL of
// each day comes from the template; {date} stands for 2026-03-04, and {year},
// {month}, {day} for its parts. Days are days in UTC, wherever the program runs;
// so each has 24 hours, and none is skipped or comes twice where clocks change.
//
// A file is gzip, of one or several members, and unpacks to lines of comma-separated
// values below a header. Columns are found by name, in any order, and may be
// others than these three:
//
//	time,account,amount
//	2026-03-04T08:00:01Z,A000017,-12.50
//
// A time has an offset or a Z and must fall on the file's day in UTC; an amount has up
// to two decimals. A row that cannot be read, or is of another day, is left out and
// counted, and the table says what was wrong with the first one. A field may be in
// quotes, but not go on in the next line. Empty lines do not count.
//
// # Failures
//
// A day that cannot be had is tried again in its place: up to -retries times, after
// pauses that double from -backoff to -max-pause, a quarter longer or shorter by
// chance. What may pass is tried again: no connection, an answer of 5xx, 408, 425 or
// 429, a body that is cut off, damaged or something else than a day of transactions,
// an attempt that takes longer than -timeout, or in which nothing comes for -idle.
// What will not pass is not: any other answer, as 404, a file larger than -max-size,
// a server that asks to be left alone for longer than -max-pause, more than 5
// redirections of one request or one from https to http. Part of a day is no day.
//
// A day that stays missing has a row that says why, and the day after it is compared
// with the last one that was there, which its row then names.
//
// # Output
//
// A row of the table is written to stdout as soon as its day has been compared: the
// number of transactions, the volume (the sum of the amounts, their signs left out)
// and the accounts that had any, how the first two have changed in per cent, how many
// accounts were not there the day before, how many were there only then, and the
// accounts whose volume changed most (-top of them). -chart draws the same as .svg or
// .png: the file appears under its name when the whole is there and not before.
//
// # Memory
//
// No more than -n days are in memory at any time (but two with -n 1, for it takes two to
// compare): those that are being downloaded, those that wait for one before them, the
// one being compared, and the day before it. So n downloads run at once at the start,
// and up to n-1 from then on. Of a day, its accounts and what each turned over is kept,
// not its rows; of a day that has been compared, a line.
//
// # Stopping, exit codes
//
// The first Ctrl-C (or SIGTERM, SIGHUP) begins no further day; those that were begun are
// finished, retries included, and the chart is drawn of that much. The second one aborts: no
// chart. When the reader of the output goes away (| head) the program ends quietly.
//
//	0    done; days that stayed missing are in the table (with -strict: 1)
//	1    failed: no day could be had, or output; stderr has one line that says what
//	2    wrong flags
//	130  interrupted
package main

import (
	"context"
	"net"
	"os"
	"time"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

// abortGrace is how long an aborted run may take to wind up before the program
// ends without it: it may be held in a write that nobody reads.
const abortGrace = 2 * time.Second

func main() {
	program.Main(abortGrace, func(ctx context.Context, stop <-chan struct{}) int {
		return run(ctx, os.Args[1:], environment{
			stdout: os.Stdout, stderr: os.Stderr, stop: stop,
			listen: func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") },
			dial:   (&net.Dialer{Timeout: dialTimeout}).DialContext,
			jitter: jitter,
		})
	})
}
