package main

import (
	"fmt"
	"image/color"
	"path/filepath"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	adaptiveWidth  = 26 * vg.Centimeter
	adaptiveHeight = 21 * vg.Centimeter

	// adaptiveBest is the line of what would be best.
	adaptiveBest = "what the server can take"
)

var adaptiveStyles = map[string]pictureStyle{
	"no limit":   {color: color.RGBA{120, 120, 120, 255}, dashes: []vg.Length{vg.Points(4), vg.Points(3)}},
	"AIMD":       {color: color.RGBA{0, 114, 178, 255}},
	"Gradient":   {color: color.RGBA{213, 94, 0, 255}},
	adaptiveBest: {color: color.RGBA{0, 0, 0, 255}, dashes: []vg.Length{vg.Points(1), vg.Points(2)}},
}

// adaptivePanel is one of the plots, one above the other, over the same time.
type adaptivePanel struct {
	title string
	value func(adaptiveSample) float64 // what is 0 is left out
	best  func(adaptiveStep) float64
	marks []float64 // of the y axis
	scale plot.Normalizer
	low   float64
	high  float64
	label func(float64) string
}

var adaptivePanels = []adaptivePanel{
	{
		"Load: calls with the server",
		func(s adaptiveSample) float64 { return s.load },
		func(s adaptiveStep) float64 { return float64(s.units) },
		[]float64{0, 10, 20, 30, 40}, plot.LinearScale{}, 0, 48, plainText,
	}, {
		"Limit",
		func(s adaptiveSample) float64 { return float64(s.limit) },
		func(s adaptiveStep) float64 { return float64(s.units) },
		[]float64{0, 5, 10, 15, 20}, plot.LinearScale{}, 0, 22, plainText,
	}, {
		"Latency: time per call (dotted: that of a server with less to do than it can take)",
		func(s adaptiveSample) float64 { return float64(s.latency) },
		func(adaptiveStep) float64 { return float64(adaptiveBase) },
		[]float64{5e6, 10e6, 20e6, 50e6, 100e6, 200e6}, plot.LogScale{}, 5e6, 300e6, nanosText,
	},
}

// plot draws one line for each way, and a dotted one for what would be best.
func (panel adaptivePanel) plot(samples [][]adaptiveSample) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.Title.Padding = panel.title, vg.Points(4)
	p.Title.TextStyle.Font.Size = vg.Points(11)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{200}, color.Gray{230}
	p.Add(grid)
	var best plotter.XYs
	from := time.Duration(0)
	ticks := []plot.Tick{{Value: 0, Label: "0s"}}
	for _, s := range adaptiveSteps {
		v := panel.best(s)
		best = append(best, plotter.XY{X: from.Seconds(), Y: v}, plotter.XY{X: s.until.Seconds(), Y: v})
		ticks = append(ticks, plot.Tick{Value: s.until.Seconds(), Label: s.until.String()})
		from = s.until
	}
	if err := addLine(p, best, adaptiveStyles[adaptiveBest]); err != nil {
		return nil, err
	}
	for i, way := range adaptiveWays {
		var line plotter.XYs
		for _, s := range samples[i] {
			if v := panel.value(s); v > 0 {
				line = append(line, plotter.XY{X: s.at.Seconds(), Y: v})
			}
		}
		if len(line) == 0 { // what has no limit is not in the panel of limits
			continue
		}
		if err := addLine(p, line, adaptiveStyles[way.name]); err != nil {
			return nil, err
		}
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	p.X.Min, p.X.Max = 0, from.Seconds()
	var marks plot.ConstantTicks
	for _, v := range panel.marks {
		marks = append(marks, plot.Tick{Value: v, Label: panel.label(v)})
	}
	p.Y.Scale, p.Y.Tick.Marker, p.Y.Min, p.Y.Max = panel.scale, marks, panel.low, panel.high
	return p, nil
}

func plainText(v float64) string { return fmt.Sprint(v) }

func addLine(p *plot.Plot, data plotter.XYs, style pictureStyle) error {
	line, err := plotter.NewLine(data)
	if err != nil {
		return err
	}
	line.Color, line.Width, line.Dashes = style.color, vg.Points(1.4), style.dashes
	p.Add(line)
	return nil
}

// nameSteps writes what each step is along the line y.
func nameSteps(p *plot.Plot, y float64) error {
	var at plotter.XYLabels
	from := time.Duration(0)
	for _, s := range adaptiveSteps {
		at.XYs = append(at.XYs, plotter.XY{X: from.Seconds() + 0.15, Y: y})
		at.Labels = append(at.Labels, s.what)
		from = s.until
	}
	labels, err := plotter.NewLabels(at)
	if err != nil {
		return err
	}
	for i := range labels.TextStyle {
		labels.TextStyle[i].Font = font.From(plot.DefaultFont, vg.Points(9))
	}
	p.Add(labels)
	return nil
}

// saveAdaptive draws the panels, one below the other, in the format that the name of
// the file ends with.
func saveAdaptive(samples [][]adaptiveSample, file string) error {
	var plots [][]*plot.Plot
	for _, panel := range adaptivePanels {
		p, err := panel.plot(samples)
		if err != nil {
			return err
		}
		plots = append(plots, []*plot.Plot{p})
	}
	const underTop = 4
	if err := nameSteps(plots[0][0], adaptivePanels[0].high-underTop); err != nil {
		return err
	}
	canvas, err := draw.NewFormattedCanvas(adaptiveWidth, adaptiveHeight, strings.TrimPrefix(filepath.Ext(file), "."))
	if err != nil {
		return err
	}
	whole := draw.New(canvas)
	whole.SetColor(color.White)
	whole.Fill(whole.Rectangle.Path())
	pad := vg.Points(8)
	tiles := draw.Tiles{Rows: len(plots), Cols: 1, PadBottom: pad, PadLeft: pad, PadRight: 2 * pad, PadY: pad}
	for i, row := range plot.Align(plots, tiles, draw.Crop(whole, 0, 0, 0, -legendHeight)) {
		plots[i][0].Draw(row[0])
	}
	names := []string{adaptiveBest}
	for _, way := range adaptiveWays {
		names = append(names, way.name)
	}
	drawLegend(draw.Crop(whole, 0, 0, adaptiveHeight-legendHeight, 0), names, adaptiveStyles)
	return save(canvas, file)
}
