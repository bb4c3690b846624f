package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed95b73fdc/sluice/examples/internal/program"
)

// A table writes a row for each day, as soon as it is known.
type table struct {
	w      io.Writer
	header bool // is written
}

// columnsOf are the heads of the table's columns, and their widths; the last column
// is as wide as it has to be.
var columnsOf = []struct {
	head  string
	width int
}{
	{"transactions", 12}, {"change", 8}, {"volume", 16}, {"change", 8}, {"accounts", 9}, {"new", 7}, {"gone", 7},
}

func (t *table) write(s summary) error {
	var b strings.Builder
	if !t.header {
		t.header = true
		fmt.Fprintf(&b, "%-10s", "date")
		for _, c := range columnsOf {
			fmt.Fprintf(&b, "  %*s", c.width, c.head)
		}
		b.WriteString("  changed most\n")
	}
	b.WriteString(rowOf(s))
	b.WriteByte('\n')
	if _, err := io.WriteString(t.w, b.String()); err != nil {
		return program.WriteError{Err: program.ReasonFor("write stdout", err)}
	}
	return nil
}

// rowOf is the row of a day.
func rowOf(s summary) string {
	if s.missing != nil {
		return fmt.Sprintf("%v  missing: %s", s.date, printable(s.missing.Error()))
	}
	cells := []string{thousands(int64(s.rows)), "", s.volume.String(), "", thousands(int64(s.accounts)), "", ""}
	if s.compared {
		cells[1], cells[3] = formatPercent(s.rowsPct), formatPercent(s.volPct)
		cells[5], cells[6] = thousands(int64(s.newcomers)), thousands(int64(s.leavers))
	}
	var b strings.Builder
	b.WriteString(s.date.String())
	for i, c := range cells {
		fmt.Fprintf(&b, "  %*s", columnsOf[i].width, c)
	}
	var notes []string
	for _, m := range s.movers {
		notes = append(notes, fmt.Sprintf("%s %s", printable(m.account), signed(m.change)))
	}
	if s.compared && s.against != s.date-1 {
		notes = append(notes, fmt.Sprintf("(against %v)", s.against))
	}
	if s.bad.count > 0 {
		notes = append(notes, fmt.Sprintf("(%s left out: %s)", plural(s.bad.count, "row"), printable(s.bad.first)))
	}
	if len(notes) > 0 {
		b.WriteString("  " + strings.Join(notes, " "))
	}
	return strings.TrimRight(b.String(), " ")
}

// printable is s, or s quoted if it has anything in it that does not belong on a
// terminal, or looks like more than a word.
func printable(s string) string {
	for _, r := range s {
		if r == utf8.RuneError || !strconv.IsPrint(r) {
			return strconv.Quote(s)
		}
	}
	return s
}

// String is the amount, with thousands apart.
func (c cents) String() string {
	sign := ""
	if c < 0 {
		sign, c = "-", -c
	}
	return fmt.Sprintf("%s%s.%02d", sign, thousands(int64(c/100)), c%100)
}

// signed is the amount with its sign, whatever it is.
func signed(c cents) string {
	if c >= 0 {
		return "+" + c.String()
	}
	return c.String()
}

// thousands is a number that is not negative, such as 1,234,567.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// formatPercent is a change such as +3.4 %.
func formatPercent(p float64) string {
	const most = 9999 // that fits into the column
	switch {
	case math.IsNaN(p): // from nothing
		return "new"
	case p > most:
		return ">" + strconv.Itoa(most) + "%"
	}
	return fmt.Sprintf("%+.1f%%", p+0) // no -0.0
}

// plural is a number of things.
func plural(n int, thing string) string {
	s := thousands(int64(n)) + " " + thing
	if n != 1 {
		s += "s"
	}
	return s
}
