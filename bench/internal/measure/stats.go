package measure

import (
	"math"
	"slices"
)

// Summary describes the values of several repeats. That of none is all NaN.
type Summary struct {
	Min, Q1, Median, Q3, Max float64
}

// Summarize sorts a copy of vs and returns its quantiles.
func Summarize(vs []float64) Summary {
	s := slices.Sorted(slices.Values(vs))
	return Summary{
		Min:    quantile(s, 0),
		Q1:     quantile(s, 0.25),
		Median: quantile(s, 0.5),
		Q3:     quantile(s, 0.75),
		Max:    quantile(s, 1),
	}
}

// quantile interpolates between the two nearest of the sorted values (Hyndman
// and Fan's definition 7, the usual one).
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	if sorted[low] == sorted[high] { // the difference of two infinities is not a number
		return sorted[low]
	}
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// Divide returns a[i]/b[i] for each repeat i. Both come from the same repeats,
// so what slowed the machine in one of them slowed both sides. nil if either
// was not measured.
func Divide(a, b []float64) []float64 {
	if len(a) == 0 || len(a) != len(b) {
		return nil
	}
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = a[i] / b[i]
	}
	return ratios
}

// Verdict says how the subject did against a peer.
type Verdict string

// The verdicts. NoVerdict is for lines that have nobody to be compared with.
const (
	NoVerdict Verdict = ""
	Wins      Verdict = "wins"
	Loses     Verdict = "loses"
	Even      Verdict = "even"
)

// Judge reads ratios of a peer's time to the subject's: the subject wins or
// loses if the middle half of the repeats says so, and is even otherwise.
func Judge(peerToSubject []float64) Verdict {
	s := Summarize(peerToSubject)
	switch {
	case len(peerToSubject) == 0:
		return NoVerdict
	case s.Q1 > 1:
		return Wins
	case s.Q3 < 1:
		return Loses
	}
	return Even
}
