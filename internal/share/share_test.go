package share

import (
	"flag"
	"fmt"
	"slices"
	"testing"
)

func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// Whatever the test is called and however many rows there are: two and four processors
// have all of them together and none twice, and no round is left without a row.
func TestEveryRowIsRunBySeveralProcessors(t *testing.T) {
	for n := range 20 {
		all, seen := numbers(n), map[int]bool{}
		for name := range 100 {
			deal := func(procs int) []int { return deal(fmt.Sprint("Test", name), procs, all) }
			one, two, four := deal(1), deal(2), deal(4)
			if n < 2 {
				if !slices.Equal(one, all) || !slices.Equal(two, all) || !slices.Equal(four, all) {
					t.Errorf("%d rows: %v, %v, %v", n, one, two, four)
				}
				continue
			}
			both := slices.Concat(two, four)
			slices.Sort(both)
			if !slices.Equal(both, all) || len(two) == 0 || len(four) == 0 {
				t.Errorf("%d rows: two processors have %v, four %v", n, two, four)
			}
			if len(one) == 0 || len(one) > n/4+1 {
				t.Errorf("%d rows: one processor has %v", n, one)
			}
			for _, row := range one {
				seen[row] = true
			}
		}
		if n > 1 && len(seen) != n {
			t.Errorf("%d rows: in a hundred tests one processor has had %d of them", n, len(seen))
		}
	}
}

func TestOnlyTheThreeRoundsOfTheRaceDetectorShare(t *testing.T) {
	cpu := flag.Lookup("test.cpu").Value
	before := cpu.String()
	defer cpu.Set(before)
	for value, want := range map[string]bool{"": false, "2": false, "1,2": false, "1,2,4": raced, "1,2,4,8": false} {
		if err := cpu.Set(value); err != nil {
			t.Fatal(err)
		}
		rows, times := len(Rows(t, numbers(10))), Times(9)
		if got := rows < 10; got != want {
			t.Errorf("-cpu=%s: %d rows of 10", value, rows)
		}
		if got := times < 9; got != want {
			t.Errorf("-cpu=%s: %d times of 9", value, times)
		}
	}
}
