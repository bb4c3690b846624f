package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

const (
	// maxParallel bounds -n: each search has an open file and a buffer.
	maxParallel = 1024
	// leastParallel is the least that -n is by default, which is 2 for each
	// processor: one is enough where files are in memory, but a disk wants more.
	leastParallel = 4
)

func defaultParallel() int {
	return min(max(leastParallel, 2*runtime.GOMAXPROCS(0)), maxParallel)
}

// The orders in which files are searched.
const (
	orderPath  = "path"
	orderName  = "name"
	orderMtime = "mtime"
	orderSize  = "size"
	orderGiven = "given"
)

var orders = []string{orderPath, orderName, orderMtime, orderSize, orderGiven}

// config is the command line, checked.
type config struct {
	text       string
	expr, fold bool
	pattern    *pattern
	paths      []string
	n          int
	order      string
	count      int64
	unpack     bool
	maxSize    byteSize
	hidden     bool
	skipErrors bool
	stats      bool
	quiet      bool
}

// parseFlags reads the command line. The error is flag.ErrHelp if help was asked
// for and program.ErrUsage if something was wrong; either has been explained on stderr.
func parseFlags(args []string, stderr io.Writer) (config, error) {
	var cfg config
	fs := flag.NewFlagSet("firstmatch", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprintln(stderr, "usage: firstmatch [flags] PATTERN [PATH…]")
		fmt.Fprintln(stderr, "Prints the first line, in the order of the files, that contains the pattern.")
		fs.PrintDefaults()
	}
	fs.BoolVar(&cfg.expr, "e", false, "the pattern is a regular expression (of Go), not a fixed string")
	fs.BoolVar(&cfg.fold, "i", false, "upper and lower case are the same")
	fs.IntVar(&cfg.n, "n", defaultParallel(), "search this many files at once")
	fs.StringVar(&cfg.order, "order", orderPath, "which file is first: by `path`, name, mtime (oldest), size (smallest), or in the order given")
	fs.Int64Var(&cfg.count, "count", 1, "print this many matching lines")
	fs.BoolVar(&cfg.unpack, "z", false, "search inside of .gz and .zst files too")
	fs.Var(&cfg.maxSize, "max-size", "pass over files with more than this many `bytes`; 64KiB, 1MiB, 2GiB (default any size)")
	fs.BoolVar(&cfg.hidden, "hidden", false, "search hidden files and folders too, whose names begin with a dot")
	fs.BoolVar(&cfg.skipErrors, "skip-errors", false, "report what cannot be read, and go on")
	fs.BoolVar(&cfg.stats, "stats", false, "say on stderr what was searched and what passed over")
	fs.BoolVar(&cfg.quiet, "q", false, "no progress")

	err := program.Parse(fs, args, func() error {
		if err := cfg.check(fs.Args()); err != nil {
			return fmt.Errorf("firstmatch: %s", program.OneLine(err))
		}
		return nil
	})
	if err != nil {
		return config{}, err
	}
	return cfg, nil
}

func (c *config) check(args []string) (err error) {
	if len(args) == 0 {
		return errors.New("no pattern")
	}
	c.text, c.paths = args[0], args[1:]
	switch {
	case c.n < 1 || c.n > maxParallel:
		return fmt.Errorf("invalid value %d for flag -n: it is 1 to %d", c.n, maxParallel)
	case c.count < 1 || c.count > math.MaxInt:
		return fmt.Errorf("invalid value %d for flag -count: it is 1 to %d", c.count, math.MaxInt)
	case !slices.Contains(orders, c.order):
		return fmt.Errorf("invalid value %q for flag -order: it is one of %s", c.order, strings.Join(orders, ", "))
	case slices.Contains(c.paths, ""):
		return errors.New("a path is empty")
	}
	c.pattern, err = compile(c.text, c.expr, c.fold)
	return err
}

// byteSize is a number of bytes, with KiB, MiB or GiB allowed behind it; 0 is not
// one of them.
type byteSize int64

var units = []struct {
	suffix string
	bytes  int64
}{{"GiB", giB}, {"MiB", miB}, {"KiB", kiB}, {"", 1}}

func (b *byteSize) String() string {
	if *b == 0 {
		return "" // so that no default is printed
	}
	for _, u := range units {
		if int64(*b)%u.bytes == 0 {
			return strconv.FormatInt(int64(*b)/u.bytes, 10) + u.suffix
		}
	}
	return ""
}

// Set implements flag.Value.
func (b *byteSize) Set(s string) error {
	for _, u := range units {
		digits, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		v, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || v < 1 || v > (1<<62)/u.bytes {
			break
		}
		*b = byteSize(v * u.bytes)
		return nil
	}
	return errors.New("not a number of bytes, of at least 1")
}
