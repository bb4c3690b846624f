package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/seed95b73fdc/sluice/bench/internal/measure"
)

// circumstances are what a reader needs to judge the figures.
type circumstances struct {
	machine measure.Machine
	others  string // the share of the CPU that other processes had
	drift   string // calibrated work, measured again at the end
}

// heading writes the report's head: what was run, where, and which targets were reached.
func heading(w io.Writer, s settings, c circumstances, results []*measure.Result) {
	fmt.Fprintf(w, "# Measurements\n\n"+
		"Written by `go run ./bench`; [README.md](README.md) says how to read it. "+
		"%d interleaved repeats of at least %v each, %d items per run (fewer where each is a lot of work). "+
		"Every run's output was checked.\n\n",
		s.plan.Repeats, s.plan.AtLeast, s.items)
	m := c.machine
	about := measure.Table{Header: []string{"", ""}, Rows: [][]string{
		{"CPU", m.CPU},
		{"cores", fmt.Sprintf("%d (GOMAXPROCS %d)", m.Cores, m.Procs)},
		{"OS", m.OS},
		{"Go", m.Go},
		{"commit", m.Commit},
		{"date", m.Date},
		{"CPU used by other processes", c.others},
	}}
	if c.drift != "" {
		about.Rows = append(about.Rows, []string{"work, ns: calibrated → at the end", c.drift})
	}
	fmt.Fprintf(w, "%s\n", about.Markdown())
	if s.out != "" {
		fmt.Fprintf(w, "![Time per item of each contender](%s)\n\n", filepath.Base(s.drawing()))
	}
	fmt.Fprintf(w, "## Targets\n\n%s\n", measure.Targets(results).Markdown())
}
