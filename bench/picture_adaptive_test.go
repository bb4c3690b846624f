package main

import (
	"bytes"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestThePictureOfAdaptiveIsDrawnAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	var out strings.Builder
	if err := run([]string{"-pictures", dir, "-which", "^adaptive$"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Errorf("%v, %v, want adaptive.png and adaptive.svg alone", files, err)
	}
	svg, err := os.ReadFile(filepath.Join(dir, "adaptive.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Gradient", "AIMD", "no limit", adaptiveBest, "Load", "Limit", "Latency", "2 units, 40 callers"} {
		if !bytes.Contains(svg, []byte(want)) {
			t.Errorf("adaptive.svg lacks %q", want)
		}
	}
	drawn, err := os.ReadFile(filepath.Join(dir, "adaptive.png"))
	if err != nil {
		t.Fatal(err)
	}
	if img, err := png.Decode(bytes.NewReader(drawn)); err != nil || img.Bounds().Dx() < 400 {
		t.Errorf("adaptive.png: %v", err)
	}
	if !strings.Contains(out.String(), "| 2 units, 40 callers | no limit |") {
		t.Errorf("the table lacks a line:\n%s", &out)
	}
}

// What the picture is to show: the limits let the server do all it can, and calls take a
// fraction of the time that they take without one; and a limit that is not used stays.
func TestLimitsOfThePictureFollowTheServer(t *testing.T) {
	var samples [][]adaptiveSample
	for _, way := range adaptiveWays {
		s := way.simulate(adaptiveSteps)
		if !slices.Equal(s, way.simulate(adaptiveSteps)) {
			t.Errorf("%s: two simulations differ", way.name)
		}
		samples = append(samples, s)
	}
	from := time.Duration(0)
	for i, step := range adaptiveSteps {
		free := figuresOfStep(samples[0], from, step.until)
		for k, way := range adaptiveWays {
			f := figuresOfStep(samples[k], from, step.until)
			switch {
			case way.law == nil:
				if f.limit != 0 || f.load < float64(step.callers)-0.1 {
					t.Errorf("step %d, %s: %+v", i, way.name, f)
				}
			case f.perSecond < 0.9*free.perSecond:
				t.Errorf("step %d, %s: %.0f calls a second, without a limit %.0f", i, way.name, f.perSecond, free.perSecond)
			case step.callers > step.units:
				if f.latency > free.latency/2 || f.limit > 3*float64(step.units) {
					t.Errorf("step %d, %s: %.1f ms at a limit of %.1f, without one %.1f ms", i, way.name, f.latency, f.limit, free.latency)
				}
			}
		}
		from = step.until
	}
	for k, way := range adaptiveWays {
		before, most := 0, 0
		for _, s := range samples[k] {
			switch {
			case s.at <= adaptiveSteps[2].until:
				before = max(before, s.limit)
			case s.at <= adaptiveSteps[3].until:
				most = max(most, s.limit)
			}
		}
		if most > before {
			t.Errorf("%s: the limit rose from %d to %d though nobody needed it", way.name, before, most)
		}
	}
}

func TestPicturesAreChosenByTheirNames(t *testing.T) {
	for _, args := range []string{"-which adaptive", "-pictures x -which (", "-pictures x -which nonsense"} {
		if err := run(strings.Fields(args), io.Discard, io.Discard); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
