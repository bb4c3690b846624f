package main

import (
	"image/color"
	"math"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// gaps is a plot.Plotter that makes the days grey that are missing.
type gaps struct{ series []summary }

// Plot implements plot.Plotter.
func (g *gaps) Plot(c draw.Canvas, p *plot.Plot) {
	for _, s := range g.series {
		if s.missing != nil {
			fillBox(c, p, colorGap, float64(s.date)-0.5, float64(s.date)+0.5, p.Y.Min, p.Y.Max)
		}
	}
}

// any reports whether there are days missing.
func (g *gaps) any() bool {
	return slices.ContainsFunc(g.series, func(s summary) bool { return s.missing != nil })
}

// Thumbnail implements plot.Thumbnailer.
func (g *gaps) Thumbnail(c *draw.Canvas) { fillThumbnail(c, colorGap) }

// bars is a plot.Plotter with a bar for each point, from 0.
type bars struct {
	xys   plotter.XYs
	color color.Color
	width float64 // in days
}

// Plot implements plot.Plotter.
func (b *bars) Plot(c draw.Canvas, p *plot.Plot) {
	for _, xy := range b.xys {
		fillBox(c, p, b.color, xy.X-b.width/2, xy.X+b.width/2, 0, xy.Y)
	}
}

// DataRange implements plot.DataRanger.
func (b *bars) DataRange() (xmin, xmax, ymin, ymax float64) {
	if len(b.xys) == 0 {
		return math.Inf(1), math.Inf(-1), 0, 0
	}
	xmin, xmax, ymin, ymax = plotter.XYRange(b.xys)
	return xmin, xmax, min(ymin, 0), max(ymax, 0)
}

// Thumbnail implements plot.Thumbnailer.
func (b *bars) Thumbnail(c *draw.Canvas) { fillThumbnail(c, b.color) }

func fillThumbnail(c *draw.Canvas, clr color.Color) {
	c.FillPolygon(clr, []vg.Point{
		{X: c.Min.X, Y: c.Min.Y}, {X: c.Min.X, Y: c.Max.Y}, {X: c.Max.X, Y: c.Max.Y}, {X: c.Max.X, Y: c.Min.Y},
	})
}

// fillBox fills a box given in the units of the axes.
func fillBox(c draw.Canvas, p *plot.Plot, clr color.Color, x1, x2, y1, y2 float64) {
	x, y := p.Transforms(&c)
	c.FillPolygon(clr, c.ClipPolygonXY([]vg.Point{
		{X: x(x1), Y: y(y1)}, {X: x(x1), Y: y(y2)}, {X: x(x2), Y: y(y2)}, {X: x(x2), Y: y(y1)},
	}))
}

// amountTicks are a few round numbers, 0 among them, with short labels such as 1.5M.
type amountTicks struct{}

// Ticks implements plot.Ticker.
func (amountTicks) Ticks(low, high float64) []plot.Tick {
	const most = 6
	step := math.Pow(10, math.Floor(math.Log10((high-low)/most)))
	for _, times := range []float64{2, 5, 10} {
		if (high-low)/step <= most {
			break
		}
		step = times * math.Pow(10, math.Floor(math.Log10((high-low)/most)))
	}
	var ticks []plot.Tick
	for i := math.Ceil(low / step); i*step <= high; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: shortAmount(i * step)})
	}
	return ticks
}

// shortAmount is a number with up to three digits and a letter.
func shortAmount(v float64) string {
	units := []struct {
		from float64
		name string
	}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}
	v = math.Abs(v) // below the axis are numbers of those that are gone
	for _, u := range units {
		if v >= u.from*0.9995 {
			return strconv.FormatFloat(v/u.from, 'g', 3, 64) + u.name
		}
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// dateTicks label as many dates as there is room for, at the beginnings of days,
// half months, months, quarters or years.
type dateTicks struct{ first, last date }

// mostLabels is how many fit below the axis.
const mostLabels = 16

// Ticks implements plot.Ticker.
func (d dateTicks) Ticks(_, _ float64) []plot.Tick {
	for _, rhythm := range rhythms {
		if ticks := d.by(rhythm); len(ticks) <= mostLabels {
			return ticks
		}
	}
	return nil
}

// A rhythm says which dates have a label, and which.
type rhythm struct {
	at     func(t time.Time) bool
	layout string
}

var rhythms = []rhythm{
	{func(time.Time) bool { return true }, "2 Jan"},
	{func(t time.Time) bool { return t.Weekday() == time.Monday }, "2 Jan"},
	{func(t time.Time) bool { return t.Day() == 1 }, "Jan 2006"},
	{func(t time.Time) bool { return t.Day() == 1 && t.Month()%3 == 1 }, "Jan 2006"},
	everyYears(1), everyYears(2), everyYears(5), everyYears(10),
}

func everyYears(n int) rhythm {
	return rhythm{func(t time.Time) bool { return t.YearDay() == 1 && t.Year()%n == 0 }, "2006"}
}

func (d dateTicks) by(r rhythm) []plot.Tick {
	var ticks []plot.Tick
	for day := d.first; day <= d.last; day++ {
		if t := day.time(); r.at(t) {
			ticks = append(ticks, plot.Tick{Value: float64(day), Label: t.Format(r.layout)})
		}
	}
	return ticks
}
