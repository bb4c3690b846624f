package measure

import "fmt"

// Sense says which side of a bound is good.
type Sense string

// The senses.
const (
	AtMost  Sense = "≤"
	AtLeast Sense = "≥"
)

// Target is a figure to reach. It is judged by the median of its repeats.
type Target struct {
	Row, Contender string // the line of the table that shows it
	Sense          Sense
	Bound          float64
	Unit           string // "ns", "× rill OrderedMap"
	// Of gives one value per repeat; nil if the rows it needs were not measured.
	Of func(*Result) []float64
}

// String returns the target as the tables show it, for instance "≤ 25 ns".
func (t Target) String() string {
	return fmt.Sprintf("%s %s %s", t.Sense, figure(t.Bound), t.Unit)
}

// Reached is the answer to "was the target reached?".
type Reached string

// The answers. NotMeasured is given for rows left out by -rows.
const (
	Yes         Reached = "yes"
	No          Reached = "no"
	NotMeasured Reached = "not measured"
)

// Judge returns whether r reached t, and the values it was judged by.
func (t Target) Judge(r *Result) (Reached, Summary) {
	vs := t.Of(r)
	s := Summarize(vs)
	switch {
	case len(vs) == 0:
		return NotMeasured, s
	case t.Sense == AtMost && s.Median <= t.Bound, t.Sense == AtLeast && s.Median >= t.Bound:
		return Yes, s
	}
	return No, s
}

// NanosAtMost is the target that a contender takes at most so many nanoseconds per item.
func NanosAtMost(row, contender string, bound float64) Target {
	return Target{
		Row: row, Contender: contender, Sense: AtMost, Bound: bound, Unit: "ns",
		Of: func(r *Result) []float64 { return r.Nanos(row, contender) },
	}
}

// NoAllocs is the target that a contender does not allocate per item. What a
// run allocates once is spread over its items, so a hundredth passes.
func NoAllocs(row, contender string) Target {
	const perRun = 0.01
	return Target{
		Row: row, Contender: contender, Sense: AtMost, Bound: perRun, Unit: "allocs",
		Of: func(r *Result) []float64 { return r.Allocs(row, contender) },
	}
}

// FasterThan is the target that a contender is at least times as fast as a
// peer of its row.
func FasterThan(row, contender, peer string, times float64) Target {
	return Target{
		Row: row, Contender: contender, Sense: AtLeast, Bound: times, Unit: "× as fast as " + peer,
		Of: func(r *Result) []float64 { return Divide(r.Nanos(row, peer), r.Nanos(row, contender)) },
	}
}
