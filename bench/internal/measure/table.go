package measure

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Table is a Markdown table. The first column is aligned left, as is each
// column whose cells are words; numbers are aligned right.
type Table struct {
	Header []string
	Rows   [][]string
}

// Markdown renders the table, padded so that it reads well as plain text too.
func (t Table) Markdown() string {
	width := make([]int, len(t.Header))
	for _, row := range append([][]string{t.Header}, t.Rows...) {
		for i, c := range row {
			width[i] = max(width[i], utf8.RuneCountInString(c), len("--:"))
		}
	}
	var b strings.Builder
	line := func(cells []string) {
		for i, c := range cells {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if t.numeric(i) {
				b.WriteString("| " + pad + c + " ")
			} else {
				b.WriteString("| " + c + pad + " ")
			}
		}
		b.WriteString("|\n")
	}
	line(t.Header)
	for i, w := range width {
		if t.numeric(i) {
			b.WriteString("|" + strings.Repeat("-", w+1) + ":")
		} else {
			b.WriteString("|" + strings.Repeat("-", w+2))
		}
	}
	b.WriteString("|\n")
	for _, row := range t.Rows {
		line(row)
	}
	return b.String()
}

// numeric says whether every cell of a column is empty or starts like a
// number. The first column names the lines, so it never is.
func (t Table) numeric(column int) bool {
	if column == 0 {
		return false
	}
	any := false
	for _, row := range t.Rows {
		c := row[column]
		if c == "" || c == none {
			continue
		}
		if c[0] < '0' || c[0] > '9' {
			return false
		}
		any = true
	}
	return any
}

// none fills a cell that has no value.
const none = "–"

// figure prints a value with about three significant digits.
func figure(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return none
	case math.IsInf(v, 0):
		return "∞"
	case a >= 999.5:
		return thousands(int64(math.Round(v)))
	case a >= 100 || v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// thousands prints v with a comma before each group of three digits.
func thousands(v int64) string {
	s := strconv.FormatInt(v, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// spread prints the smallest and the largest value.
func spread(s Summary) string {
	if math.IsNaN(s.Median) {
		return none
	}
	return figure(s.Min) + "–" + figure(s.Max)
}

// Figure prints the median and, in brackets, the smallest and largest value.
func Figure(s Summary) string {
	if math.IsNaN(s.Median) {
		return none
	}
	return figure(s.Median) + " (" + spread(s) + ")"
}
