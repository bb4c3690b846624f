package main

import (
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed95b73fdc/sluice/bench/internal/measure"
)

// Each way of the pictures does its job, in order where it promises that.
func TestWaysOfThePicturesDoTheirJob(t *testing.T) {
	for _, e := range append(overheadWays, skewWays(3)...) {
		if _, err := pictureTurnOf(picturePoint{items: 500, n: 3, call: func() *pictureCall { return waitCall(0) }}, e); err != nil {
			t.Errorf("%s: %v", e.name, err)
		}
		if _, ok := pictureStyles[e.name]; !ok {
			t.Errorf("%s cannot be drawn", e.name)
		}
	}
	for _, w := range pictureWindows {
		if ways := skewWays(w); len(ways) != len(pictureStyles) {
			t.Errorf("%d of %d ways at window %d", len(ways), len(pictureStyles), w)
		}
	}
}

// The time of the calls is taken off, as far as they ran at once.
func TestOverheadIsWhatTheCallsDoNotExplain(t *testing.T) {
	got := overheads([]pictureSample{{total: 150, calls: 400}, {total: 90, calls: 400}}, 4)
	if len(got) != 2 || got[0] != 50 || got[1] != -10 {
		t.Error(got)
	}
	if got := throughputs([]pictureSample{{total: 1000}}, 4); got[0] != 1e6 {
		t.Error(got)
	}
	call := waitCall(time.Microsecond)
	if _, err := call.f(t.Context(), 7); err != nil || call.took.Load() < int64(time.Microsecond) {
		t.Error(err, call.took.Load())
	}
}

// Pictures come out of any figures, also of those that a scale cannot show.
func TestPicturesAreDrawn(t *testing.T) {
	dir := t.TempDir()
	var panels []pictureFigures
	var allocs pictureFigures
	for i, s := range overheadScenes() {
		samples := pictureSamples{}
		for _, e := range s.points[0].ways {
			for k := range s.points {
				v := float64((i + 1) * (k + 1) * 100)
				samples[e.name] = append(samples[e.name], []pictureSample{{v, 0, 0}, {2 * v, 0, 1}, {v, 9 * v, 2}})
			}
		}
		panels = append(panels, figuresOf(s, samples, overheads))
		allocs = figuresOf(s, samples, allocations)
	}
	for _, ext := range []string{"svg", "png"} {
		if err := drawOverhead(panels, allocs, filepath.Join(dir, "overhead."+ext)); err != nil {
			t.Fatal(err)
		}
		if err := drawWindow(panels[0], filepath.Join(dir, "window."+ext)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"overhead", "window"} {
		svg, err := os.ReadFile(filepath.Join(dir, name+".svg"))
		if err != nil || !strings.Contains(string(svg), "PermissionPassing") {
			t.Errorf("%s.svg: %v", name, err)
		}
		f, err := os.Open(filepath.Join(dir, name+".png"))
		if err != nil {
			t.Fatal(err)
		}
		if img, err := png.Decode(f); err != nil || img.Bounds().Dx() < 400 {
			t.Errorf("%s.png: %v", name, err)
		}
		f.Close()
	}
	var table strings.Builder
	panels[0].table(&table, "n", "ns per item", 0)
	allocs.table(&table, "n", "allocations per item", 1)
	if got := table.String(); !strings.Contains(got, "| Cells | 100 | 200 |") || !strings.Contains(got, "| Cells | 1.0 | 1.0 |") {
		t.Error(got)
	}
}

// It runs from end to end, with few repeats; what it measures does not matter here.
func TestPicturesAreMeasured(t *testing.T) {
	if os.Getenv("SLUICE_LONG") == "" {
		t.Skip("measures for half a minute; set SLUICE_LONG=1 to have it run")
	}
	if err := drawPictures(t.TempDir(), measure.Plan{Repeats: 1}, io.Discard); err != nil {
		t.Error(err)
	}
}
