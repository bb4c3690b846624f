package main

// told is what the clients have been told: which operations are in the books.
type told struct {
	state []word
	n     int
	twice []int // operations that were acknowledged again
}

// A word is what was said of an operation.
type word uint8

const (
	nothing word = iota
	wasDone
	wasRefused
)

func newTold(operations int) *told { return &told{state: make([]word, operations)} }

// count is of how many operations something was said.
func (t *told) count() int { return t.n }

// know notes an operation that was found in the database, and reports whether that is
// news. That it was found again is none.
func (t *told) know(number int, o outcome) (news bool) {
	if t.state[number] != nothing {
		return false
	}
	t.state[number] = wordOf(o)
	t.n++
	return true
}

// ack notes an operation that has just been carried out. It must not have been before.
func (t *told) ack(number int, o outcome) {
	if !t.know(number, o) {
		t.twice = append(t.twice, number)
	}
}

func wordOf(o outcome) word {
	if o == refused {
		return wasRefused
	}
	return wasDone
}
