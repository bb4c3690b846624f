package measure

import (
	"fmt"
	"regexp"
)

// Contender does a job in one way.
type Contender interface {
	// Name is what the tables call it; no two of a row have the same.
	Name() string
	// Run does the whole job once and returns what the job's consumer saw.
	// When it returns, its goroutines have ended or are about to.
	Run() (Tally, error)
}

// Row is one setting of a group's job, and those who do it.
type Row struct {
	Name       string // "n = 4"
	Items      int    // items per run, the same for each contender
	Want       Tally  // what each run has to return
	Subject    string // the contender the others are compared with; "" for none
	Contenders []Contender
}

// Group is one question: rows that are measured together and shown in one table.
type Group struct {
	Key     string // short, for -rows
	Title   string
	Job     string // what each contender does, and what was decided for fairness
	Rows    []Row
	Ratios  []Ratio
	Targets []Target
	// Drawn are the rows that the drawing shows, as bars of time per item.
	Drawn []string
	// Summary makes the tables to show before the group's own; nil for none.
	Summary func(*Result) []Table
}

// Ratio is a column of a group's table.
type Ratio struct {
	Title string
	// Of gives one value per repeat for a contender of a row; nil leaves the cell empty.
	Of func(r *Result, row, contender string) []float64
}

// Select returns g with the rows whose "key/name" matches and with their
// targets, and whether any row does.
func (g Group) Select(pattern *regexp.Regexp) (Group, bool) {
	matches := func(row string) bool { return pattern.MatchString(g.Key + "/" + row) }
	selected := g
	selected.Rows, selected.Targets = nil, nil
	for _, row := range g.Rows {
		if matches(row.Name) {
			selected.Rows = append(selected.Rows, row)
		}
	}
	for _, target := range g.Targets {
		if matches(target.Row) {
			selected.Targets = append(selected.Targets, target)
		}
	}
	return selected, len(selected.Rows) > 0
}

// Verify runs each contender once and compares what it did with what it had to do.
func (g Group) Verify() error {
	for _, row := range g.Rows {
		for _, c := range row.Contenders {
			if _, err := row.Once(c); err != nil {
				return fmt.Errorf("measure: %s/%s: %w", g.Key, row.Name, err)
			}
		}
	}
	return nil
}

// Once runs c once and checks its output.
func (row Row) Once(c Contender) (Tally, error) {
	got, err := c.Run()
	return row.judge(c, got, err)
}

// judge checks the output of a run.
func (row Row) judge(c Contender, got Tally, err error) (Tally, error) {
	if got.Later != nil && err == nil {
		got = got.Later()
	}
	if err != nil {
		return got, fmt.Errorf("%s: %w", c.Name(), err)
	}
	if d := differs(row.Want, got); d != "" {
		return got, fmt.Errorf("%s: %w: %s", c.Name(), ErrWrongOutput, d)
	}
	return got, nil
}
