package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/seed95b73fdc/sluice/bench/internal/measure"
)

// The pictures compare the ways to keep order. The first one shows what each
// costs per item, against n: the time of a run, less the time that its calls took
// divided by n, which no way can save; and how often each asks for memory. The second
// one shows the throughput against the window where few items are slow.

// pictureNs are the parallelisms of the first picture.
var pictureNs = []int{1, 2, 4, 8, 12, 32, 50}

// pictureWindows are the windows of the second one, at a parallelism of
// skewN.
var pictureWindows = []int{8, 16, 32, 64, 128, 256, 512}

const skewN = 8

// pictureTurn is the time that a turn's calls are meant to take together, over n.
const pictureTurn = 40 * time.Millisecond

// pictureScene is one panel of a picture: what is run, at each point of its x axis.
type pictureScene struct {
	title  string
	points []picturePoint
}

type picturePoint struct {
	x     int
	items int
	n     int
	call  func() *pictureCall
	ways  []entry
}

// overheadScenes are those of the first picture.
func overheadScenes() []pictureScene {
	const noopItems = 50_000
	var scenes []pictureScene
	for _, s := range []struct {
		title string
		wait  time.Duration
	}{{"f does nothing", 0}, {"f waits for 50 µs", 50 * time.Microsecond}, {"f waits for 1 ms", time.Millisecond}} {
		scene := pictureScene{title: s.title}
		for _, n := range pictureNs {
			items := noopItems
			if s.wait > 0 {
				items = max(50, n*int(pictureTurn/s.wait))
			}
			call := func() *pictureCall { return waitCall(s.wait) }
			scene.points = append(scene.points, picturePoint{n, items, n, call, overheadWays})
		}
		scenes = append(scenes, scene)
	}
	return scenes
}

// skewScene is the second picture.
func skewScene() pictureScene {
	const items = 1_000
	scene := pictureScene{title: "1 call in 50 takes 20 ms, the others 200 µs; n = 8"}
	for _, w := range pictureWindows {
		scene.points = append(scene.points, picturePoint{w, items, skewN, skewCall, skewWays(w)})
	}
	return scene
}

// pictureSample is one turn, per item: nanoseconds of the run and of its calls, and
// objects that the run has allocated.
type pictureSample struct{ total, calls, allocs float64 }

// pictureSamples has those of each way at each point, one per repeat.
type pictureSamples map[string][][]pictureSample

// measureScene gives each way at each point a turn, again and again, so that
// what disturbs the machine disturbs all; the first round warms up and does not
// count. Every output is checked.
func measureScene(s pictureScene, p measure.Plan) (pictureSamples, error) {
	samples := pictureSamples{}
	for round := range p.Repeats + 1 {
		start := time.Now()
		for i, at := range s.points {
			for _, e := range at.ways {
				sample, err := pictureTurnOf(at, e)
				if err != nil {
					return nil, fmt.Errorf("%s, %d, %s: %w", s.title, at.x, e.name, err)
				}
				if samples[e.name] == nil {
					samples[e.name] = make([][]pictureSample, len(s.points))
				}
				if round > 0 {
					samples[e.name][i] = append(samples[e.name][i], sample)
				}
			}
		}
		if p.Log != nil {
			fmt.Fprintf(p.Log, "%s: round %d of %d, %.1f s\n", s.title, round, p.Repeats, time.Since(start).Seconds())
		}
	}
	return samples, nil
}

func pictureTurnOf(at picturePoint, e entry) (pictureSample, error) {
	call := at.call()
	row := job{upTo(at.items), at.n, call.f}.row("", "", e)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	_, err := row.Once(row.Contenders[0])
	total := time.Since(start)
	runtime.ReadMemStats(&after)
	items := float64(at.items)
	return pictureSample{
		total:  float64(total) / items,
		calls:  float64(call.took.Load()) / items,
		allocs: float64(after.Mallocs-before.Mallocs) / items,
	}, err
}

// overheads are the nanoseconds per item that a way adds, one value per repeat.
func overheads(samples []pictureSample, n int) (vs []float64) {
	for _, s := range samples {
		vs = append(vs, s.total-s.calls/float64(n))
	}
	return vs
}

// allocations are objects allocated per item, one value per repeat.
func allocations(samples []pictureSample, _ int) (vs []float64) {
	for _, s := range samples {
		vs = append(vs, s.allocs)
	}
	return vs
}

// throughputs are items per second, one value per repeat.
func throughputs(samples []pictureSample, _ int) (vs []float64) {
	for _, s := range samples {
		vs = append(vs, float64(time.Second)/s.total)
	}
	return vs
}

// pictureFigures are the summaries of what a scene is drawn by.
type pictureFigures struct {
	scene pictureScene
	ways  []string
	of    map[string][]measure.Summary // by way, at each point
}

func figuresOf(s pictureScene, samples pictureSamples, value func([]pictureSample, int) []float64) pictureFigures {
	f := pictureFigures{scene: s, of: map[string][]measure.Summary{}}
	for _, e := range s.points[0].ways {
		f.ways = append(f.ways, e.name)
		for i, at := range s.points {
			f.of[e.name] = append(f.of[e.name], measure.Summarize(value(samples[e.name][i], at.n)))
		}
	}
	return f
}

// table writes the medians as a table in Markdown, with so many decimals.
func (f pictureFigures) table(w *strings.Builder, x, unit string, decimals int) {
	fmt.Fprintf(w, "%s, %s by %s:\n\n| |", f.scene.title, unit, x)
	for _, at := range f.scene.points {
		fmt.Fprintf(w, " %d |", at.x)
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---:|", len(f.scene.points)))
	for _, way := range f.ways {
		fmt.Fprintf(w, "| %s |", way)
		for _, s := range f.of[way] {
			fmt.Fprintf(w, " %.*f |", decimals, s.Median)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}

// drawPictures measures and draws the pictures into dir: overhead and window, each
// as .svg and .png, and their medians as pictures.md, which goes to w too.
func drawPictures(dir string, p measure.Plan, w io.Writer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	machine := measure.Here()
	var panels []pictureFigures
	var allocs pictureFigures
	var tables strings.Builder
	fmt.Fprintf(&tables, "Medians of %d interleaved repeats. %s, %d CPUs, %s, %s, commit %s, %s.\n\n",
		p.Repeats, machine.CPU, machine.Procs, machine.OS, machine.Go, machine.Commit, machine.Date)
	for _, s := range overheadScenes() {
		samples, err := measureScene(s, p)
		if err != nil {
			return err
		}
		f := figuresOf(s, samples, overheads)
		f.table(&tables, "n", "ns per item", 0)
		if panels = append(panels, f); len(panels) == 1 {
			allocs = figuresOf(s, samples, allocations)
		}
	}
	allocs.table(&tables, "n", "allocations per item", 1)
	skew := skewScene()
	samples, err := measureScene(skew, p)
	if err != nil {
		return err
	}
	window := figuresOf(skew, samples, throughputs)
	window.table(&tables, "window", "items per second", 0)
	for _, format := range []string{"svg", "png"} {
		if err := drawOverhead(panels, allocs, filepath.Join(dir, "overhead."+format)); err != nil {
			return err
		}
		if err := drawWindow(window, filepath.Join(dir, "window."+format)); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "pictures.md"), []byte(strings.TrimSpace(tables.String())+"\n"), 0o644); err != nil {
		return err
	}
	_, err = io.WriteString(w, tables.String())
	return err
}
