package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

// The exit codes.
const (
	exitFound       = 0
	exitNotFound    = 1
	exitFailed      = 2
	exitInterrupted = program.Interrupted
)

// environment is what the program has around it.
type environment struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	sys            system
}

// run is the program: it returns the exit code. It ends when ctx is cancelled,
// with program.ErrAborted as the cause.
func run(ctx context.Context, args []string, env environment) int {
	cfg, err := parseFlags(args, env.stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitFound
	case err != nil:
		return exitFailed
	}
	scr := program.NewScreen(env.stderr, "firstmatch", program.QuietIf(cfg.quiet))
	c := new(counts)
	err = findAndPrint(ctx, cfg, env, scr, c)
	if cfg.stats {
		scr.Print("%v", c)
	}
	switch {
	case program.ReaderGone(err):
		return exitFound // it has what it wants
	case errors.Is(err, program.ErrAborted):
		return exitInterrupted
	case err != nil:
		scr.Print("%s", program.OneLine(err))
		return exitFailed
	case c.matches.Load() > 0:
		return exitFound
	case c.errors.Load() > 0:
		return exitFailed
	}
	return exitNotFound
}

// findAndPrint does the job. The progress is gone when it returns.
func findAndPrint(ctx context.Context, cfg config, env environment, scr *program.Screen, c *counts) error {
	out := newPrinter(scr.Over(env.stdout))
	f := newFinder(cfg, env, c)
	f.report = func(err error) { scr.Print("%s", program.OneLine(err)) }
	defer scr.Show(progressOf(c, &f.files))()
	err := f.find(ctx, func(ctx context.Context, h hit) error {
		c.matches.Add(1)
		return out.print(ctx, h)
	})
	if flushErr := out.flush(); err == nil || flushErr != nil && errors.Is(err, program.ErrAborted) {
		err = flushErr
	}
	return err
}

func newFinder(cfg config, env environment, c *counts) *finder {
	s := newSearcher(cfg.pattern, newFolders(env.sys), c)
	s.count, s.skip, s.unpack, s.maxSize = cfg.count, cfg.skipErrors, cfg.unpack, int64(cfg.maxSize)
	s.stdin, s.output = env.stdin, outputID(env.stdout)
	return &finder{cfg: cfg, search: s, counts: c}
}

// outputID identifies the file that the output goes to, which is not to be
// searched.
func outputID(w io.Writer) fileID {
	if f, ok := w.(*os.File); ok {
		if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
			return idOf(st)
		}
	}
	return fileID{}
}

// String is the summary, one line.
func (c *counts) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d files searched, %d bytes, in %d folders; %d matches",
		c.files.Load(), c.bytes.Load(), c.folders.Load(), c.matches.Load())
	var passed []string
	for _, p := range []struct {
		n    int64
		what string
	}{
		{c.hidden.Load(), "hidden"}, {c.links.Load(), "links"}, {c.specials.Load(), "special"},
		{c.large.Load(), "too large"}, {c.output.Load(), "the output"}, {c.errors.Load(), "unreadable"},
	} {
		if p.n > 0 {
			passed = append(passed, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	if passed != nil {
		b.WriteString("; passed over: " + strings.Join(passed, ", "))
	}
	return b.String()
}
