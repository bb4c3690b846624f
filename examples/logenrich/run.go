package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"time"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

// defaultParallel is -n: enough to keep a few cores busy, or to hide a little
// latency; more for a database far away.
const defaultParallel = 8

// environment is what the program has around it.
type environment struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	stop           <-chan struct{}        // closed to stop reading and finish
	cacheDir       func() (string, error) // where the sample's database is kept
	lockWait       time.Duration          // for a database that is locked
}

// run is the program: it returns the exit code. It aborts when ctx is cancelled,
// with program.ErrAborted as the cause.
func run(ctx context.Context, args []string, env environment) int {
	cfg, err := parseFlags(args, env.stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return program.OK
	case err != nil:
		return program.Usage
	}
	scr := program.NewScreen(env.stderr, "logenrich", program.QuietIf(cfg.quiet))
	if cfg.makeDB != "" {
		return scr.Conclude(makeDB(ctx, cfg, env), env.stop, nil)
	}
	rep, err := enrichLog(ctx, cfg, env, scr)
	return scr.Conclude(err, env.stop, rep)
}

// enrichLog does the job and reports what it did.
func enrichLog(ctx context.Context, cfg config, env environment, scr *program.Screen) (report, error) {
	db, closeDB, err := openStore(ctx, cfg, env)
	if err != nil {
		return report{}, err
	}
	defer closeDB()
	in, err := openInput(cfg.in, env.stdin)
	if err != nil {
		return report{}, err
	}
	defer in.close()

	to, name := scr.Over(env.stdout), "stdout"
	var file *program.OutFile
	if cfg.out != "" {
		if file, err = program.CreateFile(cfg.out); err != nil {
			return report{}, err
		}
		defer func() {
			if file != nil {
				file.Discard()
			}
		}()
		to, name = file, cfg.out
	}
	out := newOutput(to, name)
	j := &job{
		src:    newSource(in, int(cfg.maxLine), cfg.batch, out),
		parser: newParser(cfg),
		store:  db,
		out:    out,
		n:      cfg.n,
		stop:   env.stop,
	}
	defer scr.OnStop(j.stop, in.interrupt, "stopping when the lines that were read are done; again to abort")()
	defer scr.Show(progressOf(out, in.size))()
	start := time.Now()
	err = engines[cfg.engine](ctx, j)
	if errors.Is(err, program.ErrAborted) {
		return report{}, err
	}
	// What came before an error is written all the same.
	if flushErr := out.flush(); err == nil {
		err = flushErr
	}
	if err == nil && file != nil {
		err = file.Commit()
		file = nil
		if err != nil {
			err = program.WriteError{Err: program.ReasonFor("write "+name, err)}
		}
	}
	return reportOn(out, time.Since(start), program.Closed(env.stop)), err
}

// openStore opens the database that is to be asked.
func openStore(ctx context.Context, cfg config, env environment) (st store, close func(), err error) {
	name, remove := cfg.db, func() {}
	if name == "" {
		if name, remove, err = sampleDatabase(ctx, env.cacheDir, cfg.key); err != nil {
			return nil, nil, err
		}
	}
	db, err := openDatabase(ctx, name, asking{cfg.key, cfg.n, max(cfg.batch, cfg.coalesce), env.lockWait})
	if err != nil {
		remove()
		return nil, nil, err
	}
	st = db
	if cfg.latency > 0 {
		st = slowStore{db, cfg.latency}
	}
	if cfg.coalesce == 0 {
		return st, func() { db.close(); remove() }, nil
	}
	shared := newCoalescingStore(st, cfg.coalesce)
	return shared, func() { shared.close(); db.close(); remove() }, nil
}

// makeDB is what -make-db does. Part of a database is of no use, so to stop is to
// abort.
func makeDB(ctx context.Context, cfg config, env environment) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if program.Closed(env.stop) {
		cancel(program.ErrAborted)
	}
	go func() {
		select {
		case <-env.stop:
			cancel(program.ErrAborted)
		case <-ctx.Done():
		}
	}()
	in, err := openInput(cfg.in, env.stdin)
	if err != nil {
		return err
	}
	defer in.close()
	rows, err := inventContents(ctx, cfg, newSource(in, int(cfg.maxLine), 1, neverIdle{}))
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	if err = makeDatabase(ctx, cfg.makeDB, rows); err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}
