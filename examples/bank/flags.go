package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

// Bounds of the flags.
const (
	maxAccounts   = 1_000_000
	maxOperations = 10_000_000
	maxClients    = 10_000
	maxOwners     = 1024
	maxCrashes    = 1000
)

// none is the number of no operation.
const none = -1

// durability is how the database writes, as its PRAGMA synchronous has it.
type durability string

const (
	survivesKill     durability = "NORMAL" // the log is with the system at a commit
	survivesPowerCut durability = "FULL"   // it is on the disk
)

// config is the command line, checked.
type config struct {
	plan
	owners  int
	crashes int
	db      string // "": a temporary one
	durable durability
	wait    time.Duration // for a database that is locked
	lose    int           // an operation, or none
	quiet   bool
}

// parseFlags reads the command line. The error is flag.ErrHelp if help was asked
// for and program.ErrUsage if a flag was wrong; either has been explained on stderr.
func parseFlags(args []string, stderr io.Writer) (config, error) {
	cfg := config{durable: survivesKill, wait: lockWait}
	fs := flag.NewFlagSet("bank", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprintln(stderr, "usage: bank [flags]")
		fmt.Fprintln(stderr, "Runs a bank, kills it in the middle, starts it again, and checks the books.")
		fs.PrintDefaults()
	}
	fs.IntVar(&cfg.accounts, "accounts", 100, "there are `n` accounts")
	fs.IntVar(&cfg.operations, "operations", 20_000, "`n` deposits and transfers are to be carried out")
	fs.IntVar(&cfg.clients, "clients", 64, "`n` clients bring them at once")
	fs.Float64Var(&cfg.hot, "hot", 0.25, "this `share` of the operations is drawn to account 0")
	fs.Uint64Var(&cfg.seed, "seed", 1, "the operations follow from this `number`")
	fs.IntVar(&cfg.owners, "owners", 16, "carry out up to `n` operations at once, and after a while twice as many")
	fs.IntVar(&cfg.crashes, "crashes", 1, "kill the bank `n` times")
	fs.StringVar(&cfg.db, "db", "", "keep the books in this `file`, and go on if there are some (default a temporary one)")
	fs.Func("sync", "whether each commit waits for the disk, so that it survives a power cut: `yes` or no (default no)", func(s string) error {
		switch s {
		case "yes":
			cfg.durable = survivesPowerCut
		case "no":
			cfg.durable = survivesKill
		default:
			return errors.New("it is yes or no")
		}
		return nil
	})
	fs.IntVar(&cfg.lose, "lose", none, "for demonstration: acknowledge the operation of this `number` without carrying it out")
	fs.BoolVar(&cfg.quiet, "q", false, "no table, no report")

	if err := program.Parse(fs, args, func() error { return cfg.check(fs) }); err != nil {
		return config{}, err
	}
	return cfg, nil
}

func (c *config) check(fs *flag.FlagSet) (err error) {
	fs.Visit(func(f *flag.Flag) {
		if f.Name == "db" && c.db == "" {
			err = errors.New("flag -db has no value")
		}
	})
	for _, b := range []struct {
		name             string
		value, low, high int
	}{
		{"accounts", c.accounts, 2, maxAccounts},
		{"operations", c.operations, 1, maxOperations},
		{"clients", c.clients, 1, maxClients},
		{"owners", c.owners, 1, maxOwners},
		{"crashes", c.crashes, 0, maxCrashes},
		{"lose", c.lose, none, c.operations - 1},
	} {
		if err == nil && (b.value < b.low || b.value > b.high) {
			err = fmt.Errorf("invalid value %d for flag -%s: it is %d to %d", b.value, b.name, b.low, b.high)
		}
	}
	switch {
	case err != nil:
		return err
	case fs.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case !(c.hot >= 0 && c.hot <= 1): // nor is NaN
		return fmt.Errorf("invalid value %v for flag -hot: it is 0 to 1", c.hot)
	}
	if c.db != "" {
		c.db, err = filepath.Abs(c.db)
	}
	return err
}

// args is the command line of the process with the bank.
func (c config) args() []string {
	args := []string{
		"-accounts", strconv.Itoa(c.accounts), "-operations", strconv.Itoa(c.operations), "-clients", strconv.Itoa(c.clients),
		"-hot", strconv.FormatFloat(c.hot, 'g', -1, 64), "-seed", strconv.FormatUint(c.seed, 10),
		"-owners", strconv.Itoa(c.owners), "-db", c.db, "-lose", strconv.Itoa(c.lose),
	}
	if c.durable == survivesPowerCut {
		args = append(args, "-sync", "yes")
	}
	return args
}
