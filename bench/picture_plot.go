package main

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	_ "gonum.org/v1/plot/vg/vgimg" // draws .png
	_ "gonum.org/v1/plot/vg/vgsvg" // and .svg

	"github.com/seed95b73fdc/sluice/bench/internal/measure"
)

// pictureStyle is how a way is drawn, the same in every panel. The colours can be
// told apart by those who do not see all of them (Okabe and Ito's), and the shapes
// by everybody.
type pictureStyle struct {
	color  color.RGBA
	glyph  draw.GlyphDrawer
	dashes []vg.Length
}

var pictureStyles = map[string]pictureStyle{
	"stage.Map":         {color.RGBA{86, 180, 233, 255}, draw.TriangleGlyph{}, nil},
	"Cells":             {color.RGBA{0, 114, 178, 255}, draw.CircleGlyph{}, nil},
	"PermissionPassing": {color.RGBA{0, 158, 115, 255}, draw.SquareGlyph{}, nil},
	"ReplyTo":           {color.RGBA{230, 159, 0, 255}, draw.PyramidGlyph{}, nil},
	"Cond":              {color.RGBA{213, 94, 0, 255}, draw.CrossGlyph{}, nil},
	"rill OrderedMap":   {color.RGBA{120, 120, 120, 255}, draw.RingGlyph{}, []vg.Length{vg.Points(4), vg.Points(3)}},
	"conc stream":       {color.RGBA{0, 0, 0, 255}, draw.PlusGlyph{}, []vg.Length{vg.Points(1), vg.Points(3)}},
}

const (
	panelWidth   = 13 * vg.Centimeter
	panelHeight  = 9 * vg.Centimeter
	leastWidth   = 26 * vg.Centimeter // the legend's
	legendHeight = 1.2 * vg.Centimeter
	leastNanos   = 10 // what is less, and could be negative, is drawn here: it is noise
)

func init() { plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"} }

// drawOverhead draws the times in panels on one scale, and the allocations in one of
// their own, two by two.
func drawOverhead(panels []pictureFigures, allocs pictureFigures, file string) error {
	least, most := math.Inf(1), 0.0
	for _, f := range panels {
		for _, way := range f.of {
			for _, s := range way {
				least, most = min(least, s.Q1), max(most, s.Q3)
			}
		}
	}
	var plots []*plot.Plot
	for _, f := range panels {
		p, err := f.plot(leastNanos)
		if err != nil {
			return err
		}
		p.X.Label.Text = "n: calls at once"
		// A label on a logarithmic axis would be centred on the wrong place, so it
		// stands with the title.
		p.Title.Text = "Time per item, less that of its call ÷ n: " + p.Title.Text
		p.Y.Min, p.Y.Max = max(leastNanos, least*0.9), most*1.1
		p.Y.Tick.Marker = decades{}
		plots = append(plots, p)
	}
	p, err := allocs.plot(0)
	if err != nil {
		return err
	}
	p.X.Label.Text = "n: calls at once"
	p.Title.Text = "Objects allocated per item: " + p.Title.Text
	p.Y.Scale, p.Y.Min = plot.LinearScale{}, 0
	return savePlots(append(plots, p), panels[0].ways, file)
}

// drawWindow draws the throughput against the window.
func drawWindow(f pictureFigures, file string) error {
	p, err := f.plot(1)
	if err != nil {
		return err
	}
	p.Title.Text = "Throughput against the window: " + p.Title.Text
	p.X.Label.Text = "window: items held"
	p.Y.Label.Text = "items per second"
	p.Y.Scale = plot.LinearScale{}
	p.Y.Min = 0
	return savePlots([]*plot.Plot{p}, f.ways, file)
}

// plot draws the medians as lines, and the middle half of the repeats as bars.
func (f pictureFigures) plot(least float64) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = f.scene.title
	p.Title.Padding = vg.Points(6)
	p.Title.TextStyle.Font.Size = vg.Points(11)
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	var ticks []plot.Tick
	for _, at := range f.scene.points {
		ticks = append(ticks, plot.Tick{Value: float64(at.x), Label: fmt.Sprint(at.x)})
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{230}, color.Gray{230}
	p.Add(grid)
	for _, way := range f.ways {
		data := curve{least: least, summaries: f.of[way], points: f.scene.points}
		line, points, err := plotter.NewLinePoints(data)
		if err != nil {
			return nil, err
		}
		bars, err := plotter.NewYErrorBars(data)
		if err != nil {
			return nil, err
		}
		style := pictureStyles[way]
		line.Color, line.Width, line.Dashes = style.color, vg.Points(1.6), style.dashes
		points.Color, points.Shape, points.Radius = style.color, style.glyph, vg.Points(3.2)
		bars.Color, bars.CapWidth = style.color, vg.Points(3)
		p.Add(bars, line, points)
	}
	return p, nil
}

// curve is the data of a line. It has the values that a plot cannot show, those
// of less than least, at least.
type curve struct {
	least     float64
	summaries []measure.Summary
	points    []picturePoint
}

func (c curve) Len() int { return len(c.summaries) }

func (c curve) XY(i int) (x, y float64) {
	return float64(c.points[i].x), max(c.least, c.summaries[i].Median)
}

func (c curve) YError(i int) (low, high float64) {
	s := c.summaries[i]
	y := max(c.least, s.Median)
	return y - max(c.least, s.Q1), max(c.least, s.Q3) - y
}

// decades marks the powers of ten by name and what is between them by a stroke.
type decades struct{}

func (decades) Ticks(low, high float64) (ticks []plot.Tick) {
	for d := math.Pow(10, math.Floor(math.Log10(low))); d <= high; d *= 10 {
		for k := 1.0; k < 10; k++ {
			if v := k * d; v >= low && v <= high {
				label := ""
				if k == 1 {
					label = nanosText(v)
				}
				ticks = append(ticks, plot.Tick{Value: v, Label: label})
			}
		}
	}
	return ticks
}

func nanosText(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.0f ms", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.0f µs", v/1e3)
	}
	return fmt.Sprintf("%.0f ns", v)
}

// plotsInARow is how many panels stand side by side.
const plotsInARow = 2

// savePlots draws plots in rows, a legend of the ways above them, in the format that
// the name of the file ends with.
func savePlots(plots []*plot.Plot, ways []string, file string) error {
	var rows [][]*plot.Plot
	for row := range slices.Chunk(plots, plotsInARow) {
		rows = append(rows, row)
	}
	width := max(panelWidth*vg.Length(len(rows[0])), leastWidth)
	height := panelHeight*vg.Length(len(rows)) + legendHeight
	canvas, err := draw.NewFormattedCanvas(width, height, strings.TrimPrefix(filepath.Ext(file), "."))
	if err != nil {
		return err
	}
	whole := draw.New(canvas)
	whole.SetColor(color.White)
	whole.Fill(whole.Rectangle.Path())
	below := draw.Crop(whole, 0, 0, 0, -legendHeight)
	pad := vg.Points(8)
	tiles := draw.Tiles{Rows: len(rows), Cols: len(rows[0]), PadTop: pad / 2, PadBottom: pad, PadLeft: pad, PadRight: pad, PadX: pad, PadY: pad}
	for i, row := range plot.Align(rows, tiles, below) {
		for k, c := range row {
			rows[i][k].Draw(c)
		}
	}
	drawLegend(draw.Crop(whole, 0, 0, height-legendHeight, 0), ways, pictureStyles)
	return save(canvas, file)
}

// save writes what has been drawn into a file.
func save(canvas io.WriterTo, file string) error {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	if _, err := canvas.WriteTo(out); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// drawLegend draws the names of the ways in one row.
func drawLegend(c draw.Canvas, ways []string, styles map[string]pictureStyle) {
	const mark, gap = 22, 14 // points
	style := plot.NewLegend().TextStyle
	style.YAlign = -0.5
	x, y := c.Min.X+vg.Points(gap), (c.Min.Y+c.Max.Y)/2
	for _, way := range ways {
		s := styles[way]
		c.StrokeLine2(draw.LineStyle{Color: s.color, Width: vg.Points(1.6), Dashes: s.dashes}, x, y, x+vg.Points(mark), y)
		if s.glyph != nil {
			c.DrawGlyph(draw.GlyphStyle{Color: s.color, Radius: vg.Points(3.2), Shape: s.glyph}, vg.Point{X: x + vg.Points(mark)/2, Y: y})
		}
		x += vg.Points(mark + 5)
		c.FillText(style, vg.Point{X: x, Y: y}, way)
		x += style.Width(way) + vg.Points(gap)
	}
}
