package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"strings"
	"time"
)

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
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

// errAborted is the cause with which the program's context is cancelled.
var errAborted = errors.New("aborted")

// run is the program: it returns the exit code. It aborts when ctx is cancelled,
// with errAborted as the cause.
func run(ctx context.Context, args []string, env environment) int {
	cfg, err := parseFlags(args, env.stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	}
	scr := &screen{w: env.stderr}
	var rep report
	if cfg.makeDB != "" {
		err = makeDB(ctx, cfg, env)
	} else {
		rep, err = enrichLog(ctx, cfg, env, scr)
	}
	switch {
	case errors.Is(err, errAborted):
		if !cfg.quiet {
			scr.print("aborted")
		}
		return exitInterrupted
	case readerGone(err): // nothing to be said
	case err != nil:
		scr.print("%s", oneLine(err))
		return exitFailed
	case !cfg.quiet && cfg.makeDB == "":
		scr.print("%v", rep)
	}
	if closed(env.stop) {
		return exitInterrupted
	}
	return exitOK
}

// oneLine is the text of an error, which may have been made of several.
func oneLine(err error) string {
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

// enrichLog does the job and reports what it did.
func enrichLog(ctx context.Context, cfg config, env environment, scr *screen) (report, error) {
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

	to, name := scr.over(env.stdout), "stdout"
	var file *outFile
	if cfg.out != "" {
		if file, err = createFile(cfg.out); err != nil {
			return report{}, err
		}
		defer func() {
			if file != nil {
				file.discard()
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
	defer j.stopReading(in, scr, cfg.quiet)()
	if !cfg.quiet && isTerminal(env.stderr) {
		defer scr.showProgress(out, in.size)()
	}
	start := time.Now()
	err = engines[cfg.engine](ctx, j)
	if errors.Is(err, errAborted) {
		return report{}, err
	}
	// What came before an error is written all the same.
	if flushErr := out.flush(); err == nil {
		err = flushErr
	}
	if err == nil && file != nil {
		err = file.commit()
		file = nil
		if err != nil {
			err = writeError{reasonFor("write "+name, err)}
		}
	}
	return reportOn(out, time.Since(start), closed(env.stop)), err
}

// stopReading sees to it that the input is interrupted, where it may be waiting,
// once the job is to stop. The returned function ends that.
func (j *job) stopReading(in *input, scr *screen, quiet bool) (end func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-j.stop:
			in.interrupt()
			if !quiet {
				scr.print("stopping when the lines that were read are done; again to abort")
			}
		case <-quit:
		}
	}()
	return func() {
		close(quit)
		<-done
	}
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
	if closed(env.stop) {
		cancel(errAborted)
	}
	go func() {
		select {
		case <-env.stop:
			cancel(errAborted)
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
