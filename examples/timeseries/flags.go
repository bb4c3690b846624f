package main

import (
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

const (
	maxParallel = 256    // bounds -n: each download has a connection
	maxDays     = 36_600 // a century
	maxTop      = 100
	maxRetries  = 100
)

// config is the command line, checked.
type config struct {
	url     template
	span    span
	n, top  int
	retries int
	backoff time.Duration
	pause   time.Duration
	timeout time.Duration
	idle    time.Duration
	maxSize program.ByteSize
	chart   string
	strict  bool
	verbose bool
	quiet   bool
	made    madeUp
}

// madeUp says what the built-in server serves.
type madeUp struct {
	rows, accounts int
	seed           uint64
	faults         faults
}

// parseFlags reads the command line. The error is flag.ErrHelp if help was asked
// for and program.ErrUsage if a flag was wrong; either has been explained on stderr.
func parseFlags(args []string, stderr io.Writer) (config, error) {
	cfg := config{
		span:    span{first: mustDate("2026-01-01"), days: 90},
		maxSize: 256 * program.MiB,
	}
	fs := flag.NewFlagSet("timeseries", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprintln(stderr, "usage: timeseries [flags]")
		fmt.Fprintln(stderr, "Downloads days of transactions, many at once, and compares each with the day before, in order.")
		fs.PrintDefaults()
	}
	fs.StringVar((*string)(&cfg.url), "url", "", "download from this `template`, such as https://host/data/{date}.csv.gz; {year}, {month} and {day} are filled in too (default a built-in server)")
	fs.Func("from", "the first day, such as 2026-03-04 (default 2026-01-01)", func(s string) (err error) {
		cfg.span.first, err = parseDate(s)
		return err
	})
	fs.IntVar(&cfg.span.days, "days", cfg.span.days, "the `number` of days")
	fs.IntVar(&cfg.n, "n", 8, "download this many days at once, and hold no more in memory (but two: one to compare with)")
	fs.IntVar(&cfg.top, "top", 1, "name this many of the accounts that changed most")
	fs.StringVar(&cfg.chart, "chart", "", "draw the trend into this `file`, as .svg or .png")
	fs.IntVar(&cfg.retries, "retries", 4, "try a day again up to this many times")
	fs.DurationVar(&cfg.backoff, "backoff", 200*time.Millisecond, "pause before the second attempt; the pauses double")
	fs.DurationVar(&cfg.pause, "max-pause", time.Minute, "the longest pause; a server that asks for a longer one is not asked again")
	fs.DurationVar(&cfg.timeout, "timeout", 5*time.Minute, "give up an attempt that takes longer")
	fs.DurationVar(&cfg.idle, "idle", 15*time.Second, "give up an attempt when nothing has come for this long")
	fs.Var(&cfg.maxSize, "max-size", "refuse files of more `bytes`, packed or unpacked; 64KiB, 256MiB")
	fs.BoolVar(&cfg.strict, "strict", false, "exit with 1 if a day is missing")
	fs.BoolVar(&cfg.verbose, "v", false, "tell of each retry")
	fs.BoolVar(&cfg.quiet, "q", false, "no progress and no summary")

	fs.IntVar(&cfg.made.rows, "rows", 2_000, "built-in server: about this many transactions a day")
	fs.IntVar(&cfg.made.accounts, "accounts", 1_000, "built-in server: about this many accounts")
	fs.Uint64Var(&cfg.made.seed, "seed", 1, "built-in server: make up other data, and other faults")
	fs.DurationVar(&cfg.made.faults.latency, "latency", 0, "built-in server: answer this much later")
	fs.Float64Var(&cfg.made.faults.rate, "fail-rate", 0, "built-in server: answer this part of the requests, 0 to 1, with an error or damaged data")
	fs.Func("missing", "built-in server: do not have these `days`, such as 2026-03-04,2026-03-05", func(s string) error {
		for name := range strings.SplitSeq(s, ",") {
			d, err := parseDate(name)
			if err != nil {
				return err
			}
			cfg.made.faults.missing = append(cfg.made.faults.missing, d)
		}
		return nil
	})

	if err := program.Parse(fs, args, func() error { return cfg.check(fs) }); err != nil {
		return config{}, err
	}
	return cfg, nil
}

// mustDate is parseDate of a constant.
func mustDate(s string) date {
	d, err := parseDate(s)
	if err != nil {
		panic(err)
	}
	return d
}

// ofServer are the flags that mean nothing without the built-in server.
var ofServer = []string{"rows", "accounts", "seed", "latency", "fail-rate", "missing"}

func (c *config) check(fs *flag.FlagSet) error {
	given := map[string]bool{}
	var err error
	fs.Visit(func(f *flag.Flag) {
		given[f.Name] = true
		if (f.Name == "url" || f.Name == "chart") && f.Value.String() == "" {
			err = fmt.Errorf("flag -%s has no value", f.Name)
		}
	})
	if given["url"] && err == nil {
		for _, name := range ofServer {
			if given[name] {
				return fmt.Errorf("flag -%s is for the built-in server, which -url does without", name)
			}
		}
	}
	faults := c.made.faults
	switch {
	case err != nil:
		return err
	case fs.NArg() > 0:
		return fmt.Errorf("unexpected argument %q (flags only)", fs.Arg(0))
	case c.span.days < 1 || c.span.days > maxDays:
		return fmt.Errorf("invalid value %d for flag -days: it is 1 to %d", c.span.days, maxDays)
	case c.span.last() > lastDate:
		return fmt.Errorf("invalid value %d for flag -days: the last day would be after %v", c.span.days, lastDate)
	case c.n < 1 || c.n > maxParallel:
		return fmt.Errorf("invalid value %d for flag -n: it is 1 to %d", c.n, maxParallel)
	case c.top < 0 || c.top > maxTop:
		return fmt.Errorf("invalid value %d for flag -top: it is 0 to %d", c.top, maxTop)
	case c.retries < 0 || c.retries > maxRetries:
		return fmt.Errorf("invalid value %d for flag -retries: it is 0 to %d", c.retries, maxRetries)
	case c.backoff <= 0:
		return fmt.Errorf("invalid value %v for flag -backoff: it is more than 0", c.backoff)
	case c.pause < c.backoff:
		return fmt.Errorf("invalid value %v for flag -max-pause: it is not less than -backoff, %v", c.pause, c.backoff)
	case c.timeout <= 0:
		return fmt.Errorf("invalid value %v for flag -timeout: it is more than 0", c.timeout)
	case c.idle <= 0:
		return fmt.Errorf("invalid value %v for flag -idle: it is more than 0", c.idle)
	case c.maxSize < 1:
		return fmt.Errorf("invalid value %v for flag -max-size: it is 1 to %v", c.maxSize, program.ByteSize(program.MaxByteSize))
	case c.made.rows < 0 || c.made.rows > maxMadeRows:
		return fmt.Errorf("invalid value %d for flag -rows: it is 0 to %d", c.made.rows, maxMadeRows)
	case c.made.accounts < 1 || c.made.accounts > maxMadeAccounts:
		return fmt.Errorf("invalid value %d for flag -accounts: it is 1 to %d", c.made.accounts, maxMadeAccounts)
	case faults.latency < 0:
		return fmt.Errorf("invalid value %v for flag -latency: it is not negative", faults.latency)
	case !(faults.rate >= 0 && faults.rate <= 1): // nor is NaN
		return fmt.Errorf("invalid value %v for flag -fail-rate: it is 0 to 1", faults.rate)
	}
	for _, d := range faults.missing {
		if d < c.span.first || d > c.span.last() {
			return fmt.Errorf("invalid value %v for flag -missing: it is not among the days %v to %v", d, c.span.first, c.span.last())
		}
	}
	if given["url"] {
		if err := c.url.check(); err != nil {
			return fmt.Errorf("invalid value %q for flag -url: %v", string(c.url), err)
		}
	}
	if c.chart != "" && chartFormat(c.chart) == "" {
		return fmt.Errorf("invalid value %q for flag -chart: its name ends in .svg or .png", c.chart)
	}
	return nil
}
