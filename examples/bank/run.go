package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

// environment is what the program has around it.
type environment struct {
	stdout, stderr io.Writer
	stop           <-chan struct{} // closed to begin no further operation
}

// run is the program: it returns the exit code. It aborts when ctx is cancelled, with
// program.ErrAborted as the cause.
func run(ctx context.Context, args []string, env environment) int {
	cfg, err := parseFlags(args, env.stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return program.OK
	case err != nil:
		return program.Usage
	}
	scr := program.NewScreen(env.stderr, "bank", program.QuietIf(cfg.quiet))
	return scr.Conclude(keepBank(ctx, cfg, env, scr), env.stop, nil)
}

// keepBank has the bank live, die and live again until the plan has been carried out,
// and then looks at the books.
func keepBank(ctx context.Context, cfg config, env environment, scr *program.Screen) error {
	if cfg.db == "" {
		dir, err := os.MkdirTemp("", "sluice-bank-")
		if err != nil {
			return err
		}
		defer program.Unfinished(dir)()
		defer os.RemoveAll(dir)
		cfg.db = filepath.Join(dir, "bank.db")
	}
	k := &keeper{cfg: cfg, env: env, scr: scr, told: newTold(cfg.operations)}
	defer scr.OnStop(env.stop, func() {}, "stopping when the operations that were begun are done; again to abort")()
	end := scr.Show(program.NewLines(k.table))
	err := k.lives(ctx)
	end()
	if err != nil {
		return err
	}
	s, err := openStore(ctx, cfg)
	if err != nil {
		return err
	}
	defer s.close()
	books, err := readBooks(ctx, s, cfg.plan, k.told)
	if err != nil {
		return err
	}
	if !cfg.quiet {
		if _, err := io.WriteString(scr.Over(env.stdout), k.report(books)); err != nil {
			return program.WriteError{Err: program.ReasonFor("write stdout", err)}
		}
	}
	if n := len(books.wrong); n > 0 {
		return fmt.Errorf("the books are wrong, in %s: %s", plural(n, "place"), books.wrong[0])
	}
	return nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return thousands(n) + " " + what + "s"
}
