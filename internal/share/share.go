// Package share divides what the tests do under the race detector among the
// rounds of -cpu=1,2,4. What comes out the same in each of them, or differs by
// chance only, need not be done three times.
//
// Without the race detector, and in a test that runs with any other value of -cpu
// or none, everything is done: so every row of a table is run plainly, and a
// single -race run leaves nothing out.
package share

import (
	"flag"
	"runtime"
	"testing"
)

// the values of -cpu among which is shared.
const cpus = "1,2,4"

func shared() bool { return raced && flag.Lookup("test.cpu").Value.String() == cpus }

// Rows returns the rows of a table that this round goes through. The round with two
// processors and the one with four have half of them each, so that every row is run
// by several processors under the race detector's eyes, and the one with a single
// processor has every fourth. Which these are differs from test to test. Call it
// before the test changes the number of processors.
func Rows[T any](t testing.TB, rows []T) []T {
	if !shared() {
		return rows
	}
	return deal(t.Name(), runtime.GOMAXPROCS(0), rows)
}

func deal[T any](name string, procs int, rows []T) (mine []T) {
	if len(rows) < 2 {
		return rows
	}
	shift := 0
	for _, c := range []byte(name) {
		shift = (shift*31 + int(c)) % 1024
	}
	first, step := shift%2, 2
	switch procs {
	case 1:
		step = min(4, len(rows))
		first = shift % step
	case 4:
		first = 1 - first
	}
	for i := first; i < len(rows); i += step {
		mine = append(mine, rows[i])
	}
	return mine
}

// Times returns how often a round repeats what differs by chance only: half of k,
// rounded up, so one and a half times k in all.
func Times(k int) int {
	if shared() {
		return (k + 1) / 2
	}
	return k
}

// Once leaves a test that sets the number of processors itself to the round with one
// processor: the others would do the same again.
func Once(t testing.TB) {
	t.Helper()
	if shared() && runtime.GOMAXPROCS(0) > 1 {
		t.Skip("sets the number of processors itself, so the round of -cpu=1 has done the same")
	}
}
