// Command bench measures sluice against its peers and against no library at all.
//
//	go run ./bench                      # everything, about six minutes; writes bench/RESULTS.md and .svg
//	go run ./bench -rows ordered/n.=.4  # some rows, to the terminal only
//	go run ./bench -quick               # does it run? figures to be ignored
//	go run ./bench -pictures DIR        # only the pictures, about three minutes
//	go run ./bench -pictures DIR -which adaptive
//
// README.md beside this file says how to read the tables.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/seed95b73fdc/sluice/bench/internal/measure"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// settings are the command's flags.
type settings struct {
	plan  measure.Plan
	items int
	rows  *regexp.Regexp
	out   string // file for the report; "" for none

	pictures string         // folder for the pictures; "" for the report instead
	which    *regexp.Regexp // of the pictures' names
}

// drawing is the report's file with .svg at its end.
func (s settings) drawing() string {
	return strings.TrimSuffix(s.out, filepath.Ext(s.out)) + ".svg"
}

func parse(args []string, stderr io.Writer) (settings, error) {
	const (
		usualRepeats, usualItems, usualTurn = 10, 200_000, 20 * time.Millisecond
		quickRepeats, quickItems, quickTurn = 2, 5_000, time.Millisecond
	)
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	repeats := fs.Int("repeats", usualRepeats, "how often each contender has its turn")
	items := fs.Int("items", usualItems, "items per run; fewer where each is a lot of work")
	turn := fs.Duration("turn", usualTurn, "a turn repeats its run until this long has passed")
	rows := fs.String("rows", "", "measure only the rows whose group/name matches this regexp, and write no file unless -out says which")
	out := fs.String("out", "", "write the report to this file (default bench/RESULTS.md, when all rows are measured)")
	quick := fs.Bool("quick", false, "two short repeats, to see that it runs; write no file unless -out says which")
	pictures := fs.String("pictures", "", "draw the pictures of orders, routers and adaptive limits into this folder, and measure nothing else")
	which := fs.String("which", "", "draw only the pictures whose name matches this regexp: orders, routing, adaptive")
	if err := fs.Parse(args); err != nil {
		return settings{}, err
	}
	if fs.NArg() > 0 {
		return settings{}, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if *quick {
		for name, set := range map[string]func(){
			"repeats": func() { *repeats = quickRepeats },
			"items":   func() { *items = quickItems },
			"turn":    func() { *turn = quickTurn },
		} {
			if !given[name] {
				set()
			}
		}
	}
	if *repeats < 1 || *items < 1 {
		return settings{}, fmt.Errorf("-repeats %d and -items %d must be at least 1", *repeats, *items)
	}
	pattern, err := regexp.Compile(*rows)
	if err != nil {
		return settings{}, fmt.Errorf("-rows: %w", err)
	}
	chosen, err := regexp.Compile(*which)
	if err != nil {
		return settings{}, fmt.Errorf("-which: %w", err)
	}
	if *which != "" && *pictures == "" {
		return settings{}, fmt.Errorf("-which %q chooses among pictures: -pictures says where to", *which)
	}
	if *out == "" && *rows == "" && !*quick && *pictures == "" {
		*out = defaultOut()
	}
	return settings{measure.Plan{Repeats: *repeats, AtLeast: *turn, Log: stderr}, *items, pattern, *out, *pictures, chosen}, nil
}

// defaultOut is bench/RESULTS.md, from the project's root as from bench itself.
func defaultOut() string {
	const file, folder = "RESULTS.md", "bench"
	if info, err := os.Stat(folder); err == nil && info.IsDir() {
		return filepath.Join(folder, file)
	}
	return file
}

func run(args []string, stdout, stderr io.Writer) error {
	s, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if s.pictures != "" {
		return drawAll(s.pictures, s.which, s.plan, stdout)
	}
	machine, others := measure.Here(), measure.WatchOthers()
	c := newCalibrator()
	var results []*measure.Result
	for _, rows := range groups() {
		g, any := rows(config{items: s.items, spin: c.spin}).Select(s.rows)
		if !any {
			continue
		}
		r, err := measure.Run(g, s.plan)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	if len(results) == 0 {
		return fmt.Errorf("no row matches -rows %q", s.rows)
	}

	var report strings.Builder
	heading(&report, s, circumstances{
		machine: machine,
		others:  others.Share(),
		drift:   c.drift(),
	}, results)
	for _, r := range results {
		if _, err := r.WriteTo(&report); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(stdout, report.String()); err != nil {
		return err
	}
	if s.out == "" {
		return nil
	}
	if err := os.WriteFile(s.out, []byte(strings.TrimSpace(report.String())+"\n"), 0o644); err != nil {
		return err
	}
	return os.WriteFile(s.drawing(), []byte(measure.Draw(results)), 0o644)
}
