package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	chartWidth  = 27 * vg.Centimeter
	chartHeight = 16 * vg.Centimeter
	meanOver    = 7   // days, so that the week does not show
	mostDots    = 200 // days that have a dot each, and a space between their bars
)

var (
	colorDay   = color.RGBA{R: 0x8f, G: 0xb4, B: 0xd9, A: 0xff}
	colorMean  = color.RGBA{R: 0x0b, G: 0x3d, B: 0x91, A: 0xff}
	colorNew   = color.RGBA{R: 0x2e, G: 0x8b, B: 0x57, A: 0xff}
	colorGone  = color.RGBA{R: 0xc0, G: 0x55, B: 0x3a, A: 0xff}
	colorGap   = color.RGBA{R: 0xe4, G: 0xe4, B: 0xe4, A: 0xff}
	colorGrid  = color.RGBA{R: 0xe8, G: 0xe8, B: 0xe8, A: 0xff}
	colorFrame = color.RGBA{R: 0x60, G: 0x60, B: 0x60, A: 0xff}
)

// chartFormat is the format that the name of a file asks for, "" if there is none.
func chartFormat(name string) string {
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".svg", ".png":
		return ext[1:]
	}
	return ""
}

// drawChart draws the days, at least one of which is there: their volumes above,
// the accounts that came and went below. Days that are missing are grey.
func drawChart(series []summary, format string) ([]byte, error) {
	volume, err := volumePanel(series)
	if err != nil {
		return nil, err
	}
	accounts, err := accountsPanel(series)
	if err != nil {
		return nil, err
	}
	canvas, err := draw.NewFormattedCanvas(chartWidth, chartHeight, format)
	if err != nil {
		return nil, err
	}
	const margin = 4 * vg.Millimeter
	area := draw.Crop(draw.New(canvas), margin, -margin, margin, -margin)
	tiles := draw.Tiles{Rows: 2, Cols: 1, PadY: margin}
	panels := [][]*plot.Plot{{volume}, {accounts}}
	for i, row := range plot.Align(panels, tiles, area) {
		panels[i][0].Draw(row[0])
	}
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, err
	}
	if format == "svg" {
		return withFallbackFonts(out.Bytes()), nil
	}
	return out.Bytes(), nil
}

// withFallbackFonts names other fonts for who has not that of the drawing.
func withFallbackFonts(svg []byte) []byte {
	return bytes.ReplaceAll(svg, []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
}

// newPanel is a panel with nothing in it but the days that are missing.
func newPanel(series []summary, yLabel string) (*plot.Plot, error) {
	p := plot.New()
	sans := func(size vg.Length) font.Font { return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size} }
	p.Title.TextStyle.Font = sans(13)
	p.Title.Padding = 2 * vg.Millimeter
	p.Legend.TextStyle.Font = sans(10)
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.Padding = vg.Millimeter
	p.Legend.XOffs, p.Legend.YOffs = 2*vg.Millimeter, -vg.Millimeter
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Tick.Label.Font = sans(10)
		axis.Label.TextStyle.Font = sans(11)
		axis.Tick.Length = vg.Points(4)
		axis.Color, axis.Tick.Color = colorFrame, colorFrame
		axis.Padding = 0
	}
	p.Y.Label.Text = yLabel
	p.Y.Tick.Marker = amountTicks{}
	first, last := series[0].date, series[len(series)-1].date
	p.X.Tick.Marker = dateTicks{first, last}

	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = colorGrid, colorGrid
	p.Add(&gaps{series: series}, grid)
	// Half a day at either end, for the bars.
	p.X.Min, p.X.Max = float64(first)-0.5, float64(last)+0.5
	return p, nil
}

// volumePanel has a line from day to day, and the mean of the week.
func volumePanel(series []summary) (*plot.Plot, error) {
	p, err := newPanel(series, "volume")
	if err != nil {
		return nil, err
	}
	first, last := series[0].date, series[len(series)-1].date
	p.Title.Text = fmt.Sprintf("Transactions, %v to %v", first, last)
	if first == last {
		p.Title.Text = fmt.Sprintf("Transactions, %v", first)
	}
	values := make([]float64, len(series))
	for i, s := range series {
		values[i] = float64(s.volume) / 100
		if s.missing != nil {
			values[i] = math.NaN()
		}
	}
	days := lineStyle{color: colorDay, width: vg.Points(1)}
	if len(series) <= mostDots {
		days.dots = vg.Points(1.8)
	}
	mean := lineStyle{color: colorMean, width: vg.Points(2)}
	if err := days.add(p, first, values, "each day"); err != nil {
		return nil, err
	}
	if len(series) > meanOver {
		if err := mean.add(p, first, means(values, meanOver), fmt.Sprintf("mean of %d days", meanOver)); err != nil {
			return nil, err
		}
	}
	if missing := (&gaps{series: series}); missing.any() {
		p.Legend.Add("missing", missing)
	}
	p.Y.Min = 0
	p.Y.Max = max(p.Y.Max*1.15, 1) // room for the legend
	return p, nil
}

// lineStyle is how a line looks.
type lineStyle struct {
	color color.Color
	width vg.Length
	dots  vg.Length // radius of a dot for each value, 0 for none
}

// add draws the values of a number of days in a row, not across those that are NaN.
func (l lineStyle) add(p *plot.Plot, first date, values []float64, name string) error {
	named := false
	for start := 0; start < len(values); {
		if math.IsNaN(values[start]) {
			start++
			continue
		}
		var run plotter.XYs
		for ; start < len(values) && !math.IsNaN(values[start]); start++ {
			run = append(run, plotter.XY{X: float64(first) + float64(start), Y: values[start]})
		}
		line, dots, err := plotter.NewLinePoints(run)
		if err != nil {
			return err
		}
		line.Color, line.Width = l.color, l.width
		dots.Color, dots.Radius, dots.Shape = l.color, l.dots, draw.CircleGlyph{}
		p.Add(line)
		if l.dots > 0 || len(run) == 1 {
			dots.Radius = max(l.dots, l.width/2)
			p.Add(dots)
		}
		if !named {
			p.Legend.Add(name, line)
			named = true
		}
	}
	return nil
}

// means is the mean of the last k values, missing ones left out, where k days lie
// behind; NaN before that and where the day itself is missing.
func means(values []float64, k int) []float64 {
	out := make([]float64, len(values))
	for i := range values {
		out[i] = math.NaN()
		if i < k-1 || math.IsNaN(values[i]) {
			continue
		}
		sum, count := 0.0, 0
		for _, v := range values[i-k+1 : i+1] {
			if !math.IsNaN(v) {
				sum, count = sum+v, count+1
			}
		}
		out[i] = sum / float64(count)
	}
	return out
}

// accountsPanel has a bar up for accounts that are new and one down for those that
// are gone.
func accountsPanel(series []summary) (*plot.Plot, error) {
	p, err := newPanel(series, "accounts")
	if err != nil {
		return nil, err
	}
	width := 0.76
	if len(series) > mostDots {
		width = 1
	}
	came := &bars{color: colorNew, width: width}
	gone := &bars{color: colorGone, width: width}
	for _, s := range series {
		if s.compared {
			came.xys = append(came.xys, plotter.XY{X: float64(s.date), Y: float64(s.newcomers)})
			gone.xys = append(gone.xys, plotter.XY{X: float64(s.date), Y: -float64(s.leavers)})
		}
	}
	p.Add(came, gone)
	p.Legend.Add("new, against the day before", came)
	p.Legend.Add("gone, against the day before", gone)
	p.X.Label.Text = "day (UTC)"
	most := max(p.Y.Max, -p.Y.Min, 1)
	p.Y.Min, p.Y.Max = -1.1*most, 1.6*most // room for the legend
	return p, nil
}
