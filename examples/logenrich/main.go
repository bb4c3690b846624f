// Logenrich reads an access log, looks each client up in a database, many at
// once, and writes one line of JSON for each line of the log, in the order of
// the log.
//
//	go run ./examples/logenrich                                # a built-in sample
//	go run ./examples/logenrich -in access.log -db clients.db  # a log, a database
//	zcat -f access.log* | logenrich -in - -out enriched.jsonl -n 8 -batch 64
//
// # Input
//
// -in names a file, or - for stdin; without it the built-in sample is read.
// Gzip is recognised by its first bytes, whatever the name, and may have
// several members. A line ends with LF or CRLF; the last one may have no end.
// A line longer than -max-line (1 MiB) is reported in its place, with its first
// 1,024 bytes, and the lines after it are read as usual. A run of NUL bytes at
// the start of a line, as a power cut leaves it, counts as a malformed line of
// its own.
//
// -format says how a line is read:
//
//	combined  Apache's and nginx's combined format
//	common    the same without referer and agent; the size may be missing
//	json      one JSON object per line
//	logfmt    key=value pairs
//	auto      the default, decided line by line: an object is JSON; a line whose
//	          first word has a = in it is logfmt; any other is combined or common
//
// In combined and common lines a field written as - is absent (null in the
// output) and one written as nothing is empty (""). Escapes within quotes, \" of
// Apache and \x22 of nginx alike, are undone; a backslash that begins no escape
// stands for itself. Times are written in UTC. A time with no zone is taken to be
// in -zone (default UTC), the earlier of two where clocks were set back; a zone
// given by an abbreviation, such as PST, makes the line malformed, for it has no
// one meaning; only UTC and GMT are taken.
//
// In JSON and logfmt lines only the key is looked at: times and all else are
// carried as they are.
//
// # Output
//
// A combined line gives, on one line:
//
//	{"line":1,"host":"203.0.113.7","ident":null,"user":"ana",
//	 "time":"2024-03-04T08:00:01Z","request":"GET / HTTP/1.1","status":200,
//	 "bytes":5120,"referer":null,"agent":"curl/8.5.0",
//	 "client":{"key":"203.0.113.7","name":"Harbour Books","country":"PT"}}
//
// A common line has no referer and agent. A JSON or logfmt line has its own
// fields under "fields" instead, as they were. A client that the database does
// not know, or a line that names none, is "client":null. A malformed line keeps
// its place:
//
//	{"line":17,"raw":"what stood there","error":"combined: no [time] after the user"}
//
// Text that is not valid UTF-8 cannot stand in JSON as it is: such a field, say
// "agent", is given as "agent_base64" instead, so that no byte is lost.
//
// Output goes to stdout, or to the file named by -out, which appears under its
// name when the whole is there and not before, and is not touched on failure.
//
// # Lookup
//
// -db names an SQLite database. Its table (or view) clients has a column key,
// unique, with the client's address as the log gives it; all its columns become
// fields of "client". With -key user the line's user is looked up instead, in
// the table users. In JSON and logfmt lines the key is in the field named by
// -field, or in the first of the usual ones: for clients remote_addr, remote_ip,
// client_ip, clientip, client, remote_host, host, ip, addr; for users
// remote_user, user, username, user_name, user_id. The database is opened for
// reading only, -n queries run at once, each on its own connection, and with -batch 64
// one query asks for the keys of up to 64 lines. (A batch is cut short when the
// input pauses.) With -coalesce 64 instead, up to 64 of the lookups that run at
// the same time share a query: while one is under way the next ones gather, and
// -n says how many there can be. Without -db a made-up database of the sample's clients is built
// in the user's cache folder on the first run.
//
// -make-db FILE writes such a database for the clients of a log of your own,
// made-up names, every tenth left out, and ends: something to try -db with.
//
// # Stopping, exit codes
//
// The first Ctrl-C (or SIGTERM, SIGHUP) stops reading; what was read is finished
// and written, and the -out file holds that much. The second one aborts: no -out
// file. When the reader of the output goes away (| head) the program ends quietly.
//
//	0    all lines written, malformed ones included; or the output's reader went away
//	1    failed: database, input or output; stderr has one line that says what
//	2    wrong flags
//	130  interrupted
//
// # Comparison
//
// -engine loop does the same lookups one by one in a plain loop, -engine rill on
// a rill pipeline; the output is the same to the byte. -latency 1ms adds that
// much to each query, as a database across a network would. Both are for
// demonstration.
package main

import (
	"context"
	"os"
	"time"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

// abortGrace is how long an aborted run may take to wind up before the program
// ends without it: it may be held in a write that nobody reads.
const abortGrace = 2 * time.Second

// lockWait is how long a query waits for somebody who writes to the database.
const lockWait = 2 * time.Second

func main() {
	program.Main(abortGrace, func(ctx context.Context, stop <-chan struct{}) int {
		return run(ctx, os.Args[1:], environment{
			stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
			stop: stop, cacheDir: os.UserCacheDir, lockWait: lockWait,
		})
	})
}
