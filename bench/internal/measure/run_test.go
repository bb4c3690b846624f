package measure

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// script is a contender whose runs return what they are told to.
type script struct {
	name string
	run  func() (Tally, error)
}

func (s script) Name() string        { return s.name }
func (s script) Run() (Tally, error) { return s.run() }

const fewItems = 5

// correct is a contender that records its turns in a log.
func correct(name string, log *[]string) Contender {
	return script{name, func() (Tally, error) {
		*log = append(*log, name)
		return WantTally(fewItems), nil
	}}
}

func groupOf(cs ...Contender) Group {
	return Group{Key: "g", Rows: []Row{{Name: "r", Items: fewItems, Want: WantTally(fewItems), Contenders: cs}}}
}

func TestRepeatsAreInterleaved(t *testing.T) {
	var log []string
	r, err := Run(groupOf(correct("A", &log), correct("B", &log), correct("C", &log)), Plan{Repeats: 2})
	if err != nil {
		t.Fatal(err)
	}
	const want = "A B C A B C A B C" // the first three only warm up
	if got := strings.Join(log, " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, c := range []string{"A", "B", "C"} {
		if n := len(r.Nanos("r", c)); n != 2 {
			t.Errorf("%s: got %d samples, want 2", c, n)
		}
	}
	if r.Nanos("r", "D") != nil {
		t.Error("samples of a contender that does not exist")
	}
}

// What is looked at later costs the contender neither time nor memory, and counts.
func TestAnOutputIsLookedThroughWhileNoClockRuns(t *testing.T) {
	var sink []byte
	late := WantTally(fewItems)
	c := script{"C", func() (Tally, error) {
		return Tally{Later: func() Tally {
			time.Sleep(20 * time.Millisecond)
			sink = make([]byte, 1<<20)
			return late
		}}, nil
	}}
	r, err := Run(groupOf(c), Plan{Repeats: 1})
	if err != nil {
		t.Fatal(err)
	}
	if ns, b := r.Nanos("r", "C")[0], r.Bytes("r", "C")[0]; ns > 1e6 || b > 1<<16 {
		t.Errorf("%.0f ns and %.0f bytes per item of nothing, after %d", ns, b, len(sink))
	}
	late.Sum++
	if _, err := Run(groupOf(c), Plan{Repeats: 1}); !errors.Is(err, ErrWrongOutput) {
		t.Errorf("got %v, want %v", err, ErrWrongOutput)
	}
}

func TestAWrongOutputEndsTheMeasurementInAnyRepeat(t *testing.T) {
	for bad := range 4 {
		runs := 0
		c := script{"C", func() (Tally, error) {
			runs++
			if runs == bad+1 {
				return WantTally(fewItems - 1), nil
			}
			return WantTally(fewItems), nil
		}}
		_, err := Run(groupOf(c), Plan{Repeats: 3})
		if !errors.Is(err, ErrWrongOutput) || !strings.Contains(err.Error(), "C") {
			t.Errorf("wrong in run %d: got %v", bad+1, err)
		}
	}
}

func TestAnErrorOfAContenderIsReturned(t *testing.T) {
	boom := errors.New("boom")
	_, err := Run(groupOf(script{"C", func() (Tally, error) { return WantTally(fewItems), boom }}), Plan{Repeats: 1})
	if !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
}

func TestAllocationsAreCountedPerItem(t *testing.T) {
	var keep [][]byte
	c := script{"C", func() (Tally, error) {
		for range 3 * fewItems {
			keep = append(keep[:0], make([]byte, 1000))
		}
		return WantTally(fewItems), nil
	}}
	r, err := Run(groupOf(c), Plan{Repeats: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Allocs("r", "C")[0]; got < 3 {
		t.Errorf("got %v allocations per item, want at least 3", got)
	}
	if got := r.Bytes("r", "C")[0]; got < 3000 {
		t.Errorf("got %v bytes per item, want at least 3000", got)
	}
}

func TestTallySeesEveryKindOfWrongOutput(t *testing.T) {
	want := WantTally(fewItems)
	for _, out := range [][]int{
		{}, {0, 1, 2, 3}, {0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 3}, {0, 2, 1, 3, 4}, {4, 3, 2, 1, 0}, {0, 0, 2, 4, 4},
	} {
		var ordered, any Tally
		for _, v := range out {
			ordered.InOrder(v)
			any.AnyOrder(v)
		}
		if differs(want, ordered) == "" {
			t.Errorf("%v passed for an output in order", out)
		}
		permuted := slices.Equal(slices.Sorted(slices.Values(out)), []int{0, 1, 2, 3, 4})
		if passed := differs(want, any) == ""; passed != permuted {
			t.Errorf("%v in any order: passed is %v", out, passed)
		}
	}
}

func TestSelectKeepsWholeRowsAndTheirTargets(t *testing.T) {
	g := Group{Key: "ordered", Rows: []Row{{Name: "n = 1"}, {Name: "n = 4"}}, Targets: []Target{{Row: "n = 1"}, {Row: "n = 4"}}}
	got, any := g.Select(regexp.MustCompile("ordered/n = 4"))
	if !any || len(got.Rows) != 1 || got.Rows[0].Name != "n = 4" || len(got.Targets) != 1 || got.Targets[0].Row != "n = 4" {
		t.Errorf("got %v, %v, %v", got.Rows, got.Targets, any)
	}
	if _, any := g.Select(regexp.MustCompile("channels")); any {
		t.Error("a pattern that matches nothing selected something")
	}
}

// fixed returns a result with the given nanoseconds per repeat.
func fixed(g Group, nanos map[string][]float64) *Result {
	r := &Result{Group: g, samples: map[cell][]Sample{}}
	for name, vs := range nanos {
		for _, v := range vs {
			at := cell{"r", name}
			r.samples[at] = append(r.samples[at], Sample{Nanos: v})
		}
	}
	return r
}

func TestTargetsAreJudgedByTheMedian(t *testing.T) {
	var log []string
	g := groupOf(correct("ours", &log), correct("theirs", &log))
	r := fixed(g, map[string][]float64{"ours": {10, 20, 90}, "theirs": {100, 100, 100}})
	for _, c := range []struct {
		target Target
		text   string
		want   Reached
		median float64
	}{
		{NanosAtMost("r", "ours", 20), "≤ 20 ns", Yes, 20},
		{NanosAtMost("r", "ours", 19), "≤ 19 ns", No, 20},
		{FasterThan("r", "ours", "theirs", 5), "≥ 5 × as fast as theirs", Yes, 5},
		{FasterThan("r", "ours", "theirs", 5.5), "≥ 5.50 × as fast as theirs", No, 5},
		{NoAllocs("r", "ours"), "≤ 0.01 allocs", Yes, 0},
		{FasterThan("r", "ours", "nobody", 5), "≥ 5 × as fast as nobody", NotMeasured, math.NaN()},
	} {
		got, s := c.target.Judge(r)
		same := s.Median == c.median || math.IsNaN(s.Median) && math.IsNaN(c.median)
		if got != c.want || !same || c.target.String() != c.text {
			t.Errorf("%s: got %s, %v; want %s: %s, %v", c.target, got, s.Median, c.text, c.want, c.median)
		}
	}
}

func TestTableShowsWinsAndLossesAlike(t *testing.T) {
	var log []string
	g := groupOf(correct("ours", &log), correct("slow", &log), correct("swift", &log), correct(us+" inline", &log))
	g.Rows[0].Subject = "ours"
	g.Targets = []Target{NanosAtMost("r", "ours", 20), FasterThan("r", "ours", "swift", 1)}
	r := fixed(g, map[string][]float64{"ours": {10, 10}, "slow": {1000, 1500}, "swift": {5, 6}, us + " inline": {5, 5}})
	got := r.Table().Markdown()
	for _, want := range []string{
		`\| r +\| ours +\| +10 \| +10–10 \|`,
		`\| ≤ 20 ns; ≥ 1 × as fast as swift \| yes \(10\); no \(0\.55\) \|`,
		`\| +\| slow +\| +1,250 \| +1,000–1,500 \| +125 \| +100–150 \| wins +\|`,
		`\| +\| swift +\| +5\.50 \| +5–6 \| +0\.55 \| 0\.50–0\.60 +\| loses +\|`,
		`\| +\| sluice inline +\| +5 \| +5–5 \| +0\.50 \| +0\.50–0\.50 \| +\|`, // no verdict on our own
	} {
		if !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("no line matches %s in\n%s", want, got)
		}
	}
}

func TestFiguresHaveThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.004: "0.00", 0.956: "0.96", 12.34: "12.3", 123.4: "123", 1380.2: "1,380", 1234567: "1,234,567", 999.6: "1,000", 60: "60",
	} {
		if got := figure(v); got != want {
			t.Errorf("%s: got %s, want %s", fmt.Sprint(v), got, want)
		}
	}
	if got := figure(math.NaN()); got != none {
		t.Errorf("not a number: got %s", got)
	}
}
