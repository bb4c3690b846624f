package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	ok, err := run(os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// run does what the arguments say, and reports whether every fault was noticed.
func run(args []string, out io.Writer) (bool, error) {
	fs := flag.NewFlagSet("mutants", flag.ContinueOnError)
	only := fs.String("run", "", "plant only the faults whose name matches this regexp")
	list := fs.Bool("list", false, "print the names of the faults and plant none")
	timeout := fs.Duration("timeout", time.Minute, "for each run of tests; one that takes longer has noticed the fault")
	verbose := fs.Bool("v", false, "print what the tests print")
	root := fs.String("root", "", "the project's root (default: where git says it is)")
	if err := fs.Parse(args); err != nil {
		return false, err
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return false, fmt.Errorf("-run: %w", err)
	}
	if *root == "" {
		top, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
		if err != nil {
			return false, fmt.Errorf("git rev-parse: %w", err)
		}
		*root = strings.TrimSpace(string(top))
	}
	all, err := load(filepath.Join(*root, "scripts", "mutants.d"))
	if err != nil {
		return false, err
	}
	var chosen []mutant
	for _, m := range all {
		if pattern.MatchString(m.name()) {
			chosen = append(chosen, m)
		}
	}
	if len(chosen) == 0 {
		return false, fmt.Errorf("no fault's name matches -run %q", *only)
	}
	if *list {
		for _, m := range chosen {
			fmt.Fprintln(out, m.name())
		}
		return true, nil
	}
	t, err := copyTree(*root)
	if err != nil {
		return false, err
	}
	defer t.remove()
	return t.plant(chosen, *timeout, *verbose, out)
}

// plant plants the faults one after the other, and prints what becomes of each.
func (t tree) plant(all []mutant, timeout time.Duration, verbose bool, out io.Writer) (bool, error) {
	sound := map[string]bool{} // tests that pass without a fault
	var bad []string
	for _, m := range all {
		start := time.Now()
		if !sound[m.test] {
			v, text := t.test(m.test, timeout)
			if v == hung { // the machine may have been busy
				v, text = t.test(m.test, timeout)
			}
			if v != passed {
				return false, fmt.Errorf("go test %s does not pass without any fault:\n%s", m.test, text)
			}
			sound[m.test] = true
		}
		what, text, err := t.try(m, timeout)
		if err != nil {
			return false, err
		}
		fmt.Fprintf(out, "%-9s %s (%.1f s)\n", what, m.name(), time.Since(start).Seconds())
		if verbose || what == "BROKEN" || what == "STALE" {
			fmt.Fprintln(out, text)
		}
		if what != "killed" && what != "hung" {
			bad = append(bad, what+" "+m.name())
		}
	}
	fmt.Fprintf(out, "\n%d faults, %d noticed\n", len(all), len(all)-len(bad))
	for _, line := range bad {
		fmt.Fprintln(out, line)
	}
	return len(bad) == 0, nil
}

// try plants one fault, runs its tests, and mends the file again.
func (t tree) try(m mutant, timeout time.Duration) (what, text string, err error) {
	whole, err := t.read(m.file)
	if err != nil {
		return "STALE", err.Error(), nil
	}
	spoiled, err := m.apply(whole)
	if err != nil {
		return "STALE", err.Error(), nil
	}
	if err := t.write(m.file, spoiled); err != nil {
		return "", "", err
	}
	defer func() {
		if mend := t.write(m.file, whole); err == nil {
			err = mend
		}
	}()
	for range m.tries {
		args := m.test
		if m.tries > 1 {
			args = "-count=1 " + args
		}
		switch v, text := t.test(args, timeout); v {
		case failed:
			return "killed", text, nil
		case hung:
			return "hung", text, nil
		case broken:
			return "BROKEN", text, nil
		}
	}
	return "SURVIVED", "", nil
}
