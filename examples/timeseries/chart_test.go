package main

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"
)

func seriesOf(first date, volumes ...cents) []summary {
	var series []summary
	for i, v := range volumes {
		s := summary{date: first + date(i), volume: v, compared: i > 0, newcomers: i, leavers: 2 * i}
		if v < 0 {
			s = summary{date: s.date, missing: errNoDay}
		}
		series = append(series, s)
	}
	return series
}

// svgOf draws a series, and checks that the drawing is one.
func svgOf(t *testing.T, series []summary) string {
	t.Helper()
	data, err := drawChart(series, "svg")
	if err != nil {
		t.Fatal(err)
	}
	for in := xml.NewDecoder(bytes.NewReader(data)); ; {
		_, err := in.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if s := string(data); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
		t.Errorf("numbers that are none:\n%s", s)
	}
	return string(data)
}

func TestChartHasWhatTheSeriesHas(t *testing.T) {
	grey, green, red := "#E4E4E4", "#2E8B57", "#C0553A"
	svg := svgOf(t, seriesOf(mustDate("2026-02-27"), 100, 200, -1, 300, -1, -1, 400, 500, 600, 700))
	for _, c := range []struct {
		what, color string
		count       int
	}{
		{"missing days, in either panel and in the legend", grey, 2*3 + 1},
		{"days with new accounts, and in the legend", green, 6 + 1},
		{"days with accounts that are gone, and in the legend", red, 6 + 1},
	} {
		if got := strings.Count(strings.ToUpper(svg), "FILL:"+c.color); got != c.count {
			t.Errorf("%d of %s, want %d", got, c.what, c.count)
		}
	}
	for _, words := range []string{"Transactions, 2026-02-27 to 2026-03-08", ">28 Feb<", ">1 Mar<", ">missing<", ">mean of 7 days<", "Liberation Sans,Arial"} {
		if !strings.Contains(svg, words) {
			t.Errorf("no %q in the chart", words)
		}
	}
	if svg != svgOf(t, seriesOf(mustDate("2026-02-27"), 100, 200, -1, 300, -1, -1, 400, 500, 600, 700)) {
		t.Error("the same series gives another chart")
	}
	if s := svgOf(t, seriesOf(mustDate("2026-02-27"), 100)); strings.Contains(s, ">missing<") || strings.Contains(s, ">mean") {
		t.Error("a legend of what is not there")
	}
}

func TestChartsOfOddSeries(t *testing.T) {
	first := mustDate("2026-01-01")
	long := make([]cents, 2000)
	for i := range long {
		long[i] = cents(i % 7)
	}
	for name, series := range map[string][]summary{
		"one day":           seriesOf(first, 5),
		"nothing turned":    seriesOf(first, 0, 0, 0),
		"missing ends":      seriesOf(first, -1, 5, -1),
		"large":             seriesOf(first, math.MaxInt64, 0, math.MaxInt64),
		"every other day":   seriesOf(first, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1),
		"years":             seriesOf(first, long...),
		"the end of time":   seriesOf(lastDate-2, 1, 2, 3),
		"the first of days": seriesOf(firstDate, 1, 2, 3),
	} {
		svgOf(t, series)
		if len(series) != 1 {
			continue
		}
		data, err := drawChart(series, "png")
		if err != nil {
			t.Fatal(name, err)
		}
		img, err := png.Decode(bytes.NewReader(data))
		if err != nil || img.Bounds().Dx() < 800 {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestMeans(t *testing.T) {
	nan := math.NaN()
	got := means([]float64{1, 2, 3, nan, 5, 6}, 3)
	want := []float64{nan, nan, 2, nan, 4, 5.5}
	if !slices.EqualFunc(got, want, func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }) {
		t.Errorf("%v, want %v", got, want)
	}
}

func labels(ticks []plot.Tick) []string {
	var all []string
	for _, t := range ticks {
		all = append(all, t.Label)
	}
	return all
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{0, 1, "0 0.2 0.4 0.6 0.8 1"},
		{-110, 160, "100 50 0 50 100 150"},
		{0, 480_000, "0 100k 200k 300k 400k"},
		{0, 1.6e6, "0 500k 1M 1.5M"},
		{0, 9.3e16, "0 20P 40P 60P 80P"},
	} {
		if got := strings.Join(labels(amountTicks{}.Ticks(c.low, c.high)), " "); got != c.want {
			t.Errorf("from %v to %v: %s, want %s", c.low, c.high, got, c.want)
		}
	}
	for _, c := range []struct {
		first string
		days  int
		want  string
	}{
		{"2024-02-28", 3, "28 Feb,29 Feb,1 Mar"},
		{"2026-01-01", 30, "5 Jan,12 Jan,19 Jan,26 Jan"},
		{"2025-12-15", 400, "Jan 2026,Feb 2026,Mar 2026,Apr 2026,May 2026,Jun 2026,Jul 2026,Aug 2026,Sep 2026,Oct 2026,Nov 2026,Dec 2026,Jan 2027"},
		{"2020-06-01", 36_600, "2030,2040,2050,2060,2070,2080,2090,2100,2110,2120"},
	} {
		s := span{mustDate(c.first), c.days}
		if got := strings.Join(labels(dateTicks{s.first, s.last()}.Ticks(0, 0)), ","); got != c.want {
			t.Errorf("%d days from %s: %s, want %s", c.days, c.first, got, c.want)
		}
	}
}
