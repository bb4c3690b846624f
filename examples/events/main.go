// Command events processes events that have keys, and keeps their results on
// disk, in three ways: with what everybody knows, with lock-free parts put
// together by hand, and with sluice.
//
//	go run ./examples/events [flags]
//
// Each event has an ID, a time, a key and a payload of 32 bytes; its result is a
// record of 32 bytes with a checksum of the payload. The ways:
//
//	naive     a queue under a mutex, a channel as semaphore, encoding/binary into
//	          a buffered writer under another mutex
//	lockfree  a ring for each worker, filled by a hash of the key; a deque for each
//	          worker, from which idle ones steal single events; a padded semaphore;
//	          a memory-mapped file with an atomic cursor
//	sluice    ordered.Map of batches, each appended to a sink.Log. All results come in
//	          order, so those of each key do; the work has no state, so no key needs
//	          an owner; and it is so little that batches of 128 are handed on
//	single    the same one by one, ordered.Map into sink.Write
//	keyed     keyed.Map into sink.Write, as it has to be when the work has a state for
//	          each key: one owner a key, lanes that idle workers steal as a whole
//
// and for comparison the loop of one goroutine into the map. They are run in
// turns, -repeats times each, and the file that each leaves is read back: every
// event has to be there once, with the right checksum. How many records have left
// the order of their key is counted; sluice promises that none has, in all its ways.
//
// The events are made before the clock starts, and the same for all. It stops when
// all results are with the system, and would survive the process; what it takes to
// close the file is not seen. Peak memory is what the heap had at most beyond
// the events themselves, looked at every few milliseconds.
//
// Exit status: 0, 1 if something failed or a file is wrong, 2 for wrong flags,
// 130 after Ctrl-C.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
	"github.com/seed95b73fdc/sluice/sink"
)

type config struct {
	events   int
	keys     int
	skew     float64
	workers  int
	work     time.Duration
	durable  sink.Durability
	repeats  int
	only     []string
	dir      string
	keep     bool
	counters bool
}

// abortGrace is how long an interrupted run may take to wind up before the
// program ends without it.
const abortGrace = 5 * time.Second

func main() {
	program.MainAborting(abortGrace, func(ctx context.Context) int {
		return command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	})
}

func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(stderr, "events: %v\n", err)
		return program.Usage
	}
	err = run(ctx, c, stdout)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "events: interrupted")
		return program.Interrupted
	}
	fmt.Fprintf(stderr, "events: %v\n", err)
	return program.Failed
}

func parse(args []string, stderr io.Writer) (c config, err error) {
	flags := flag.NewFlagSet("events", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&c.events, "events", 4_000_000, "how many `events`")
	flags.IntVar(&c.keys, "keys", 997, "how many `keys`")
	flags.Float64Var(&c.skew, "skew", 0, "the exponent of a Zipf distribution of the keys, more than 1; 0: all alike")
	flags.IntVar(&c.workers, "workers", 2*runtime.GOMAXPROCS(0), "how many `workers` each way has")
	flags.DurationVar(&c.work, "work", 0, "how much `time` each event takes beyond its checksum")
	durability := flags.String("durability", "buffered", "of the ways of sluice: buffered, sync, or an interval such as 100ms")
	flags.IntVar(&c.repeats, "repeats", 3, "how `often` each way is run; medians are printed")
	only := flags.String("only", strings.Join(names(), ","), "which `ways` are run")
	flags.StringVar(&c.dir, "dir", "", "where the files are written; a new directory, removed at the end, if not given")
	flags.BoolVar(&c.keep, "keep", false, "leave the files of the last run in -dir")
	flags.BoolVar(&c.counters, "counters", true, "show what false sharing costs, too")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return c, err
		}
		return c, errors.New("see -h") // the reason has been printed
	}
	switch {
	case flags.NArg() > 0:
		return c, fmt.Errorf("no arguments are taken, got %q", flags.Arg(0))
	case c.events < 1 || c.events > math.MaxInt32:
		return c, fmt.Errorf("-events is %d, want 1 to %d", c.events, math.MaxInt32)
	case c.keys < 1 || c.keys > 1<<24:
		return c, fmt.Errorf("-keys is %d, want 1 to %d", c.keys, 1<<24)
	case c.skew != 0 && !(c.skew > 1 && c.skew < 100):
		return c, fmt.Errorf("-skew is %v, want 0, or more than 1 and less than 100", c.skew)
	case c.workers < 1 || c.workers > 1024:
		return c, fmt.Errorf("-workers is %d, want 1 to 1024", c.workers)
	case c.work < 0 || c.work > time.Second:
		return c, fmt.Errorf("-work is %v, want 0 to 1s", c.work)
	case c.repeats < 1 || c.repeats > 1000:
		return c, fmt.Errorf("-repeats is %d, want 1 to 1000", c.repeats)
	case c.keep && c.dir == "":
		return c, errors.New("-keep needs -dir")
	}
	switch *durability {
	case "buffered":
		c.durable = sink.Buffered
	case "sync":
		c.durable = sink.EverySync
	default:
		d, err := time.ParseDuration(*durability)
		if err != nil || d < time.Millisecond {
			return c, fmt.Errorf("-durability is %q, want buffered, sync, or a time of 1ms or more", *durability)
		}
		c.durable = sink.Interval(d)
	}
	for _, name := range strings.Split(*only, ",") {
		if wayOf(name) == nil {
			return c, fmt.Errorf("-only has %q, want some of %s", name, strings.Join(names(), ", "))
		}
		if slices.Contains(c.only, name) {
			return c, fmt.Errorf("-only has %s twice", name)
		}
		c.only = append(c.only, name)
	}
	return c, nil
}
