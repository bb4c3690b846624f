package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

func randomDay(rnd *rand.Rand, d date) *day {
	out := &day{date: d, accounts: map[string]*cents{}}
	for range rnd.IntN(60) {
		out.add(fmt.Append(nil, rnd.IntN(40)), cents(rnd.IntN(5)-2)) // many changes are alike
	}
	return out
}

// The comparison is what one gets by sorting all accounts.
func TestComparisonAgreesWithAPlainOne(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	tied := 0
	for range 500 {
		before, d := randomDay(rnd, 1), randomDay(rnd, 2)
		top := rnd.IntN(6)
		s := summarize(d, before, top)
		var all []mover
		newcomers, leavers := 0, 0
		for i := range 40 {
			account := fmt.Sprint(i)
			was, is := before.accounts[account], d.accounts[account]
			change := cents(0)
			if is != nil {
				change += *is
			}
			if was != nil {
				change -= *was
			}
			if was == nil && is != nil {
				newcomers++
			}
			if was != nil && is == nil {
				leavers++
			}
			if change != 0 {
				all = append(all, mover{account, change})
			}
		}
		slices.SortFunc(all, func(a, b mover) int {
			return cmp.Or(-cmp.Compare(max(a.change, -a.change), max(b.change, -b.change)), cmp.Compare(a.account, b.account))
		})
		if k := min(top, len(all)); k < len(all) && k > 0 && abs(all[k-1].change) == abs(all[k].change) {
			tied++
		}
		all = all[:min(top, len(all))]
		if s.newcomers != newcomers || s.leavers != leavers || s.accounts != len(d.accounts) || s.rows != d.rows || s.volume != d.volume || s.against != 1 || !s.compared {
			t.Fatalf("%+v, want %d new, %d gone", s, newcomers, leavers)
		}
		if len(all)+len(s.movers) > 0 && !reflect.DeepEqual(s.movers, all) {
			t.Fatalf("movers %v, want %v", s.movers, all)
		}
	}
	if tied < 25 {
		t.Errorf("only %d ties at the end of the list: the test does not test them", tied)
	}
}

func TestPercent(t *testing.T) {
	for _, c := range []struct{ a, b, want float64 }{
		{100, 150, 50}, {100, 50, -50}, {100, 100, 0}, {100, 0, -100}, {0, 0, 0}, {0, 1, math.NaN()}, {3, 1, -200.0 / 3},
	} {
		if got := percent(c.a, c.b); math.Abs(got-c.want) > 1e-9 || math.IsNaN(got) != math.IsNaN(c.want) {
			t.Errorf("from %v to %v: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func TestNumbersInTheTable(t *testing.T) {
	for c, want := range map[cents]string{0: "0.00", 5: "0.05", -5: "-0.05", 123: "1.23", 100000: "1,000.00", -123456789: "-1,234,567.89", math.MaxInt64: "92,233,720,368,547,758.07"} {
		if c.String() != want {
			t.Errorf("%d is %s, want %s", int64(c), c, want)
		}
	}
	for p, want := range map[float64]string{0: "+0.0%", -0.01: "-0.0%", 12.34: "+12.3%", -100: "-100.0%", 9999: "+9999.0%", 10000: ">9999%", math.Inf(1): ">9999%"} {
		if got := formatPercent(p); got != want {
			t.Errorf("%v is %s, want %s", p, got, want)
		}
	}
	if signed(0) != "+0.00" || signed(-100) != "-1.00" || plural(1, "row") != "1 row" || plural(1000, "row") != "1,000 rows" {
		t.Error("signs or plurals")
	}
}

// What comes from outside does not get to the terminal as it is.
func TestNoControlCharactersInTheTable(t *testing.T) {
	s := summary{date: testDate, compared: true, against: testDate - 1, movers: []mover{{"a\x1b[31m", 100}, {"caf\xe9", 50}, {"日本", 25}}, bad: badRows{1, "line 2: \r\n"}}
	want := `  "a\x1b[31m" +1.00 "caf\xe9" +0.50 日本 +0.25 (1 row left out: "line 2: \r\n")`
	if row := rowOf(s); row[len(row)-len(want):] != want {
		t.Errorf("%q, want %q", row, want)
	}
	if row := rowOf(summary{date: testDate, missing: fmt.Errorf("\x1b")}); row != `2026-03-04  missing: "\x1b"` {
		t.Errorf("%q", row)
	}
}
