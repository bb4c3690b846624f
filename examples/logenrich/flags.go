package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // -zone works where the system has no time zones

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

// maxBatch is how many keys one query may ask for; SQLite takes 32,766 at most.
const maxBatch = 4096

// maxParallel bounds -n: each lookup has a connection, and so an open file.
const maxParallel = 1024

// maxMaxLine bounds -max-line.
const maxMaxLine = 1 << 30

// config is the command line, checked.
type config struct {
	in, out, db string
	makeDB      string
	format      string
	key         string
	field       string
	zone        *time.Location
	maxLine     program.ByteSize
	n, batch    int
	coalesce    int // 0: off
	engine      string
	latency     time.Duration
	quiet       bool
}

// parseFlags reads the command line. The error is flag.ErrHelp if help was asked
// for and program.ErrUsage if a flag was wrong; either has been explained on stderr.
func parseFlags(args []string, stderr io.Writer) (config, error) {
	cfg := config{zone: time.UTC, maxLine: 1 << 20}
	fs := flag.NewFlagSet("logenrich", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprintln(stderr, "usage: logenrich [flags]")
		fmt.Fprintln(stderr, "Looks up the client of each line of a log and writes JSON lines, in the order of the log.")
		fs.PrintDefaults()
	}
	fs.StringVar(&cfg.in, "in", "", "read this `file`, or - for stdin (default a built-in sample)")
	fs.StringVar(&cfg.out, "out", "", "write this `file`, whole or not at all (default stdout)")
	fs.StringVar(&cfg.db, "db", "", "look clients up in this SQLite `file` (default one made for the sample)")
	fs.StringVar(&cfg.makeDB, "make-db", "", "write a made-up database for the clients of the input to this `file`, and end")
	fs.StringVar(&cfg.format, "format", "auto", "`format` of the lines: auto, combined, common, json or logfmt")
	fs.StringVar(&cfg.key, "key", "client", "look up the `client or user` of each line")
	fs.StringVar(&cfg.field, "field", "", "`name` of the field with the key in JSON and logfmt lines (default the usual names)")
	fs.Func("zone", "time `zone` of times that have none, such as Europe/Berlin (default UTC)", func(s string) (err error) {
		if s == "" || s == "Local" { // what LoadLocation makes of these depends on the machine
			return errors.New("name a zone")
		}
		cfg.zone, err = time.LoadLocation(s)
		return err
	})
	fs.Var(&cfg.maxLine, "max-line", "report lines longer than this many `bytes` instead of reading them; 64KiB, 1MiB")
	fs.IntVar(&cfg.n, "n", defaultParallel, "run this many lookups at once")
	fs.IntVar(&cfg.batch, "batch", 1, "ask for the keys of up to this many lines in one query")
	fs.IntVar(&cfg.coalesce, "coalesce", 0, "let up to this many lookups that run at once share a query (default off)")
	fs.StringVar(&cfg.engine, "engine", "sluice", "for comparison: sluice, loop or rill")
	fs.DurationVar(&cfg.latency, "latency", 0, "for demonstration: make each query take this much longer")
	fs.BoolVar(&cfg.quiet, "q", false, "no progress and no summary")

	if err := program.Parse(fs, args, func() error { return cfg.check(fs) }); err != nil {
		return config{}, err
	}
	return cfg, nil
}

func (c *config) check(fs *flag.FlagSet) error {
	var err error
	fs.Visit(func(f *flag.Flag) {
		if f.Value.String() == "" && f.Name != "zone" { // zone was checked when it was set
			err = fmt.Errorf("flag -%s has no value", f.Name)
		}
	})
	switch {
	case err != nil:
		return err
	case fs.NArg() > 0:
		return fmt.Errorf("unexpected argument %q (the log is named with -in)", fs.Arg(0))
	case !slices.Contains(formats, c.format):
		return fmt.Errorf("invalid value %q for flag -format: it is one of %s", c.format, strings.Join(formats, ", "))
	case c.key != keyClient && c.key != keyUser:
		return fmt.Errorf("invalid value %q for flag -key: it is client or user", c.key)
	case engines[c.engine] == nil:
		return fmt.Errorf("invalid value %q for flag -engine: it is sluice, loop or rill", c.engine)
	case c.n < 1 || c.n > maxParallel:
		return fmt.Errorf("invalid value %d for flag -n: it is 1 to %d", c.n, maxParallel)
	case c.batch < 1 || c.batch > maxBatch:
		return fmt.Errorf("invalid value %d for flag -batch: it is 1 to %d", c.batch, maxBatch)
	case c.coalesce < 0 || c.coalesce > maxBatch:
		return fmt.Errorf("invalid value %d for flag -coalesce: it is 0 to %d", c.coalesce, maxBatch)
	case c.coalesce > 0 && c.batch > 1:
		return errors.New("-coalesce and -batch do not go together")
	case c.maxLine < 1 || c.maxLine > maxMaxLine:
		return fmt.Errorf("invalid value %v for flag -max-line: it is 1 to %v", c.maxLine, program.ByteSize(maxMaxLine))
	case c.latency < 0:
		return fmt.Errorf("invalid value %v for flag -latency: it is not negative", c.latency)
	case c.out != "" && program.SameFile(c.out, c.db), c.makeDB != "" && program.SameFile(c.makeDB, c.in):
		return errors.New("the output would replace an input")
	}
	return nil
}
