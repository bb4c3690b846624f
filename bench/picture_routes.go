package main

import (
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/seed95b73fdc/sluice/bench/internal/measure"
	"github.com/seed95b73fdc/sluice/keyed"
)

// routingPlan is how much a picture of routing is made of.
type routingPlan struct {
	keys    int // of which shares are counted
	repeats int
	turn    time.Duration // of lookups, in each repeat
}

// balanceNodes are the virtual nodes per member of the first panel.
var balanceNodes = []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}

// lookupMembers are the members of the second one.
var lookupMembers = []int{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}

// drawRouting draws what routers cost and how even they are into dir, as
// routing.svg and routing.png.
func drawRouting(dir string) error {
	return routingPlan{keys: 1_000_000, repeats: 15, turn: 2 * time.Millisecond}.draw(dir)
}

func (plan routingPlan) draw(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	balance, err := plan.balancePlot()
	if err != nil {
		return err
	}
	lookup, err := plan.lookupPlot()
	if err != nil {
		return err
	}
	for _, format := range []string{"svg", "png"} {
		if err := saveRouting(filepath.Join(dir, "routing."+format), balance, lookup); err != nil {
			return err
		}
	}
	return nil
}

// balancePlot shows the largest share of a ring's members, over the mean, against
// the virtual nodes, and what theory says of it.
func (plan routingPlan) balancePlot() (*plot.Plot, error) {
	p := routingPlot("Largest share ÷ mean, against virtual nodes per member", balanceNodes)
	hashes := make([]uint64, plan.keys)
	for i := range hashes {
		hashes[i] = keyed.HashInt(int64(i))
	}
	for i, members := range []int{10, 100} {
		var measured, theory plotter.XYs
		for _, v := range balanceNodes {
			m, err := largestShare(members, v, hashes)
			if err != nil {
				return nil, err
			}
			measured = append(measured, plotter.XY{X: float64(v), Y: m})
			theory = append(theory, plotter.XY{X: float64(v), Y: 1 + math.Sqrt(2*math.Log(float64(members))/float64(v))})
		}
		style := routingStyles[i]
		if err := addCurve(p, fmt.Sprintf("Ring of %d", members), measured, style, nil); err != nil {
			return nil, err
		}
		style.glyph = nil
		if err := addCurve(p, fmt.Sprintf("1 + √(2 ln %d ÷ v)", members), theory, style, []vg.Length{vg.Points(4), vg.Points(3)}); err != nil {
			return nil, err
		}
	}
	p.X.Label.Text = "virtual nodes v"
	var ticks []plot.Tick
	for _, y := range []float64{1, 1.25, 1.5, 2, 2.5, 3, 4, 5} {
		ticks = append(ticks, plot.Tick{Value: y, Label: fmt.Sprint(y)})
	}
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	p.Y.Min, p.Y.Max = 1, 5
	p.Legend.Top = true
	return p, nil
}

// largestShare returns the share of the fullest member, over the mean.
func largestShare(members, virtualNodes int, hashes []uint64) (float64, error) {
	ring, err := keyed.NewRing(numbered(members), keyed.VirtualNodes(virtualNodes))
	if err != nil {
		return 0, err
	}
	loads := make(map[string]int, members)
	most := 0
	for _, h := range hashes {
		owner := ring.OwnerOfHash(h)
		loads[owner]++
		most = max(most, loads[owner])
	}
	return float64(most) * float64(members) / float64(len(hashes)), nil
}

// lookupPlot shows the time of a lookup against the number of members.
func (plan routingPlan) lookupPlot() (*plot.Plot, error) {
	p := routingPlot("Time per lookup of a key of 12 bytes, against members", lookupMembers)
	curves := make([]plotter.XYs, len(routerKinds))
	for _, members := range lookupMembers {
		routers := make([]keyed.Router, len(routerKinds))
		times := make([][]float64, len(routerKinds))
		for range plan.repeats { // interleaved
			for i, kind := range routerKinds {
				if routers[i] == nil {
					routers[i] = kind.make(members)
				}
				times[i] = append(times[i], lookupTime(routers[i], plan.turn))
			}
		}
		for i, ts := range times {
			curves[i] = append(curves[i], plotter.XY{X: float64(members), Y: measure.Summarize(ts).Median})
		}
	}
	for i, kind := range routerKinds {
		if err := addCurve(p, kind.name, curves[i], routingStyles[i], nil); err != nil {
			return nil, err
		}
	}
	p.X.Label.Text = "members"
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades{}
	p.Y.Min, p.Y.Max = 5, 50_000
	p.Legend.Top, p.Legend.Left = true, true
	return p, nil
}

// lookupTime returns the nanoseconds of a lookup.
func lookupTime(r keyed.Router, turn time.Duration) float64 {
	const batch = 100
	keys := make([]string, batch)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%08d", i)
	}
	n, start := 0, time.Now()
	for n == 0 || time.Since(start) < turn {
		for _, key := range keys {
			if r.Owner(key) == "" {
				panic(errNoOwner)
			}
		}
		n += batch
	}
	return float64(time.Since(start).Nanoseconds()) / float64(n)
}

// routingStyles are Okabe and Ito's colours, with a shape each.
var routingStyles = []pictureStyle{
	{color: color.RGBA{0, 114, 178, 255}, glyph: draw.CircleGlyph{}},
	{color: color.RGBA{213, 94, 0, 255}, glyph: draw.SquareGlyph{}},
	{color: color.RGBA{0, 158, 115, 255}, glyph: draw.TriangleGlyph{}},
	{color: color.RGBA{86, 180, 233, 255}, glyph: draw.RingGlyph{}},
	{color: color.RGBA{230, 159, 0, 255}, glyph: draw.PyramidGlyph{}},
	{color: color.RGBA{0, 0, 0, 255}, glyph: draw.CrossGlyph{}},
}

// routingPlot is an empty plot with a logarithmic x axis.
func routingPlot(title string, marks []int) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.Title.Padding, p.Legend.Padding = vg.Points(6), vg.Points(2)
	p.Title.TextStyle.Font.Size = vg.Points(11)
	p.X.Scale = plot.LogScale{}
	var ticks []plot.Tick
	for _, m := range marks {
		ticks = append(ticks, plot.Tick{Value: float64(m), Label: fmt.Sprint(m)})
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{230}, color.Gray{230}
	p.Add(grid)
	return p
}

// addCurve adds a line with marks, if style has any, to the plot and its legend.
func addCurve(p *plot.Plot, name string, data plotter.XYs, style pictureStyle, dashes []vg.Length) error {
	line, points, err := plotter.NewLinePoints(data)
	if err != nil {
		return err
	}
	line.Color, line.Width, line.Dashes = style.color, vg.Points(1.6), dashes
	p.Add(line)
	if style.glyph == nil {
		p.Legend.Add(name, line)
		return nil
	}
	points.Color, points.Shape, points.Radius = style.color, style.glyph, vg.Points(3.2)
	p.Add(points)
	p.Legend.Add(name, line, points)
	return nil
}

// saveRouting draws plots side by side.
func saveRouting(file string, plots ...*plot.Plot) error {
	canvas, err := draw.NewFormattedCanvas(panelWidth*vg.Length(len(plots)), panelHeight, strings.TrimPrefix(filepath.Ext(file), "."))
	if err != nil {
		return err
	}
	whole := draw.New(canvas)
	whole.SetColor(color.White)
	whole.Fill(whole.Rectangle.Path())
	pad := vg.Points(8)
	tiles := draw.Tiles{Rows: 1, Cols: len(plots), PadTop: pad / 2, PadBottom: pad, PadLeft: pad, PadRight: pad, PadX: pad}
	for i, p := range plots {
		p.Draw(tiles.At(whole, i, 0))
	}
	return save(canvas, file)
}
