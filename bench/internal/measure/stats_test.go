package measure

import (
	"math"
	"slices"
	"testing"
)

func TestSummaryOfRepeats(t *testing.T) {
	for _, c := range []struct {
		name string
		vs   []float64
		want Summary
	}{
		{"one", []float64{7}, Summary{7, 7, 7, 7, 7}},
		{"odd, unsorted", []float64{5, 1, 4, 2, 3}, Summary{1, 2, 3, 4, 5}},
		{"even: the median lies between the middle two", []float64{4, 1, 3, 2}, Summary{1, 1.75, 2.5, 3.25, 4}},
		{"infinities stay what they are", []float64{math.Inf(1), math.Inf(1)}, Summary{math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)}},
		{"an outlier moves the maximum alone", []float64{1, 1, 1, 1, 100}, Summary{1, 1, 1, 1, 100}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := slices.Clone(c.vs)
			if got := Summarize(c.vs); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if !slices.Equal(c.vs, before) {
				t.Errorf("the values were reordered: %v", c.vs)
			}
		})
	}
}

func TestSummaryOfNothingIsNotANumber(t *testing.T) {
	if s := Summarize(nil); !math.IsNaN(s.Min) || !math.IsNaN(s.Median) || !math.IsNaN(s.Max) {
		t.Errorf("got %v", s)
	}
}

func TestRatiosAreTakenWithinEachRepeat(t *testing.T) {
	// The second repeat ran on a machine twice as slow. The ratio of the medians would be 20/10.
	a, b := []float64{30, 60, 10}, []float64{10, 20, 5}
	if got, want := Divide(a, b), []float64{3, 3, 2}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if m := Summarize(Divide(a, b)).Median; m != 3 {
		t.Errorf("median of the ratios: got %v, want 3", m)
	}
}

func TestNoRatioWithoutBothSides(t *testing.T) {
	for _, c := range [][2][]float64{{nil, nil}, {{1}, nil}, {nil, {1}}, {{1, 2}, {1}}} {
		if got := Divide(c[0], c[1]); got != nil {
			t.Errorf("%v: got %v", c, got)
		}
	}
}

func TestVerdictNeedsTheMiddleHalfOfTheRepeats(t *testing.T) {
	for _, c := range []struct {
		ratios []float64
		want   Verdict
	}{
		{nil, NoVerdict},
		{[]float64{2, 3, 4, 5}, Wins},
		{[]float64{0.5, 2, 2, 2, 2}, Wins},
		{[]float64{0.5, 0.6, 0.7, 0.9}, Loses},
		{[]float64{0.9, 0.95, 1.05, 1.1}, Even},
		{[]float64{1, 1, 1}, Even},
	} {
		if got := Judge(c.ratios); got != c.want {
			t.Errorf("%v: got %q, want %q", c.ratios, got, c.want)
		}
	}
}
