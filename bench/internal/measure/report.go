package measure

import (
	"fmt"
	"io"
	"strings"
)

// us starts the names of this project's contenders: nobody is judged against himself.
const us = "sluice"

// Table lays out the group's samples: a line per contender of each row, with
// the targets that belong to it.
func (r *Result) Table() Table {
	t := Table{Header: []string{"", "contender", "ns/item", "min–max"}}
	compared := r.hasSubject()
	if compared {
		t.Header = append(t.Header, "time ÷ "+us+"'s", "min–max", us)
	}
	for _, ratio := range r.Group.Ratios {
		t.Header = append(t.Header, ratio.Title, "min–max")
	}
	t.Header = append(t.Header, "allocs/item", "B/item", "target", "reached")

	for _, row := range r.Group.Rows {
		for i, c := range row.Contenders {
			name := c.Name()
			label := ""
			if i == 0 {
				label = row.Name
			}
			nanos := Summarize(r.Nanos(row.Name, name))
			line := []string{label, name, figure(nanos.Median), spread(nanos)}
			if compared {
				line = append(line, r.compare(row, name)...)
			}
			for _, ratio := range r.Group.Ratios {
				s := Summarize(ratio.Of(r, row.Name, name))
				line = append(line, figure(s.Median), spread(s))
			}
			line = append(line,
				fmt.Sprintf("%.2f", Summarize(r.Allocs(row.Name, name)).Median),
				fmt.Sprintf("%.0f", Summarize(r.Bytes(row.Name, name)).Median))
			t.Rows = append(t.Rows, append(line, r.judge(row.Name, name)...))
		}
	}
	return t
}

func (r *Result) hasSubject() bool {
	for _, row := range r.Group.Rows {
		if row.Subject != "" {
			return true
		}
	}
	return false
}

// compare returns the cells that set a contender against its row's subject.
func (r *Result) compare(row Row, name string) []string {
	if row.Subject == "" || name == row.Subject {
		return []string{"", "", ""}
	}
	ratios := Divide(r.Nanos(row.Name, name), r.Nanos(row.Name, row.Subject))
	s := Summarize(ratios)
	verdict := Judge(ratios)
	if strings.HasPrefix(name, us+" ") {
		verdict = NoVerdict
	}
	return []string{figure(s.Median), spread(s), string(verdict)}
}

// judge returns the cells "target" and "reached" of a line.
func (r *Result) judge(row, contender string) []string {
	var targets, answers []string
	for _, t := range r.Group.Targets {
		if t.Row == row && t.Contender == contender {
			reached, s := t.Judge(r)
			targets = append(targets, t.String())
			answers = append(answers, fmt.Sprintf("%s (%s)", reached, figure(s.Median)))
		}
	}
	return []string{strings.Join(targets, "; "), strings.Join(answers, "; ")}
}

// WriteTo writes the group's section: title, job, summary, table.
func (r *Result) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s\n\n", r.Group.Title, r.Group.Job)
	if r.Group.Summary != nil {
		for _, t := range r.Group.Summary(r) {
			fmt.Fprintf(&b, "%s\n", t.Markdown())
		}
	}
	fmt.Fprintf(&b, "%s\n", r.Table().Markdown())
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

// Targets lists the targets of all results with what was measured.
func Targets(results []*Result) Table {
	t := Table{Header: []string{"question", "setting", "contender", "target", "measured (min–max)", "reached"}}
	for _, r := range results {
		for _, target := range r.Group.Targets {
			reached, s := target.Judge(r)
			t.Rows = append(t.Rows, []string{
				r.Group.Key, target.Row, target.Contender, target.String(), Figure(s), string(reached),
			})
		}
	}
	return t
}
