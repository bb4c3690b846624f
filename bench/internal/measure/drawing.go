package measure

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Sizes of the drawing, in pixels.
const (
	labelWidth  = 300 // at least
	letterWidth = 7   // at most, of a label on average
	room        = 470 // of the longest bar
	valueWidth  = 90
	barHeight   = 16
	lineHeight  = 22
	headHeight  = 44
	margin      = 12
)

// farApart is the ratio of a row's times from which on only their logarithms
// can be compared in one picture.
const farApart = 8

// Draw returns an SVG picture of the rows that the groups want drawn: a bar per
// contender, as long as its nanoseconds per item, or as the logarithm of them
// where they lie far apart, with a whisker from the smallest to the largest
// repeat. Shorter is better.
func Draw(results []*Result) string {
	var body strings.Builder
	labels := labelWidth
	drawn(results, func(_ *Result, row Row) {
		for _, c := range row.Contenders {
			labels = max(labels, letterWidth*utf8.RuneCountInString(c.Name())+2*margin)
		}
	})
	y := margin
	drawn(results, func(r *Result, row Row) { y = r.drawRow(&body, row, labels, y) })
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="13">`+"\n"+
		`<rect width="100%%" height="100%%" fill="white"/>`+"\n%s</svg>\n", labels+room+valueWidth, y+margin, body.String())
}

// drawn calls f for each row that the groups want drawn, in order.
func drawn(results []*Result, f func(*Result, Row)) {
	for _, r := range results {
		for _, row := range r.Group.Rows {
			if slices.Contains(r.Group.Drawn, row.Name) {
				f(r, row)
			}
		}
	}
}

// drawRow draws one row from y on, its bars beside the labels, and returns where the next
// begins.
func (r *Result) drawRow(w *strings.Builder, row Row, labels, y int) int {
	fmt.Fprintf(w, `<text x="%d" y="%d" font-weight="bold">%s: %s</text>`+"\n",
		margin, y+headHeight/2, html.EscapeString(r.Group.Title), html.EscapeString(row.Name))
	shortest, longest := math.Inf(1), 0.0
	for _, c := range row.Contenders {
		s := Summarize(r.Nanos(row.Name, c.Name()))
		shortest, longest = min(shortest, s.Min), max(longest, s.Max)
	}
	scale, length := "linear", linear(longest)
	if longest > farApart*shortest {
		scale, length = "logarithmic", logarithmic(longest)
	}
	fmt.Fprintf(w, `<text x="%d" y="%d" fill="#666" font-size="11">ns per item, %s; shorter is better</text>`+"\n",
		margin, y+headHeight-6, scale)
	y += headHeight

	for _, c := range row.Contenders {
		s := Summarize(r.Nanos(row.Name, c.Name()))
		fill := "#9aa5b1"
		if strings.HasPrefix(c.Name(), us+" ") {
			fill = "#1f77b4"
		}
		middle := y + barHeight/2
		fmt.Fprintf(w, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n",
			labels-6, middle+4, html.EscapeString(c.Name()))
		fmt.Fprintf(w, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n",
			labels, y, length(s.Median), barHeight, fill)
		fmt.Fprintf(w, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="black"/>`+"\n",
			float64(labels)+length(s.Min), float64(labels)+length(s.Max), middle, middle)
		fmt.Fprintf(w, `<text x="%.1f" y="%d">%s</text>`+"\n",
			float64(labels)+length(s.Max)+6, middle+4, figure(s.Median))
		y += lineHeight
	}
	return y + margin
}

// linear maps nanoseconds to pixels so that longest fills the room.
func linear(longest float64) func(float64) float64 {
	return func(v float64) float64 { return room * v / longest }
}

// logarithmic does so by the logarithm: 1 ns, and what is less, has no length.
func logarithmic(longest float64) func(float64) float64 {
	return func(v float64) float64 { return room * max(0, math.Log(v)) / math.Log(longest) }
}
